/* SPDX-License-Identifier: ISC */
/* tables - the rows of client.def and server.def as data */
#include "config/int.h"
#include "config/tables.h"

/* The argument of a row is a names table for enums and an algorithm kind for lists. */
#define ARG_flag(x)      NULL, 0
#define ARG_enum(x)      x, 0
#define ARG_u32(x)       NULL, x
#define ARG_port(x)      NULL, 0
#define ARG_time(x)      NULL, 0
#define ARG_text(x)      NULL, 0
#define ARG_line(x)      NULL, 0
#define ARG_list(x)      NULL, 0
#define ARG_ports(x)     NULL, 0
#define ARG_addrs(x)     NULL, 0
#define ARG_alg(x)       NULL, x
#define ARG_rekey(x)     NULL, 0
#define ARG_escape(x)    NULL, 0
#define ARG_addkeys(x)   NULL, 0
#define ARG_startups(x)  NULL, 0
#define ARG_subsystem(x) NULL, 0
#define ARG_methods(x)   NULL, 0
#define ARG_command(x)   NULL, 0
#define ARG_set(x)       x, 0

#define SKIP_ROW(...)

/* ---- client ---- */
#define OPT(keyword, field, kind, argument, dflt, flags)                                           \
	{#keyword, &cfg_kind_##kind, offsetof(struct client_config, field), ARG_##kind(argument),  \
		dflt, flags},
#define ALIAS SKIP_ROW
#define DEAD  SKIP_ROW
#define LATER SKIP_ROW
static const struct cfg_opt client_opts[] = {
#include "config/client.def"
};
#undef OPT
#undef ALIAS
#define OPT             SKIP_ROW
#define ALIAS(from, to) {#from, #to},
static const struct cfg_alias client_aliases[] = {
#include "config/client.def"
};
#undef ALIAS
#undef DEAD
#define ALIAS              SKIP_ROW
#define DEAD(keyword, how) {#keyword, how},
static const struct cfg_dead client_dead[] = {
#include "config/client.def"
};
#undef DEAD
#undef LATER
#define DEAD                SKIP_ROW
#define LATER(keyword, how) {#keyword, how},
static const struct cfg_dead client_later[] = {
#include "config/client.def"
};
#undef OPT
#undef ALIAS
#undef DEAD
#undef LATER

/* ---- server ---- */
#define OPT(keyword, field, kind, argument, dflt, flags)                                           \
	{#keyword, &cfg_kind_##kind, offsetof(struct server_config, field), ARG_##kind(argument),  \
		dflt, flags},
#define ALIAS SKIP_ROW
#define DEAD  SKIP_ROW
#define LATER SKIP_ROW
static const struct cfg_opt server_opts[] = {
#include "config/server.def"
};
#undef OPT
#undef ALIAS
#define OPT             SKIP_ROW
#define ALIAS(from, to) {#from, #to},
static const struct cfg_alias server_aliases[] = {
#include "config/server.def"
};
#undef ALIAS
#undef DEAD
#define ALIAS              SKIP_ROW
#define DEAD(keyword, how) {#keyword, how},
static const struct cfg_dead server_dead[] = {
#include "config/server.def"
};
#undef DEAD
#undef LATER
#define DEAD                SKIP_ROW
#define LATER(keyword, how) {#keyword, how},
static const struct cfg_dead server_later[] = {
#include "config/server.def"
};

static const char *const client_blocks[] = {"Host", "Match"};
static const char *const server_blocks[] = {"Match"};

const struct cfg_table cfg_client_table = {false, client_opts, ARRAY_N(client_opts), client_aliases,
	ARRAY_N(client_aliases), client_dead, ARRAY_N(client_dead), client_later,
	ARRAY_N(client_later), client_blocks, ARRAY_N(client_blocks)};
const struct cfg_table cfg_server_table = {true, server_opts, ARRAY_N(server_opts), server_aliases,
	ARRAY_N(server_aliases), server_dead, ARRAY_N(server_dead), server_later,
	ARRAY_N(server_later), server_blocks, ARRAY_N(server_blocks)};
