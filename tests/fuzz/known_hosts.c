/* SPDX-License-Identifier: ISC */
/* known_hosts - a file of hostile lines; an error is never a match */
#include "fuzz.h"
#include "key/known_hosts.h"

static struct key *ours;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	if (crypto_init() != OK)
		return -1;
	return key_parse_public_line(&ours,
		       cslice_str("ssh-ed25519 "
				  "AAAAC3NzaC1lZDI1NTE5AAAAIFLMrFStk6DKpyV4mAEa/"
				  "S7gAUxTIsVahWr2U8UOUIQ2"),
		       NULL) == OK
		       ? 0
		       : -1;
}

static void each(void *arg, const struct kh_entry *entry, const struct key *k)
{
	(void)entry;
	(void)k;
	++*(size_t *)arg;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct cslice in = {data, n};
	uint16_t port = fuzz_u8(&in) & 1 ? 22 : 2222;
	struct kh_found found = {KH_NEW, 0, KEY_ED25519};
	uint32_t types = 0;
	size_t lines = 0;
	err_t e = kh_check(in, "host.example", port, ours, &found);
	PROMISE(e == OK || found.verdict == KH_NEW);
	PROMISE(found.verdict != KH_OK ||
		memmem(in.p, in.n, "AAAAC3NzaC1lZDI1NTE5AAAAIFLMrFSt", 32) != NULL);
	PROMISE(kh_types(in, "host.example", port, &types) == OK || types == 0);
	(void)!kh_each(in, "host.example", port, each, &lines);
	return 0;
}
