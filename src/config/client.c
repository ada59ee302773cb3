/* SPDX-License-Identifier: ISC */
/* client - ssh_config evaluated for one host (compat 3.2, 3.3), and the -G dump (compat 2.1.4) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/int.h"
#include "config/tables.h"

struct client_walk {
	struct client_config *c;
	const struct client_situation *s;
	bool is_final, want_final;
};

/* Host: any pattern matches and no negated one does. */
static bool host_block(const struct client_walk *cw, const struct cfg_words *words)
{
	bool match = false;
	struct cslice host = cslice_str(cw->s->host_arg);
	for (size_t i = 0; i < words->n; i++) {
		bool negated = words->v[i][0] == '!';
		if (!glob_match(cslice_str(words->v[i] + negated), host))
			continue;
		if (negated)
			return false;
		match = true;
	}
	return match;
}

static const char *current_host(const struct client_walk *cw)
{
	return cw->c->hostname != NULL ? cw->c->hostname : cw->s->host_arg;
}

static bool matches(const char *patterns, const char *text)
{
	if (text == NULL || text[0] == '\0')
		return patterns[0] == '\0';
	return glob_match_list(cslice_str(patterns), cslice_str(text)) == PATTERN_MATCH;
}

static const char *session_type(const struct client_walk *cw)
{
	size_t subsystem = CFG_SESSION_SUBSYSTEM;
	if (cfg_is_set(cw->c->own, "SessionType") && (size_t)cw->c->session_type == subsystem)
		return "subsystem";
	if (cfg_is_set(cw->c->own, "SessionType") && cw->c->session_type == CFG_SESSION_NONE)
		return "none";
	return cw->s->command != NULL ? "exec" : "shell";
}

enum criterion {
	C_ALL = CFG_MATCH_ALL,
	C_EXEC = CFG_MATCH_EXEC,
	C_CANONICAL = CFG_MATCH_OWN,
	C_FINAL,
	C_HOST,
	C_ORIGINALHOST,
	C_USER,
	C_LOCALUSER,
	C_COMMAND,
	C_SESSIONTYPE,
	C_VERSION,
	C_LOCALNETWORK,
	C_TAGGED
};

static const struct cfg_criterion criteria[] = {{"all", C_ALL, false},
	{"canonical", C_CANONICAL, false}, {"final", C_FINAL, false}, {"exec", C_EXEC, true},
	{"host", C_HOST, true}, {"originalhost", C_ORIGINALHOST, true}, {"user", C_USER, true},
	{"localuser", C_LOCALUSER, true}, {"command", C_COMMAND, true},
	{"sessiontype", C_SESSIONTYPE, true}, {"version", C_VERSION, true},
	{"localnetwork", C_LOCALNETWORK, true}, {"tagged", C_TAGGED, true}};

static err_t run_exec(
	struct cfg_walk *w, const struct client_walk *cw, const char *command, bool *yes)
{
	struct buf expanded;
	buf_init(&expanded, 65536);
	err_t e = client_config_expand(
		&(struct client_expansion){cw->c, cw->s, w->env, "%CdhijkLlnpru", false, w->why},
		command, &expanded);
	buf_put_u8(&expanded, 0);
	if (e == OK)
		e = buf_err(&expanded);
	if (e == OK)
		*yes = w->env->exec != NULL && w->env->exec(w->env->arg, (const char *)expanded.p);
	buf_done(&expanded);
	return e;
}

