/* SPDX-License-Identifier: ISC */
/*
 * kinds - how each kind of value is read, printed and freed
 *
 * A value with odd syntax gets a kind here, never a case somewhere else.  parse leaves the field
 * untouched on failure and puts the reason (without place) into p->why.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/int.h"
#include "config/later_names.h"

static err_t bad(struct cfg_parse *p, const char *fmt, const char *word)
{
	if (p->why != NULL)
		buf_printf(p->why, fmt, word);
	return E_CONFIG;
}

static void done_nothing(void *field)
{
	(void)field;
}

static void done_text(void *field)
{
	char **s = field;
	free(*s);
	*s = NULL;
}

/* ---- flag ---- */
static const struct cfg_name flag_names[] = {
	{"yes", 1}, {"true", 1}, {"no", 0}, {"false", 0}, {NULL, 0}};

static err_t name_value(const struct cfg_name *names, const char *word, int *value)
{
	for (; names->name != NULL; names++) {
		if (ascii_eq_nocase(cslice_str(word), names->name)) {
			*value = names->value;
			return OK;
		}
	}
	return E_NAME;
}

static err_t flag_parse(struct cfg_parse *p, void *field)
{
	int v;
	if (name_value(flag_names, p->v[0], &v) != OK)
		return bad(p, "bad yes/no argument \"%s\": write yes or no", p->v[0]);
	*(bool *)field = v == 1;
	return OK;
}

static void flag_print(const struct cfg_opt *opt, const void *field, struct buf *out)
{
	(void)opt;
	buf_printf(out, "%s", *(const bool *)field ? "yes" : "no");
}

const struct cfg_kind cfg_kind_flag = {flag_parse, flag_print, done_nothing, false, false};

/* ---- enum ---- */
static err_t enum_parse(struct cfg_parse *p, void *field)
{
	if (name_value(p->opt->names, p->v[0], field) == OK)
		return OK;
	(void)bad(p, "unsupported option \"%s\": write one of", p->v[0]);
	for (const struct cfg_name *n = p->opt->names; p->why != NULL && n->name != NULL; n++)
		buf_printf(p->why, " %s", n->name);
	return E_CONFIG;
}

static void enum_print(const struct cfg_opt *opt, const void *field, struct buf *out)
{
	for (const struct cfg_name *n = opt->names; n->name != NULL; n++) {
		if (n->value == *(const int *)field) {
			buf_printf(out, "%s", n->name);
			return;
		}
	}
}

const struct cfg_kind cfg_kind_enum = {enum_parse, enum_print, done_nothing, false, false};

/* ---- numbers ---- */
static err_t u32_parse(struct cfg_parse *p, void *field)
{
	uint32_t v;
	if (text_u32(cslice_str(p->v[0]), &v) != OK)
		return bad(p, "Bad number '%s'", p->v[0]);
	if (v < (uint32_t)p->opt->arg)
		return bad(p, "Invalid number of %s", p->opt->keyword);
	*(uint32_t *)field = v;
	return OK;
}

static void u32_print(const struct cfg_opt *opt, const void *field, struct buf *out)
{
	(void)opt;
	buf_printf(out, "%u", *(const uint32_t *)field);
}

const struct cfg_kind cfg_kind_u32 = {u32_parse, u32_print, done_nothing, false, false};

static err_t port_parse(struct cfg_parse *p, void *field)
{
	uint32_t v = 0;
	if (strcmp(p->v[0], "ssh") == 0)
		v = 22;
	else if (text_u32(cslice_str(p->v[0]), &v) != OK || v == 0 || v > 65535)
		return bad(p, "Bad number '%s': a port is 1 to 65535", p->v[0]);
	*(uint16_t *)field = (uint16_t)v;
	return OK;
}

static void port_print(const struct cfg_opt *opt, const void *field, struct buf *out)
{
	(void)opt;
	buf_printf(out, "%u", *(const uint16_t *)field);
}

const struct cfg_kind cfg_kind_port = {port_parse, port_print, done_nothing, false, false};

/* ---- time ---- */
static err_t time_parse(struct cfg_parse *p, void *field)
{
	if (cfg_time(cslice_str(p->v[0]), field) != OK)
		return bad(p, "invalid time value \"%s\": write e.g. 90, 2m or 1h30m", p->v[0]);
	return OK;
}

