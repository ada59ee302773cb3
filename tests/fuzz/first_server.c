/* SPDX-License-Identifier: ISC */
/* first_server - a server and its authentication that says no, before a hostile client */
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
	struct auth a = {.verdict = E_DENIED};
	stage_fresh(&a.s, TP_SERVER);
	auth_start(&a);
	first_run(&a, cslice_of(data, n));
	PROMISE(!tp_is_open(a.s.tp) && !a.is_logged_in);
	auth_check_end(&a);
	auth_done(&a);
	return 0;
}