static err_t judge(struct cfg_walk *w, const struct cfg_line *line, const struct cfg_criterion *c,
	const char *argument, bool *yes)
{
	struct client_walk *cw = w->arg;
	const char *user = cw->c->user != NULL ? cw->c->user : cw->s->local_user;
	switch ((enum criterion)c->id) {
	case C_ALL:
		*yes = true;
		return OK;
	case C_CANONICAL:
		*yes = false; /* names are not canonicalised by this build */
		return OK;
	case C_FINAL:
		cw->want_final = true;
		*yes = cw->is_final;
		return OK;
	case C_EXEC:
		return run_exec(w, cw, argument, yes);
	case C_HOST:
		*yes = matches(argument, current_host(cw));
		return OK;
	case C_ORIGINALHOST:
		*yes = matches(argument, cw->s->host_arg);
		return OK;
	case C_USER:
		*yes = matches(argument, user);
		return OK;
	case C_LOCALUSER:
		*yes = matches(argument, cw->s->local_user);
		return OK;
	case C_COMMAND:
		*yes = matches(argument, cw->s->command);
		return OK;
	case C_SESSIONTYPE:
		*yes = matches(argument, session_type(cw));
		return OK;
	case C_VERSION:
		*yes = matches(argument, "OpenSSH_10.5p1");
		return OK;
	case C_LOCALNETWORK:
	case C_TAGGED:
		break;
	}
	cfg_complain(w, line, "this Match criterion is not supported yet");
	return E_CONFIG;
}

static const struct cfg_matcher matcher = {criteria, ARRAY_N(criteria), judge};

static err_t block(
	struct cfg_walk *w, const struct cfg_line *line, const struct cfg_words *words, bool *match)
{
	if (ascii_eq_nocase(cslice_str(line->keyword), "Host")) {
		*match = host_block(w->arg, words);
		return OK;
	}
	return cfg_match(w, line, words, &matcher, match);
}

static err_t text_default(char **field, const char *value)
{
	if (*field != NULL)
		return OK;
	*field = strdup(value);
	return *field != NULL ? OK : E_MEM;
}

/* Where the user keeps known hosts in a place of an own, or trusts the DNS for them, the files stay
 * as they are. */
static bool keeps_host_keys(const struct client_config *c)
{
	return cfg_is_set(c->own, "UserKnownHostsFile") ||
	       cfg_is_asked_later(c->own, "VerifyHostKeyDNS");
}

static err_t own_defaults(struct client_config *c, const struct client_situation *s)
{
	static const char *const identities[] = {"~/.ssh/id_rsa", "~/.ssh/id_ecdsa",
		"~/.ssh/id_ecdsa_sk", "~/.ssh/id_ed25519", "~/.ssh/id_ed25519_sk",
		"~/.ssh/id_mldsa44_ed25519"};
	TRY(text_default(&c->hostname, s->host_arg));
	TRY(text_default(&c->user, s->local_user));
	if (!cfg_is_set(c->own, "UpdateHostKeys") && keeps_host_keys(c))
		c->update_host_keys = CFG_UPDATE_NO;
	for (size_t i = 0; !cfg_is_set(c->own, "IdentityFile") && i < ARRAY_N(identities); i++)
		TRY(cfg_list_add(&c->identity_file, identities[i]));
	return OK;
}

/* HostName may hold %h and %% (compat 3.4). */
static err_t expand_hostname(struct client_config *c, const struct client_situation *s,
	const struct cfg_env *env, struct buf *why)
{
	if (c->hostname == NULL || strchr(c->hostname, '%') == NULL)
		return OK;
	struct buf out;
	char *template = c->hostname;
	buf_init(&out, 65536);
	c->hostname = NULL; /* %h is the argument here */
	err_t e = client_config_expand(
		&(struct client_expansion){c, s, env, "%h", false, why}, template, &out);
	buf_put_u8(&out, 0);
	if (e == OK)
		e = buf_err(&out);
	char *copy = e == OK ? strdup((const char *)out.p) : NULL;
	c->hostname = copy != NULL ? copy : template;
	if (copy != NULL)
		free(template);
	else if (e == OK)
		e = E_MEM;
	buf_done(&out);
	return e;
}