static void time_print(const struct cfg_opt *opt, const void *field, struct buf *out)
{
	(void)opt;
	int64_t v = *(const int64_t *)field;
	if (v < 0)
		buf_printf(out, "none");
	else
		buf_printf(out, "%lld", (long long)v);
}

const struct cfg_kind cfg_kind_time = {time_parse, time_print, done_nothing, false, false};

/* ---- text and line ---- */
static err_t text_parse(struct cfg_parse *p, void *field)
{
	char *copy = strdup(p->v[0]);
	if (copy == NULL)
		return E_MEM;
	free(*(char **)field);
	*(char **)field = copy;
	return OK;
}

static void text_print(const struct cfg_opt *opt, const void *field, struct buf *out)
{
	(void)opt;
	const char *s = *(char *const *)field;
	buf_printf(out, "%s", s != NULL ? s : "none");
}

const struct cfg_kind cfg_kind_text = {text_parse, text_print, done_text, false, false};

static err_t line_parse(struct cfg_parse *p, void *field)
{
	char *copy = NULL;
	if (!ascii_eq_nocase(cslice_str(p->rest), "none") && (copy = strdup(p->rest)) == NULL)
		return E_MEM;
	free(*(char **)field);
	*(char **)field = copy;
	return OK;
}

const struct cfg_kind cfg_kind_line = {line_parse, text_print, done_text, true, false};

/* ---- list ---- */
static err_t list_parse(struct cfg_parse *p, void *field)
{
	struct cfg_list *l = field, fresh = {NULL, 0};
	for (size_t i = 0; i < p->n; i++) {
		err_t e = cfg_list_add(&fresh, p->v[i]);
		if (e != OK) {
			cfg_list_done(&fresh);
			return e;
		}
	}
	if (!p->is_add)
		cfg_list_done(l);
	for (size_t i = 0; i < fresh.n; i++) {
		err_t e = cfg_list_add(l, fresh.v[i]);
		if (e != OK) {
			cfg_list_done(&fresh);
			return e;
		}
	}
	cfg_list_done(&fresh);
	return OK;
}

static void list_print(const struct cfg_opt *opt, const void *field, struct buf *out)
{
	(void)opt;
	const struct cfg_list *l = field;
	for (size_t i = 0; i < l->n; i++)
		buf_printf(out, "%s%s", i > 0 ? " " : "", l->v[i]);
	if (l->n == 0)
		buf_printf(out, "none");
}

static void list_done(void *field)
{
	cfg_list_done(field);
}

const struct cfg_kind cfg_kind_list = {list_parse, list_print, list_done, false, true};

/* The server's Port: one a line, checked here so that `sshd -t` tells. */
static err_t ports_parse(struct cfg_parse *p, void *field)
{
	uint16_t port;
	char number[8], *v[1] = {number};
	TRY(port_parse(p, &port));
	(void)snprintf(number, sizeof(number), "%u", port);
	struct cfg_parse named = *p;
	named.v = v;
	return list_parse(&named, field);
}

const struct cfg_kind cfg_kind_ports = {ports_parse, list_print, list_done, false, false};

/* ---- the server's ListenAddress ---- */
static err_t split(const char *word, struct cslice *host, const char **port)
{
	const char *end = NULL, *rest;
	if (word[0] == '[') {
		end = strchr(++word, ']');
		rest = end != NULL ? end + 1 : word;
	} else {
		const char *colon = strchr(word, ':');
		bool is_v6 = colon != NULL && strchr(colon + 1, ':') != NULL;
		end = colon != NULL && !is_v6 ? colon : word + strlen(word);
		rest = end;
	}
	if (end == NULL || (*rest != '\0' && *rest != ':') || strchr(word, '/') != NULL)
		return E_FORMAT;
	*host = cslice_of(word, (size_t)(end - word));
	*port = *rest == ':' ? rest + 1 : NULL;
	return OK;
}

