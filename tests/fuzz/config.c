/* SPDX-License-Identifier: ISC */
/* config - client and server configuration text, options, and the frozen form */
#include "config/config.h"
#include "fuzz.h"

static void client(const struct cfg_lines *l, const struct cfg_env *env, struct buf *why)
{
	struct client_situation s = {
		"host.example", "me", "/home/me", "here.example", 1000, "true"};
	struct client_config c;
	struct buf dump;
	if (client_config_eval(&c, l, &s, env, why) != OK)
		return;
	buf_init(&dump, 1 << 24);
	PROMISE(client_config_dump(&c, &s, &dump) == OK);
	buf_done(&dump);
	client_config_done(&c);
}

static void server(const struct cfg_lines *l, const struct cfg_env *env, struct buf *why)
{
	struct server_situation s = {
		.user = "me", .groups = "us", .address = "192.0.2.7", .local_port = 22};
	struct server_config c;
	struct buf dump;
	if (server_config_eval(&c, l, &s, env, why) != OK)
		return;
	buf_init(&dump, 1 << 24);
	PROMISE(server_config_dump(&c, &dump) == OK);
	buf_done(&dump);
	server_config_done(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct cslice in = {data, n};
	uint8_t how = fuzz_u8(&in);
	const struct cfg_env env = {NULL};
	const struct cfg_source from = {"F", true, "/d"};
	struct cfg_lines *l = NULL;
	struct buf why, frozen;
	buf_init(&why, 1 << 24);
	buf_init(&frozen, 1 << 24);
	if (how & 4) {
		if (cfg_lines_get(&l, in) != OK)
			l = NULL;
	} else if (cfg_lines_new(&l) == OK && cfg_lines_text(l, in, &from, &env, &why) == OK) {
		cfg_lines_put(l, &frozen);
		cfg_lines_free(l);
		PROMISE(cfg_lines_get(&l, buf_bytes(&frozen)) == OK);
	}
	if (l != NULL && how & 1)
		server(l, &env, &why);
	else if (l != NULL)
		client(l, &env, &why);
	cfg_lines_free(l);
	buf_done(&frozen);
	buf_done(&why);
	return 0;
}
