/* SPDX-License-Identifier: ISC */
/* server - sshd_config evaluated for the listener or for one connection (compat 4.1-4.3), and the
 * -T dump */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/int.h"
#include "config/tables.h"
#include "key/authorized_keys.h"

enum criterion {
	C_ALL = CFG_MATCH_ALL,
	C_USER = CFG_MATCH_OWN,
	C_GROUP,
	C_HOST,
	C_ADDRESS,
	C_LOCALADDRESS,
	C_LOCALPORT,
	C_VERSION,
	C_INVALIDUSER,
	C_RDOMAIN
};

static const struct cfg_criterion criteria[] = {{"all", C_ALL, false, NULL},
	{"user", C_USER, true, "user"}, {"group", C_GROUP, true, "user"},
	{"host", C_HOST, true, "host"}, {"address", C_ADDRESS, true, "addr"},
	{"localaddress", C_LOCALADDRESS, true, "laddr"}, {"localport", C_LOCALPORT, true, "lport"},
	{"version", C_VERSION, true, NULL}, {"invalid-user", C_INVALIDUSER, false, NULL},
	{"rdomain", C_RDOMAIN, true, NULL}};

static bool is_known(const struct server_situation *s, enum criterion id)
{
	switch (id) {
	case C_USER:
		return s->user != NULL;
	case C_GROUP:
		return s->groups != NULL;
	case C_HOST:
		return s->host != NULL;
	case C_ADDRESS:
		return s->address != NULL;
	case C_LOCALADDRESS:
		return s->local_address != NULL;
	case C_LOCALPORT:
		return s->local_port != 0;
	default:
		return true;
	}
}

static err_t address_matches(struct cfg_walk *w, const struct cfg_line *line, const char *list,
	const char *address, bool *yes)
{
	enum addr_verdict v = addr_match_list(cslice_str(list), address, NULL);
	if (v == ADDR_BAD_LIST) {
		cfg_complain(w, line, "Match address argument is not valid: %s", list);
		return E_CONFIG;
	}
	*yes = v == ADDR_MATCH;
	return OK;
}

static bool group_matches(const char *patterns, const char *groups)
{
	struct cslice rest = cslice_str(groups), one;
	bool yes = false;
	while (list_next(&rest, &one)) {
		enum pattern_verdict v = glob_match_list(cslice_str(patterns), one);
		if (v == PATTERN_NEGATED)
			return false;
		yes = yes || v == PATTERN_MATCH;
	}
	return yes;
}

static err_t judge(struct cfg_walk *w, const struct cfg_line *line, enum criterion id,
	const char *argument, bool *yes)
{
	const struct server_situation *s = w->arg;
	const char *list = argument != NULL ? argument : "";
	struct cslice patterns = cslice_str(list);
	char port[8];
	switch (id) {
	case C_ALL:
		*yes = true;
		break;
	case C_USER:
		*yes = glob_match_list(patterns, cslice_str(s->user)) == PATTERN_MATCH;
		break;
	case C_GROUP:
		*yes = group_matches(list, s->groups);
		break;
	case C_HOST:
		*yes = glob_match_list(patterns, cslice_str(s->host)) == PATTERN_MATCH;
		break;
	case C_ADDRESS:
		return address_matches(w, line, list, s->address, yes);
	case C_LOCALADDRESS:
		return address_matches(w, line, list, s->local_address, yes);
	case C_LOCALPORT:
		(void)snprintf(port, sizeof(port), "%u", s->local_port);
		*yes = glob_match_list(patterns, cslice_str(port)) == PATTERN_MATCH;
		break;
	case C_VERSION:
		*yes = glob_match_list(patterns, cslice_str("OpenSSH_10.5p1")) == PATTERN_MATCH;
		break;
	case C_INVALIDUSER:
		*yes = s->is_invalid_user;
		break;
	case C_RDOMAIN:
		cfg_complain(w, line, "Match RDomain is not supported on this platform");
		return E_CONFIG;
	}
	return OK;
}

static err_t one_criterion(struct cfg_walk *w, const struct cfg_line *line,
	const struct cfg_criterion *c, const char *argument, bool *yes)
{
	const struct server_situation *s = w->arg;
	if (s != NULL && is_known(s, (enum criterion)c->id))
		return judge(w, line, (enum criterion)c->id, argument, yes);
	*yes = false;
	if (c->id == C_ALL) {
		*yes = true;
	} else if (c->id == C_ADDRESS || c->id == C_LOCALADDRESS) {
		bool ignored;
		TRY(address_matches(
			w, line, argument, "192.0.2.1", &ignored)); /* the list itself is checked */
	}
	if (s != NULL && s->is_test && c->attribute != NULL) {
		buf_printf(w->why,
			"'Match %s' in configuration but '%s' not in connection test "
			"specification.\n",
			c->name, c->attribute);
		return E_CONFIG;
	}
	return OK;
}