err_t cfg_listen_address(const char *word, char *host, size_t host_n, uint16_t *port)
{
	struct cslice name;
	const char *number;
	uint32_t n = 0;
	TRY(split(word, &name, &number));
	if (name.n == 0)
		return E_NOT_FOUND;
	if (name.n >= host_n)
		return E_FORMAT;
	if (number != NULL && strcmp(number, "ssh") == 0)
		n = 22;
	else if (number != NULL && (text_u32(cslice_str(number), &n) != OK || n == 0 || n > 65535))
		return E_LIMIT;
	memcpy(host, name.p, name.n);
	host[name.n] = '\0';
	*port = (uint16_t)n;
	return OK;
}

static err_t addrs_parse(struct cfg_parse *p, void *field)
{
	char host[CFG_HOST_MAX];
	uint16_t port;
	switch (cfg_listen_address(p->v[0], host, sizeof(host), &port)) {
	case OK:
		break;
	case E_NOT_FOUND:
		return bad(p, "missing address: '%s'", p->v[0]);
	case E_LIMIT:
		return bad(p, "bad port number: '%s'", p->v[0]);
	default:
		return bad(p, "bad address:port usage: '%s'", p->v[0]);
	}
	if (p->n > 1 && strcmp(p->v[1], "rdomain") == 0)
		return bad(p, "routing domains are not supported: '%s'", p->v[p->n - 1]);
	if (p->n > 1)
		return bad(p, "bad ListenAddress syntax: '%s'", p->v[1]);
	return list_parse(p, field);
}

const struct cfg_kind cfg_kind_addrs = {addrs_parse, list_print, list_done, false, true};

/* ---- algorithm lists ---- */
static const char *const alg_complaints[ALG_KIND_N] = {[ALG_KEX] = "Bad SSH2 KexAlgorithms '%s'",
	[ALG_HOSTKEY] = "Bad key types '%s'",
	[ALG_SIGNATURE] = "Bad key types '%s'",
	[ALG_CIPHER] = "Bad SSH2 cipher spec '%s'",
	[ALG_MAC] = "Bad SSH2 MAC spec '%s'",
	[ALG_COMPRESSION] = "Bad compression '%s'"};

static void suggest(struct cfg_parse *p, struct cslice name)
{
	const char *best = alg_nearest((enum alg_kind)p->opt->arg, name);
	buf_printf(
		p->why, ": unknown name '%.*s'", (int)num_min(name.n, 100), (const char *)name.p);
	if (best != NULL)
		buf_printf(p->why, ", did you mean %s?", best);
}

/* The first name that this system's libcrypto cannot do; false when it can do all. */
static bool lacks_one(enum alg_kind kind, struct cslice list, struct cslice *name)
{
	while (list_next(&list, name))
		if (!alg_is_there(kind, *name))
			return true;
	return false;
}

static err_t alg_parse(struct cfg_parse *p, void *field)
{
	struct buf spec, out;
	struct cslice unknown = {NULL, 0};
	enum alg_kind kind = (enum alg_kind)p->opt->arg;
	buf_init(&spec, 65536);
	buf_init(&out, 65536);
	cfg_without_later_names(kind, cslice_str(p->v[0]), &spec);
	err_t e = buf_err(&spec);
	bool is_built = spec.n > 0 && !(spec.n == 1 && strchr("+-^", spec.p[0]) != NULL);
	if (e == OK && is_built)
		e = alg_list_apply(kind, p->is_server, buf_bytes(&spec), &out, &unknown);
	else if (e == OK && spec.n == 1) /* nothing is left to add or remove */
		alg_default(kind, p->is_server, &out);
	if (e == E_NAME || (e == OK && out.n == 0)) {
		(void)bad(p, alg_complaints[kind], p->v[0]);
		if (p->why != NULL && e == E_NAME)
			suggest(p, unknown);
		else if (p->why != NULL)
			buf_printf(p->why, ": none of these is in this build");
		e = E_CONFIG;
	}
	if (e == OK && buf_err(&out) == OK && lacks_one(kind, buf_bytes(&out), &unknown)) {
		(void)bad(p, alg_complaints[kind], p->v[0]);
		if (p->why != NULL)
			buf_printf(p->why, ": the libcrypto of this system was built without %.*s",
				(int)unknown.n, (const char *)unknown.p);
		e = E_CONFIG;
	}
	buf_put_u8(&out, 0);
	if (e == OK)
		e = buf_err(&out);
	char *copy = e == OK ? strdup((const char *)out.p) : NULL;
	if (e == OK && copy == NULL)
		e = E_MEM;
	if (e == OK) {
		free(*(char **)field);
		*(char **)field = copy;
	}
	buf_done(&out);
	buf_done(&spec);
	return e;
}

