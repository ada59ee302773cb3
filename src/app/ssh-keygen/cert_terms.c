/* SPDX-License-Identifier: ISC */
/*
 * cert_terms - what a certificate says beside the key: -V (time), -O (options), -z (serial)
 *
 * Options are packed in ascending order of their names, as the format wants them.
 */
#include <stdlib.h>
#include <time.h>

#include "app/common/localtime.h"
#include "app/ssh-keygen/certify.h"
#include "config/config.h"

#define MINUTE 60u

/* ---- time
 * -----------------------------------------------------------------------------------------------------
 */
/* "+1w2d", "-5m": seconds from now. */
static int relative_time(const char *text, uint64_t now_s, uint64_t *out)
{
	int64_t span;
	struct cslice digits = cslice_str(text + 1);
	if (cslice_eq_str(digits, "none") || cfg_time(digits, &span) != OK)
		return kg_say(KG_FATAL, "Invalid relative certificate time %s", text);
	uint64_t n = (uint64_t)span;
	if (text[0] == '+')
		*out = now_s + n;
	else
		*out = n < now_s ? now_s - n : 0;
	return KG_OK;
}

static int hex_time(const char *text, uint64_t *out)
{
	uint64_t v = 0;
	const char *p = text + 2;
	for (; *p != '\0'; p++) {
		static const char digits[] = "0123456789abcdef";
		const char *at = strchr(digits, *p | 0x20);
		if (at == NULL || (*p | 0x20) != *at)
			break;
		if (v >> 60 != 0)
			return kg_say(KG_FATAL, "Invalid certificate time: out of range");
		v = v << 4 | (uint64_t)(at - digits);
	}
	if (*p != '\0' || p == text + 2)
		return kg_say(KG_FATAL, "Invalid certificate time: not a number");
	*out = v;
	return KG_OK;
}

/* side: "from" or "to"; word: what stands for no limit there. */
static int one_time(
	const char *side, const char *word, const char *text, uint64_t now_s, uint64_t *out)
{
	uint64_t no_limit = strcmp(side, "from") == 0 ? 0 : CERT_FOREVER;
	if (text[0] == '+' || text[0] == '-')
		return relative_time(text, now_s, out);
	if (strcmp(text, word) == 0)
		return *out = no_limit, KG_OK;
	if (strncmp(text, "0x", 2) == 0)
		return hex_time(text, out);
	if (ak_time_parse(cslice_str(text), local_time, out) != OK)
		return kg_say(KG_FATAL, "Invalid %s time \"%s\"", side, text);
	return KG_OK;
}

static int validity(const char *text, struct kg_terms *t)
{
	uint64_t now_s = (uint64_t)time(NULL);
	const char *colon = strchr(text, ':');
	/* Alone it is the end; the start is a minute ago, as clocks differ. */
	if (colon == NULL && text[0] == '+') {
		t->after = (now_s - (MINUTE - 1)) / MINUTE * MINUTE;
		return relative_time(text, now_s, &t->before);
	}
	if (colon == NULL || colon == text || colon[1] == '\0')
		return kg_say(KG_FATAL, "Invalid certificate life specification %s", text);
	char *from = strndup(text, (size_t)(colon - text));
	if (from == NULL)
		return kg_say(KG_FATAL, "%s", err_text(E_MEM));
	int state = one_time("from", "always", from, now_s, &t->after);
	free(from);
	if (state == KG_OK)
		state = one_time("to", "forever", colon + 1, now_s, &t->before);
	if (state == KG_OK && t->after >= t->before)
		return kg_say(KG_FATAL, "Empty certificate validity interval");
	return state;
}

static void put_time(struct buf *out, uint64_t when_s)
{
	char text[64];
	struct tm tm;
	time_t t = when_s > INT64_MAX ? INT64_MAX : (time_t)when_s;
	/* Beyond the calendar there is only the number. */
	if (localtime_r(&t, &tm) == NULL ||
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm) == 0)
		buf_printf(out, "0x%llx", (unsigned long long)when_s);
	else
		buf_printf(out, "%s", text);
}

