/* SPDX-License-Identifier: ISC */
/*
 * ak_options - the options of an authorized_keys line as a table
 *
 * Order matters as people write it: `restrict` takes everything away, what follows gives back.
 * Nothing is obeyed in part: any doubt refuses the line.
 */
#include <stdlib.h>

#include "base/text.h"
#include "key/ak_options.h"
#include "key/ops.h"

struct parse {
	const struct ak_query *q;
	struct ak_result *r;
	char *from;
	bool has_expiry;
	uint64_t expiry_s;
	const char *why;
};

static err_t refuse(struct parse *p, const char *why)
{
	p->why = why;
	return E_CONFIG;
}

/* ---- values
 * -------------------------------------------------------------------------------------------------
 */
static err_t once(struct parse *p, char **at, struct cslice value, const char *twice)
{
	if (*at != NULL)
		return refuse(p, twice);
	return text_dup(value, at);
}

static err_t opt_command(struct parse *p, struct cslice value)
{
	return once(p, &p->r->command, value, "multiple \"command\" options");
}

static err_t opt_principals(struct parse *p, struct cslice value)
{
	return once(p, &p->r->principals, value, "multiple \"principals\" options");
}

static err_t opt_from(struct parse *p, struct cslice value)
{
	if (addr_match_list(value, NULL, NULL) == ADDR_BAD_LIST)
		return refuse(p, "bad host list in \"from\"");
	return once(p, &p->from, value, "multiple \"from\" options");
}

/* Adds a copy of value to a list of strings. */
static err_t list_add(struct parse *p, char ***list, size_t *n, size_t max, struct cslice value)
{
	char *copy = NULL;
	if (*n >= max)
		return refuse(p, "too many options of one kind");
	char **grown = realloc(*list, (*n + 1) * sizeof(**list));
	if (grown == NULL)
		return E_MEM;
	*list = grown;
	TRY(text_dup(value, &copy));
	grown[(*n)++] = copy;
	return OK;
}

static err_t opt_environment(struct parse *p, struct cslice value)
{
	const uint8_t *equals = value.n > 0 ? memchr(value.p, '=', value.n) : NULL;
	size_t name_n = equals != NULL ? (size_t)(equals - value.p) : 0;
	if (name_n == 0)
		return refuse(p, "invalid environment string");
	for (size_t i = 0; i < name_n; i++) {
		uint8_t c = value.p[i];
		bool is_word = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
			       (c >= '0' && c <= '9') || c == '_';
		if (!is_word)
			return refuse(p, "invalid environment string");
	}
	for (size_t i = 0; i < p->r->environment_n; i++)
		if (strncmp(p->r->environment[i], (const char *)value.p, name_n + 1) == 0)
			return OK; /* the first of a name wins */
	return list_add(p, &p->r->environment, &p->r->environment_n, AK_ENV_MAX, value);
}

static bool is_port(struct cslice s)
{
	uint32_t port;
	return cslice_eq_str(s, "*") || (text_u32(s, &port) == OK && port >= 1 && port <= 65535);
}

/* host:port, [v6]:port; a bare port where the host may be left out.  Kept as "host:port". */
static err_t permit(struct parse *p, struct cslice value, bool may_be_bare, char ***list, size_t *n)
{
	const uint8_t *colon = value.n > 0 ? memrchr(value.p, ':', value.n) : NULL;
	if (colon == NULL && may_be_bare && is_port(value)) {
		struct buf full;
		buf_init(&full, 32);
		buf_put(&full, "*:", 2);
		buf_put(&full, value.p, value.n);
		err_t e = buf_err(&full);
		if (e == OK)
			e = list_add(p, list, n, AK_PERMIT_MAX, buf_bytes(&full));
		buf_done(&full);
		return e;
	}
	if (colon == NULL)
		return refuse(p, "invalid permission: host and port are needed");
	struct cslice host = {value.p, (size_t)(colon - value.p)};
	struct cslice port = {colon + 1, value.n - host.n - 1};
	bool is_bracketed = host.n > 2 && host.p[0] == '[' && host.p[host.n - 1] == ']';
	bool has_colon = host.n > 0 && memchr(host.p, ':', host.n) != NULL;
	if (host.n == 0 || host.n >= 1025 || (has_colon && !is_bracketed))
		return refuse(p, "invalid permission hostname");
	if (!is_port(port))
		return refuse(p, "invalid permission port");
	return list_add(p, list, n, AK_PERMIT_MAX, value);
}

static err_t opt_permitopen(struct parse *p, struct cslice value)
{
	return permit(p, value, false, &p->r->permitopen, &p->r->permitopen_n);
}

static err_t opt_permitlisten(struct parse *p, struct cslice value)
{
	return permit(p, value, true, &p->r->permitlisten, &p->r->permitlisten_n);
}

/* Days since 1970-01-01 in the Gregorian calendar; years count from March, so that leap days come
 * last. */