const struct cfg_kind cfg_kind_alg = {alg_parse, text_print, done_text, false, false};

/* ---- rekey limit: bytes|default [time|none] ---- */
static err_t size_value(const char *word, uint64_t *out)
{
	struct cslice s = cslice_str(word);
	static const char letters[] = "KMG";
	uint64_t scale = 1, v;
	if (s.n > 0) {
		const char *at = strchr(letters, s.p[s.n - 1] & ~0x20);
		if (at != NULL && *at != '\0') {
			scale = (uint64_t)1 << (10 * (at - letters + 1));
			s.n--;
		}
	}
	TRY(text_u64(s, &v));
	if (v > UINT64_MAX / scale)
		return E_LIMIT;
	*out = v * scale;
	return OK;
}

static err_t rekey_parse(struct cfg_parse *p, void *field)
{
	struct cfg_rekey r = {0, 0};
	int64_t seconds = 0;
	if (p->n > 2)
		return bad(p, "keyword %s extra arguments at end of line", "RekeyLimit");
	if (strcmp(p->v[0], "default") != 0 && strcmp(p->v[0], "none") != 0 &&
		(size_value(p->v[0], &r.bytes) != OK || (r.bytes != 0 && r.bytes < 16)))
		return bad(p, "RekeyLimit too small or invalid: \"%s\"", p->v[0]);
	if (p->n == 2 && (cfg_time(cslice_str(p->v[1]), &seconds) != OK))
		return bad(p, "invalid rekey time \"%s\"", p->v[1]);
	r.seconds = seconds > 0 ? (uint64_t)seconds : 0;
	*(struct cfg_rekey *)field = r;
	return OK;
}

static void rekey_print(const struct cfg_opt *opt, const void *field, struct buf *out)
{
	(void)opt;
	const struct cfg_rekey *r = field;
	buf_printf(out, "%llu %llu", (unsigned long long)r->bytes, (unsigned long long)r->seconds);
}

const struct cfg_kind cfg_kind_rekey = {rekey_parse, rekey_print, done_nothing, false, true};

/* ---- escape character ---- */
static err_t escape_parse(struct cfg_parse *p, void *field)
{
	const char *s = p->v[0];
	size_t n = strlen(s);
	int v;
	if (strcmp(s, "none") == 0)
		v = -1;
	else if (n == 2 && s[0] == '^')
		v = (unsigned char)s[1] & 31;
	else if (n == 1)
		v = (unsigned char)s[0];
	else
		return bad(p, "bad escape character '%s': write one character, ^X or none", s);
	*(int *)field = v;
	return OK;
}

static void escape_print(const struct cfg_opt *opt, const void *field, struct buf *out)
{
	(void)opt;
	int v = *(const int *)field;
	if (v < 0)
		buf_printf(out, "none");
	else if (v < 32)
		buf_printf(out, "^%c", v + 64);
	else
		buf_printf(out, "%c", v);
}

const struct cfg_kind cfg_kind_escape = {escape_parse, escape_print, done_nothing, false, false};

/* ---- AddKeysToAgent: yes, no, ask, confirm [time], or a time, which means yes ---- */
static const struct cfg_name addkeys_names[] = {{"true", CFG_ADD_YES}, {"yes", CFG_ADD_YES},
	{"false", CFG_ADD_NO}, {"no", CFG_ADD_NO}, {"ask", CFG_ADD_ASK},
	{"confirm", CFG_ADD_CONFIRM}, {NULL, 0}};

