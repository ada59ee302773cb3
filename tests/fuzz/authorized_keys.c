/* SPDX-License-Identifier: ISC */
/* authorized_keys - a file of hostile lines and a hostile host list; an error is never a yes */
#include "fuzz.h"
#include "key/authorized_keys.h"

#define LINE "AAAAC3NzaC1lZDI1NTE5AAAAIFLMrFStk6DKpyV4mAEa/S7gAUxTIsVahWr2U8UOUIQ2"

static struct key *ours;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	if (crypto_init() != OK)
		return -1;
	return key_parse_public_line(&ours, cslice_str("ssh-ed25519 " LINE), NULL) == OK ? 0 : -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct cslice in = {data, n};
	uint8_t how = fuzz_u8(&in);
	if (how & 2) {
		char address[64];
		struct cslice a = fuzz_take(&in, fuzz_u8(&in) % sizeof(address));
		memcpy(address, a.p, a.n);
		address[a.n] = '\0';
		PROMISE(addr_match_list(in, address, NULL) <= ADDR_BAD_LIST);
		return 0;
	}
	struct ak_query q = {
		.k = ours, .address = how & 1 ? "192.0.2.7" : NULL, .now_s = 1800000000};
	struct ak_result r = {AK_DENY};
	err_t e = ak_check(in, &q, &r);
	PROMISE(e == OK || r.verdict == AK_DENY);
	PROMISE(r.verdict == AK_DENY || memmem(in.p, in.n, LINE, 40) != NULL);
	ak_done(&r);
	return 0;
}