void kg_put_validity(struct buf *out, uint64_t after, uint64_t before)
{
	bool has_start = after != 0, has_end = before != CERT_FOREVER;
	if (!has_start && !has_end)
		buf_printf(out, "forever");
	if (has_start) {
		buf_printf(out, has_end ? "from " : "after ");
		put_time(out, after);
	}
	if (has_end) {
		buf_printf(out, has_start ? " to " : "before ");
		put_time(out, before);
	}
}

/* ---- options
 * --------------------------------------------------------------------------------------------------
 */
struct entry {
	const char *name;
	size_t name_n;
	const char *value; /* NULL: a flag */
	bool is_critical;
};

#define FLAGS_N 7
/* clang-format off */
static const struct flag {
	const char *name; /* in the certificate */
	bool is_critical, is_default;
	const char *on, *off; /* of -O */
} flags[FLAGS_N] = {
	/* name                     critical  default  on                         off                      */
	{"verify-required",         true,     false,   "verify-required",         "no-verify-required"},
	{"no-touch-required",       false,    false,   "no-touch-required",       "touch-required"},
	{"permit-X11-forwarding",   false,    true,    "permit-X11-forwarding",   "no-X11-forwarding"},
	{"permit-agent-forwarding", false,    true,    "permit-agent-forwarding", "no-agent-forwarding"},
	{"permit-port-forwarding",  false,    true,    "permit-port-forwarding",  "no-port-forwarding"},
	{"permit-pty",              false,    true,    "permit-pty",              "no-pty"},
	{"permit-user-rc",          false,    true,    "permit-user-rc",          "no-user-rc"},
};
/* clang-format on */

struct choice {
	bool is_on[FLAGS_N];
	struct entry entries[KG_OPTIONS_MAX + FLAGS_N];
	size_t n;
	const char *command, *source;
};

static bool flag_option(struct choice *c, const char *option)
{
	struct cslice word = cslice_str(option);
	for (size_t i = 0; i < FLAGS_N; i++) {
		bool is_on = ascii_eq_nocase(word, flags[i].on);
		if (is_on || ascii_eq_nocase(word, flags[i].off)) {
			c->is_on[i] = is_on;
			return true;
		}
	}
	return false;
}

static bool starts_with(const char *option, const char *prefix)
{
	size_t n = strlen(prefix);
	return strlen(option) >= n && ascii_eq_nocase(cslice_of(option, n), prefix);
}

/* "critical:name[=value]" */
static void free_option(struct choice *c, const char *text, bool is_critical)
{
	const char *equals = strchr(text, '=');
	c->entries[c->n++] = (struct entry){
		.name = text,
		.name_n = equals != NULL ? (size_t)(equals - text) : strlen(text),
		.value = equals != NULL ? equals + 1 : NULL,
		.is_critical = is_critical,
	};
}

static int value_option(struct choice *c, const char **at, const char *name, const char *value)
{
	if (*value == '\0')
		return kg_say(KG_FATAL, "Empty %s option", name);
	if (*at != NULL)
		return kg_say(KG_FATAL, "%s already specified", name);
	*at = value;
	c->entries[c->n++] = (struct entry){name, strlen(name), value, true};
	return KG_OK;
}

static int one_option(struct choice *c, const char *option)
{
	static const char command[] = "force-command=", source[] = "source-address=",
			  critical[] = "critical:", extension[] = "extension:";
	if (ascii_eq_nocase(cslice_str(option), "clear")) {
		for (size_t i = 0; i < FLAGS_N; i++)
			c->is_on[i] = false;
		return KG_OK;
	}
	if (flag_option(c, option))
		return KG_OK;
	if (starts_with(option, critical))
		return free_option(c, option + strlen(critical), true), KG_OK;
	if (starts_with(option, extension))
		return free_option(c, option + strlen(extension), false), KG_OK;
	if (starts_with(option, command))
		return value_option(c, &c->command, "force-command", option + strlen(command));
	if (!starts_with(option, source))
		return kg_say(KG_FATAL, "Unsupported certificate option \"%s\"", option);
	const char *list = option + strlen(source);
	if (*list != '\0' && addr_match_cidr(cslice_str(list), NULL) == ADDR_BAD_LIST)
		return kg_say(KG_FATAL, "Invalid source-address list");
	return value_option(c, &c->source, "source-address", list);
}