static err_t addkeys_parse(struct cfg_parse *p, void *field)
{
	struct cfg_addkeys v = {CFG_ADD_YES, 0};
	int64_t seconds = 0;
	bool has_name = p->n > 0 && name_value(addkeys_names, p->v[0], &v.how) == OK;
	size_t at = has_name ? 1 : 0, more = p->n - at;
	if (p->n == 0 || more > 1 || (has_name && more == 1 && v.how != CFG_ADD_CONFIRM))
		return bad(p, "bad argument \"%s\": write yes, no, ask, confirm, or a time",
			p->n > 0 ? p->v[p->n - 1] : "");
	if (more == 1 && (cfg_time(cslice_str(p->v[at]), &seconds) != OK || seconds < 0))
		return bad(p, "invalid time value \"%s\": write e.g. 90, 2m or 1h30m", p->v[at]);
	v.lifetime_s = (uint32_t)seconds;
	*(struct cfg_addkeys *)field = v;
	return OK;
}

static void addkeys_print(const struct cfg_opt *opt, const void *field, struct buf *out)
{
	const struct cfg_addkeys *v = field;
	(void)opt;
	const struct cfg_name *n = addkeys_names;
	while (n->name != NULL && n->value != v->how)
		n++;
	if (v->lifetime_s == 0)
		buf_printf(out, "%s", n->name);
	else
		buf_printf(out, "%s%u", v->how == CFG_ADD_CONFIRM ? "confirm " : "", v->lifetime_s);
}

const struct cfg_kind cfg_kind_addkeys = {addkeys_parse, addkeys_print, done_nothing, false, true};

/* ---- MaxStartups ---- */
static err_t startups_parse(struct cfg_parse *p, void *field)
{
	uint32_t v[3] = {0, 100, 0};
	size_t n = 0;
	struct cslice rest = cslice_str(p->v[0]);
	for (; n < 3 && rest.p != NULL; n++) {
		const uint8_t *colon = rest.n > 0 ? memchr(rest.p, ':', rest.n) : NULL;
		size_t len = colon != NULL ? (size_t)(colon - rest.p) : rest.n;
		if (text_u32(cslice_of(rest.p, len), &v[n]) != OK)
			break;
		rest = colon != NULL ? cslice_of(colon + 1, rest.n - len - 1) : cslice_of(NULL, 0);
	}
	if (n == 1)
		v[2] = v[0];
	if (rest.p != NULL || n == 2 || v[0] == 0 || v[0] > v[2] || v[1] == 0 || v[1] > 100)
		return bad(
			p, "Illegal MaxStartups spec \"%s\": write N or START:RATE:FULL", p->v[0]);
	*(struct cfg_startups *)field = (struct cfg_startups){v[0], v[1], v[2]};
	return OK;
}

static void startups_print(const struct cfg_opt *opt, const void *field, struct buf *out)
{
	(void)opt;
	const struct cfg_startups *s = field;
	buf_printf(out, "%u:%u:%u", s->start, s->rate, s->full);
}

const struct cfg_kind cfg_kind_startups = {
	startups_parse, startups_print, done_nothing, false, false};

/* ---- Subsystem name command: the first one of a name counts ---- */
static err_t subsystem_parse(struct cfg_parse *p, void *field)
{
	struct cfg_subsystems *s = field;
	if (p->n < 2)
		return bad(p, "missing command for subsystem %s", p->n > 0 ? p->v[0] : "");
	for (size_t i = 0; i < s->names.n; i++)
		if (strcmp(s->names.v[i], p->v[0]) == 0)
			return OK;
	/* the command as it was written, after the name */
	const char *at = p->rest + strcspn(p->rest, " \t");
	at += strspn(at, " \t");
	TRY(cfg_list_add(&s->names, p->v[0]));
	err_t e = cfg_list_add(&s->commands, at);
	if (e != OK)
		free(s->names.v[--s->names.n]);
	return e;
}

static void subsystem_print(const struct cfg_opt *opt, const void *field, struct buf *out)
{
	(void)opt;
	const struct cfg_subsystems *s = field;
	for (size_t i = 0; i < s->names.n; i++)
		buf_printf(out, "%s%s %s", i > 0 ? "\nsubsystem " : "", s->names.v[i],
			s->commands.v[i]);
}

static void subsystem_done(void *field)
{
	struct cfg_subsystems *s = field;
	cfg_list_done(&s->names);
	cfg_list_done(&s->commands);
}

const struct cfg_kind cfg_kind_subsystem = {
	subsystem_parse, subsystem_print, subsystem_done, false, true};