static uint64_t days_of(uint32_t year, uint32_t month, uint32_t day)
{
	uint64_t y = month > 2 ? year : year - 1;
	uint64_t m = month > 2 ? month - 3 : month + 9;
	uint64_t days = y * 365 + y / 4 - y / 100 + y / 400 + (m * 153 + 2) / 5 + day - 1;
	return days - 719468;
}

static bool civil_parse(struct cslice text, struct ak_civil *t)
{
	static const uint8_t widths[] = {4, 2, 2, 2, 2, 2};
	uint32_t v[6] = {0};
	size_t at = 0;
	if (text.n != 8 && text.n != 12 && text.n != 14)
		return false;
	for (size_t i = 0; i < ARRAY_N(widths) && at < text.n; at += widths[i++])
		if (text_u32(cslice_of(text.p + at, widths[i]), &v[i]) != OK)
			return false;
	*t = (struct ak_civil){v[0], v[1], v[2], v[3], v[4], v[5]};
	return t->year >= 1970 && t->month >= 1 && t->month <= 12 && t->day >= 1 && t->day <= 31 &&
	       t->hour <= 23 && t->minute <= 59 && t->second <= 60;
}

err_t ak_time_parse(struct cslice text,
	bool (*local_time)(const struct ak_civil *t, uint64_t *out_s), uint64_t *out_s)
{
	struct ak_civil t;
	uint64_t s;
	bool is_utc = text.n > 0 && (text.p[text.n - 1] == 'Z' || text.p[text.n - 1] == 'z');
	if (is_utc)
		text.n--;
	if (!civil_parse(text, &t))
		return E_KEY_FORMAT;
	if (is_utc || local_time == NULL)
		s = days_of(t.year, t.month, t.day) * 86400 + t.hour * (uint64_t)3600 +
		    t.minute * (uint64_t)60 + t.second;
	else if (!local_time(&t, &s))
		return E_KEY_FORMAT;
	*out_s = s;
	return OK;
}

/* The earliest of several wins. */
static err_t opt_expiry(struct parse *p, struct cslice value)
{
	uint64_t s;
	if (ak_time_parse(value, p->q->local_time, &s) != OK)
		return refuse(p, "invalid expires time");
	if (!p->has_expiry || s < p->expiry_s)
		p->expiry_s = s;
	p->has_expiry = true;
	return OK;
}

/* ---- the table
 * ------------------------------------------------------------------------------------------------
 */
enum kind { K_PERMIT, K_TOUCH, K_VERIFY, K_RESTRICT, K_CA, K_VALUE, K_UNBUILT };

#define AT(member) offsetof(struct ak_permit, member)
/* clang-format off */
static const struct option {
	const char *name;
	enum kind kind;
	size_t permit; /* K_PERMIT, also as no-NAME */
	err_t (*value)(struct parse *p, struct cslice value);
} options_table[] = {
	/* name               kind        permission             value            */
	{"agent-forwarding",  K_PERMIT,   AT(agent_forwarding),  NULL},
	{"port-forwarding",   K_PERMIT,   AT(port_forwarding),   NULL},
	{"pty",               K_PERMIT,   AT(pty),               NULL},
	{"user-rc",           K_PERMIT,   AT(user_rc),           NULL},
	{"x11-forwarding",    K_PERMIT,   AT(x11_forwarding),    NULL},
	{"touch-required",    K_TOUCH,    0,                     NULL}, /* about FIDO keys only */
	{"verify-required",   K_VERIFY,   0,                     NULL},
	{"restrict",          K_RESTRICT, 0,                     NULL},
	{"command",           K_VALUE,    0,                     opt_command},
	{"environment",       K_VALUE,    0,                     opt_environment},
	{"expiry-time",       K_VALUE,    0,                     opt_expiry},
	{"from",              K_VALUE,    0,                     opt_from},
	{"permitlisten",      K_VALUE,    0,                     opt_permitlisten},
	{"permitopen",        K_VALUE,    0,                     opt_permitopen},
	{"cert-authority",    K_CA,       0,                     NULL},
	{"principals",        K_VALUE,    0,                     opt_principals},
	{"tunnel",            K_UNBUILT,  0,                     NULL},
};
/* clang-format on */

static const struct option *option_find(struct cslice name)
{
	for (size_t i = 0; i < ARRAY_N(options_table); i++)
		if (ascii_eq_nocase(name, options_table[i].name))
			return &options_table[i];
	return NULL;
}

/* "..." with \" inside; *rest stands behind the closing quote. */
static err_t value_read(struct parse *p, struct cslice *rest, struct buf *value)
{
	if (rest->n == 0 || rest->p[0] != '"')
		return refuse(p, "missing start quote");
	for (size_t i = 1; i < rest->n; i++) {
		if (rest->p[i] == '"') {
			*rest = cslice_of(rest->p + i + 1, rest->n - i - 1);
			return buf_err(value);
		}
		if (rest->p[i] == '\\' && i + 1 < rest->n && rest->p[i + 1] == '"')
			i++;
		buf_put_u8(value, rest->p[i]);
	}
	return refuse(p, "missing end quote");
}