static int by_name(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order = memcmp(x->name, y->name, num_min(x->name_n, y->name_n));
	if (order != 0)
		return order;
	if (x->name_n != y->name_n)
		return x->name_n < y->name_n ? -1 : 1;
	return strcmp(x->value != NULL ? x->value : "", y->value != NULL ? y->value : "");
}

static void pack(const struct choice *c, bool is_critical, struct buf *out)
{
	struct buf data;
	for (size_t i = 0; i < c->n; i++) {
		const struct entry *e = &c->entries[i];
		if (e->is_critical != is_critical)
			continue;
		buf_init(&data, KEYFILE_MAX);
		if (e->value != NULL)
			buf_put_cstring(&data, e->value);
		buf_put_string(out, cslice_of(e->name, e->name_n));
		buf_put_string(out, buf_bytes(&data));
		buf_done(&data);
	}
}

static int options(const struct kg_options *o, struct kg_terms *t)
{
	struct choice c = {.n = 0};
	int state = KG_OK;
	for (size_t i = 0; i < FLAGS_N; i++)
		c.is_on[i] = flags[i].is_default && !o->for_host;
	for (size_t i = 0; state == KG_OK && i < o->options_n; i++)
		state = one_option(&c, o->options[i]);
	if (state != KG_OK)
		return state;
	for (size_t i = 0; i < FLAGS_N; i++)
		if (c.is_on[i])
			c.entries[c.n++] = (struct entry){
				flags[i].name, strlen(flags[i].name), NULL, flags[i].is_critical};
	qsort(c.entries, c.n, sizeof(c.entries[0]), by_name);
	pack(&c, true, &t->critical);
	pack(&c, false, &t->extensions);
	return KG_OK;
}

/* ---- all of them
 * ----------------------------------------------------------------------------------------------
 */
static int principals(const char *list, struct kg_terms *t)
{
	struct cslice rest = cslice_str(list != NULL ? list : "");
	while (list != NULL) {
		const uint8_t *comma = rest.n > 0 ? memchr(rest.p, ',', rest.n) : NULL;
		size_t n = comma != NULL ? (size_t)(comma - rest.p) : rest.n;
		if (n == 0)
			return kg_say(KG_FATAL, "Empty principal name");
		if (t->principals_n == CERT_PRINCIPALS_MAX)
			return kg_say(KG_FATAL, "Too many certificate principals specified");
		t->principals[t->principals_n++] = cslice_of(rest.p, n);
		if (comma == NULL)
			break;
		rest = cslice_of(rest.p + n + 1, rest.n - n - 1);
	}
	return KG_OK;
}

static int serial(const char *text, struct kg_terms *t)
{
	if (text == NULL)
		return KG_OK;
	t->is_counting = text[0] == '+';
	text += t->is_counting ? 1 : 0;
	if (text_u64(cslice_str(text), &t->serial) != OK)
		return kg_say(KG_FATAL, "Invalid serial number \"%s\"", text);
	return KG_OK;
}

int kg_terms_read(const struct kg_options *o, struct kg_terms *t)
{
	*t = (struct kg_terms){.after = 0, .before = CERT_FOREVER};
	buf_init(&t->critical, CERT_BLOB_MAX);
	buf_init(&t->extensions, CERT_BLOB_MAX);
	int state = serial(o->serial, t);
	if (state == KG_OK && o->validity != NULL)
		state = validity(o->validity, t);
	if (state == KG_OK)
		state = principals(o->names, t);
	if (state == KG_OK)
		state = options(o, t);
	if (state == KG_OK && (buf_err(&t->critical) != OK || buf_err(&t->extensions) != OK))
		state = kg_say(KG_FATAL, "the options are too long for a certificate");
	return state;
}

void kg_terms_done(struct kg_terms *t)
{
	buf_done(&t->extensions);
	buf_done(&t->critical);
}
