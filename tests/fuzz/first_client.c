/* SPDX-License-Identifier: ISC */
/*
 * first_client - a client and its authentication before a hostile server
 *
 * Its keys and passwords go only to a host whose key was accepted; the first byte's top bit says
 * that it is not.
 */
#include "first.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	auth_global();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct auth a = {.verdict = OK};
	stage_fresh(&a.s, TP_CLIENT);
	a.s.verdict = n > 0 && (data[0] & 0x80) != 0 ? E_HOSTKEY : OK;
	auth_start(&a);
	first_run(&a, cslice_of(data, n));
	PROMISE(a.s.verdict == OK || (!a.s.is_keyed && !a.is_started));
	auth_check_end(&a);
	auth_done(&a);
	return 0;
}