/* Forwards are not built: said now that it is known whether the run may go on without them. */
static err_t judge_forwards(
	const struct client_config *c, const struct cfg_env *env, struct buf *why)
{
	const struct cfg_list *asked = &c->own->forwards;
	if (c->clear_all_forwardings)
		return OK;
	for (size_t i = 0; i < asked->n; i++) {
		struct buf text;
		if (c->exit_on_forward_failure) {
			buf_printf(why,
				"%s is not supported yet, and ExitOnForwardFailure is on: take one "
				"of the two out\n",
				asked->v[i]);
			continue;
		}
		buf_init(&text, 65536);
		buf_printf(&text, "%s is not supported yet and has no effect", asked->v[i]);
		buf_put_u8(&text, 0);
		if (env->warn != NULL && buf_err(&text) == OK)
			env->warn(env->arg, (const char *)text.p);
		buf_done(&text);
	}
	return asked->n > 0 && c->exit_on_forward_failure ? E_CONFIG : OK;
}

static void note_explicit(struct client_config *c)
{
	c->ciphers_set = cfg_is_set(c->own, "Ciphers");
	c->identity_files_set = cfg_is_set(c->own, "IdentityFile");
	c->certificate_files_set = cfg_is_set(c->own, "CertificateFile");
	c->user_known_hosts_set = cfg_is_set(c->own, "UserKnownHostsFile");
	c->hostkey_algs_set = cfg_is_set(c->own, "HostKeyAlgorithms");
}

err_t client_config_eval(struct client_config *out, const struct cfg_lines *l,
	const struct client_situation *s, const struct cfg_env *env, struct buf *why)
{
	struct client_config c = {.own = NULL};
	struct client_walk cw = {&c, s, false, false};
	TRY(cfg_own_new(&c.own, &cfg_client_table));
	struct cfg_walk w = {.table = &cfg_client_table,
		.out = &c,
		.own = c.own,
		.lines = l,
		.env = env,
		.why = why,
		.pass = CFG_PASS_ALL,
		.block = block,
		.arg = &cw};
	err_t e = cfg_walk(&w);
	if (e == OK && cw.want_final) {
		cw.is_final = true;
		w.is_quiet = true;
		e = cfg_walk(&w);
	}
	if (e == OK)
		e = cfg_defaults(&cfg_client_table, c.own, &c);
	if (e == OK)
		e = expand_hostname(&c, s, env, why);
	if (e == OK)
		e = own_defaults(&c, s);
	if (e == OK)
		e = judge_forwards(&c, env, why);
	if (e != OK) {
		client_config_done(&c);
		return e;
	}
	note_explicit(&c);
	*out = c;
	return OK;
}

void client_config_done(struct client_config *c)
{
	cfg_own_done(c->own, c);
	*c = (struct client_config){.own = NULL};
}

/* Classes of -G lines, in its order: names of the connection, switches, numbers, the rest. */
static int dump_class(const struct cfg_opt *opt)
{
	if (opt->offset == offsetof(struct client_config, hostname) ||
		opt->offset == offsetof(struct client_config, user) ||
		opt->offset == offsetof(struct client_config, port))
		return 0;
	bool is_late_enum = opt->names == names_loglevel || opt->names == names_facility;
	if (opt->kind == &cfg_kind_flag || (opt->kind == &cfg_kind_enum && !is_late_enum))
		return 1;
	return opt->kind == &cfg_kind_u32 ||
			       opt->offset == offsetof(struct client_config, server_alive_interval)
		       ? 2
		       : 3;
}

err_t client_config_dump(
	const struct client_config *c, const struct client_situation *s, struct buf *out)
{
	buf_printf(out, "host %s\nuser %s\nhostname %s\nport %u\n", s->host_arg, c->user,
		c->hostname, c->port);
	for (int class = 1; class <= 3; class ++) {
		for (size_t i = 0; i < cfg_client_table.opts_n; i++) {
			const struct cfg_opt *opt = &cfg_client_table.opts[i];
			if (dump_class(opt) != class ||
				((opt->flags & G_SET) != 0 && !c->own->is_set[i]))
				continue;
			cfg_print(opt, c, out);
		}
	}
	return buf_err(out);
}
