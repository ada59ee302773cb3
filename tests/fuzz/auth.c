/* SPDX-License-Identifier: ISC */
/*
 * auth - the authentication engines of both roles behind a key exchange that was made once
 *
 * head: role; suite; stalls, late answers, delays; the verdict of questions
 */
#include "auth_stage.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	auth_global();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct cslice in = {data, n};
	struct script_step step;
	struct auth a = {.err = OK};
	uint8_t scene = fuzz_u8(&in), suite = fuzz_u8(&in), how = fuzz_u8(&in);
	stage_keyed(&a.s, scene & 1 ? TP_SERVER : TP_CLIENT, suite);
	auth_start(&a);
	a.s.is_stalled = how & 1;
	a.is_late = how & 2;
	a.server_env.fail_delay_us = how & 4 ? 5000 : 0;
	a.server_env.banner = cslice_str(how & 8 ? "hello" : "");
	a.client_env.no_pipeline = how & 16;
	a.s.env.limits.high_water = how & 32 ? 4096 : 0;
	a.verdict = stage_verdict(fuzz_u8(&in));
	stage_pump(&a.s);
	while (script_next(&in, &step))
		auth_step(&a, &step);
	auth_check_end(&a);
	auth_done(&a);
	return 0;
}