static err_t option_with_value(struct parse *p, const struct option *o, struct cslice *rest)
{
	struct buf value;
	buf_init(&value, AK_LINE_MAX);
	err_t e = value_read(p, rest, &value);
	if (e == OK)
		e = o->value(p, buf_bytes(&value));
	buf_done(&value);
	return e == E_FORMAT ? refuse(p, "NUL byte in an option") : e;
}

static err_t option_flag(struct parse *p, const struct option *o, bool is_negated)
{
	switch (o->kind) {
	case K_PERMIT:
		*(bool *)((char *)&p->r->permit + o->permit) = !is_negated;
		return OK;
	case K_RESTRICT:
		p->r->permit = (struct ak_permit){false, false, false, false, false};
		return OK;
	case K_TOUCH:
		p->r->no_touch_required = is_negated;
		return OK;
	case K_VERIFY:
		p->r->verify_required = !is_negated;
		return OK;
	case K_CA:
		p->r->is_ca = true;
		return OK;
	case K_VALUE:
		return refuse(p, "an option lacks its value");
	case K_UNBUILT:
		break;
	}
	return refuse(p, "an option that is not supported here");
}

static err_t option_one(struct parse *p, struct cslice *rest)
{
	size_t n = 0;
	while (n < rest->n && rest->p[n] != ',' && rest->p[n] != '=')
		n++;
	struct cslice name = {rest->p, n};
	*rest = cslice_of(rest->p + n, rest->n - n);
	const struct option *o = option_find(name);
	bool is_negated = false;
	if (o == NULL && n > 3 && ascii_eq_nocase(cslice_of(name.p, 3), "no-")) {
		o = option_find(cslice_of(name.p + 3, n - 3));
		is_negated = true;
		bool has_no = o != NULL &&
			      (o->kind == K_PERMIT || o->kind == K_TOUCH || o->kind == K_VERIFY);
		if (!has_no)
			o = NULL;
	}
	if (o == NULL)
		return refuse(p, "unknown key option");
	bool has_value = rest->n > 0 && rest->p[0] == '=';
	if (!has_value || o->kind == K_UNBUILT)
		return option_flag(p, o, is_negated);
	if (o->kind != K_VALUE)
		return refuse(p, "an option has a value that takes none");
	*rest = cslice_of(rest->p + 1, rest->n - 1);
	return option_with_value(p, o, rest);
}

static err_t options_parse(struct parse *p, struct cslice rest)
{
	while (rest.n > 0) {
		TRY(option_one(p, &rest));
		if (rest.n == 0)
			return OK;
		if (rest.p[0] != ',')
			return refuse(p, "unexpected text after an option");
		rest = cslice_of(rest.p + 1, rest.n - 1);
		if (rest.n == 0)
			return refuse(p, "unexpected end of options");
	}
	return OK;
}

static err_t deny(struct parse *p, const char *why, const char *from)
{
	if (p->q->refused != NULL)
		p->q->refused(p->q->arg, p->r->line, from, from == NULL ? p->expiry_s : 0);
	p->why = why;
	return E_DENIED;
}

static err_t conditions_check(struct parse *p)
{
	if (p->has_expiry && p->q->now_s > p->expiry_s)
		return deny(p, "key has expired", NULL);
	if (p->from == NULL)
		return OK;
	if (p->q->address == NULL)
		return deny(p, "the client has no address, \"from\" refuses", p->from);
	if (addr_match_list(cslice_str(p->from), p->q->address, p->q->host) != ADDR_MATCH)
		return deny(p, "correct key but not from a permitted host", p->from);
	return OK;
}

bool ak_options_split(struct cslice line, struct cslice *options, struct cslice *rest)
{
	bool is_quoted = false;
	size_t i = 0;
	for (; i < line.n && (is_quoted || !key_is_blank(line.p[i])); i++) {
		if (line.p[i] == '\\' && i + 1 < line.n && line.p[i + 1] == '"')
			i++;
		else if (line.p[i] == '"')
			is_quoted = !is_quoted;
	}
	if (is_quoted)
		return false;
	i = num_min(i, line.n);
	*options = cslice_of(line.p, i);
	*rest = key_trim(cslice_of(line.p + i, line.n - i));
	return true;
}

err_t ak_options_apply(
	struct cslice options, const struct ak_query *q, struct ak_result *r, const char **why)
{
	struct parse p = {.q = q, .r = r, .why = "out of memory"};
	r->permit = (struct ak_permit){true, true, true, true, true};
	err_t e = options_parse(&p, options);
	if (e == OK && r->principals != NULL && !r->is_ca)
		e = refuse(&p, "\"principals\" without \"cert-authority\"");
	if (e == OK)
		e = conditions_check(&p);
	free(p.from);
	if (e != OK)
		*why = p.why;
	return e;
}