static const struct cfg_matcher matcher = {criteria, ARRAY_N(criteria), one_criterion};

static err_t block(
	struct cfg_walk *w, const struct cfg_line *line, const struct cfg_words *words, bool *match)
{
	return cfg_match(w, line, words, &matcher, match);
}

static err_t own_defaults(struct server_config *c)
{
	static const char *const keys[] = {"/etc/ssh/ssh_host_rsa_key",
		"/etc/ssh/ssh_host_ecdsa_key", "/etc/ssh/ssh_host_ed25519_key",
		"/etc/ssh/ssh_host_mldsa44_ed25519_key"};
	c->host_keys_set = cfg_is_set(c->own, "HostKey");
	for (size_t i = 0; !c->host_keys_set && i < ARRAY_N(keys); i++)
		TRY(cfg_list_add(&c->host_keys, keys[i]));
	if (!cfg_is_set(c->own, "Port"))
		TRY(cfg_list_add(&c->ports, "22"));
	return OK;
}

err_t server_config_eval(struct server_config *out, const struct cfg_lines *l,
	const struct server_situation *s, const struct cfg_env *env, struct buf *why)
{
	struct server_config c = {.own = NULL};
	TRY(cfg_own_new(&c.own, &cfg_server_table));
	/* w.arg is only read: the situation stays const */
	struct cfg_walk w = {.table = &cfg_server_table,
		.out = &c,
		.own = c.own,
		.lines = l,
		.env = env,
		.why = why,
		.pass = CFG_PASS_MATCHED,
		.block = block,
		.arg = (void *)(uintptr_t)s};
	err_t e = cfg_walk(&w);
	if (e == OK) {
		w.pass = CFG_PASS_GLOBAL;
		w.is_quiet = true;
		e = cfg_walk(&w);
	}
	if (e == OK)
		e = cfg_defaults(&cfg_server_table, c.own, &c);
	if (e == OK)
		e = own_defaults(&c);
	if (e != OK) {
		server_config_done(&c);
		return e;
	}
	if (c.use_pam && env->warn != NULL)
		env->warn(env->arg, "UsePAM yes: this build has no PAM, accounts are checked by "
				    "shadow expiry and nologin");
	*out = c;
	return OK;
}

void server_config_done(struct server_config *c)
{
	cfg_own_done(c->own, c);
	*c = (struct server_config){.own = NULL};
}

static void dump_addresses(const struct server_config *c, struct buf *out)
{
	for (size_t p = 0; p < c->ports.n && c->listen_addresses.n == 0; p++) {
		if (c->address_family != CFG_FAMILY_INET)
			buf_printf(out, "listenaddress [::]:%s\n", c->ports.v[p]);
		if (c->address_family != CFG_FAMILY_INET6)
			buf_printf(out, "listenaddress 0.0.0.0:%s\n", c->ports.v[p]);
	}
	for (size_t a = 0; a < c->listen_addresses.n; a++) {
		char host[CFG_HOST_MAX];
		uint16_t port = 0;
		const char *s = c->listen_addresses.v[a];
		if (cfg_listen_address(s, host, sizeof(host), &port) != OK)
			continue; /* was checked when it was read */
		const char *form = strchr(host, ':') != NULL ? "listenaddress [%s]:%s\n"
							     : "listenaddress %s:%s\n";
		for (size_t p = 0; p < c->ports.n && port == 0; p++)
			buf_printf(out, form, host, c->ports.v[p]);
		if (port != 0)
			buf_printf(out, "listenaddress %s\n", s);
	}
}

err_t server_config_dump(const struct server_config *c, struct buf *out)
{
	for (size_t i = 0; i < cfg_server_table.opts_n; i++) {
		const struct cfg_opt *opt = &cfg_server_table.opts[i];
		if (opt->offset == offsetof(struct server_config, listen_addresses))
			dump_addresses(c, out);
		else if (((opt->flags & G_SET) == 0 || c->own->is_set[i]) &&
			 (opt->kind != &cfg_kind_subsystem || c->subsystems.names.n > 0))
			cfg_print(opt, c, out);
	}
	return buf_err(out);
}
