/* SPDX-License-Identifier: ISC */
/* cert_show - -L: what the certificates of a file say, in OpenSSH's layout */
#include <errno.h>
#include <stdio.h>

#include "app/ssh-keygen/certify.h"
#include "wire/codec.h"

#define INDENT "                "

static void put_fingerprint(const struct kg_options *o, const struct key *k, struct buf *out)
{
	buf_printf(out, "%s ", key_shown(k));
	if (key_fingerprint(k, o->hash_id, out) != OK)
		buf_printf(out, "(no fingerprint)");
}

/* ---- options
 * --------------------------------------------------------------------------------------------------
 */
enum form { FORM_UNKNOWN, FORM_FLAG, FORM_VALUE };

/* clang-format off */
static const struct {
	const char *name;
	bool is_critical;
	enum form form;
} known[] = {
	/* name                     critical  form       */
	{"force-command",           true,     FORM_VALUE},
	{"source-address",          true,     FORM_VALUE},
	{"verify-required",         true,     FORM_FLAG},
	{"no-touch-required",       false,    FORM_FLAG},
	{"permit-X11-forwarding",   false,    FORM_FLAG},
	{"permit-agent-forwarding", false,    FORM_FLAG},
	{"permit-port-forwarding",  false,    FORM_FLAG},
	{"permit-pty",              false,    FORM_FLAG},
	{"permit-user-rc",          false,    FORM_FLAG},
};
/* clang-format on */

static enum form form_of(struct cslice name, bool is_critical)
{
	for (size_t i = 0; i < ARRAY_N(known); i++)
		if (known[i].is_critical == is_critical && cslice_eq_str(name, known[i].name))
			return known[i].form;
	return FORM_UNKNOWN;
}

static void put_data(struct buf *out, enum form form, struct cslice data)
{
	struct rd r = rd_of(data);
	if (form == FORM_FLAG && data.n == 0)
		return;
	struct cslice value = rd_str(&r);
	if (form == FORM_VALUE && rd_end(&r) == OK) {
		buf_printf(out, " ");
		vis_put(out, value);
		return;
	}
	if (form == FORM_UNKNOWN && data.n == 0) {
		buf_printf(out, " UNKNOWN FLAG OPTION");
		return;
	}
	buf_printf(out, form == FORM_UNKNOWN ? " UNKNOWN OPTION: " : " CORRUPT OPTION: ");
	for (size_t i = 0; i < data.n; i++)
		buf_printf(out, "%02x", data.p[i]);
	buf_printf(out, " (len %zu)", data.n);
}

static void put_options(struct buf *out, const char *title, struct cslice rest, bool is_critical)
{
	struct cslice name, data;
	buf_printf(out, "        %s: %s\n", title, rest.n == 0 ? "(none)" : "");
	while (cert_next_option(&rest, &name, &data)) {
		buf_printf(out, INDENT);
		vis_put(out, name);
		put_data(out, form_of(name, is_critical), data);
		buf_printf(out, "\n");
	}
}

/* ---- one certificate
 * ------------------------------------------------------------------------------------------
 */
static void put_principals(struct buf *out, const struct cert *c)
{
	struct cslice rest = c->principals, name;
	buf_printf(out, "        Principals: %s\n", c->principals_n == 0 ? "(none)" : "");
	while (cert_next_principal(&rest, &name)) {
		buf_printf(out, INDENT);
		vis_put(out, name);
		buf_printf(out, "\n");
	}
}

static void put_cert(const struct kg_options *o, const struct key *k, struct buf *out)
{
	const struct cert *c = key_cert(k);
	struct rd sig = rd_of(c->signature);
	struct cslice alg = rd_str(&sig);
	buf_printf(out, "        Type: %s %s certificate\n", key_name(k),
		c->kind == CERT_HOST ? "host" : "user");
	buf_printf(out, "        Public key: ");
	put_fingerprint(o, k, out);
	buf_printf(out, "\n        Signing CA: ");
	put_fingerprint(o, c->ca, out);
	buf_printf(out, " (using ");
	vis_put(out, alg);
	buf_printf(out, ")\n        Key ID: \"");
	vis_put(out, c->key_id);
	buf_printf(out, "\"\n        Serial: %llu\n        Valid: ", (unsigned long long)c->serial);
	kg_put_validity(out, c->valid_after, c->valid_before);
	buf_printf(out, "\n");
	put_principals(out, c);
	put_options(out, "Critical Options", c->critical, true);
	put_options(out, "Extensions", c->extensions, false);
}

/* ---- the file
 * -------------------------------------------------------------------------------------------------
 */
/* Standard input has line numbers always, a file from its second line on. */
static bool show_line(
	const struct kg_options *o, const char *path, size_t number, struct cslice line)
{
	struct key *k = NULL;
	struct buf out;
	bool is_stdin = path == NULL, is_shown = false;
	const char *name = is_stdin ? "(stdin)" : path;
	err_t e = key_parse_line_any(&k, line, NULL);
	if (e != OK) {
		(void)kg_say(0, "%s:%zu: invalid key: %s", name, number, err_text(e));
		return false;
	}
	buf_init(&out, KEYFILE_MAX * 4);
	if (key_cert(k) == NULL) {
		(void)kg_say(0, "%s:%zu is not a certificate", name, number);
	} else {
		buf_printf(&out, "%s:", name);
		if (is_stdin || number > 1)
			buf_printf(&out, "%zu:", number);
		buf_printf(&out, "\n");
		put_cert(o, k, &out);
		is_shown = buf_err(&out) == OK;
	}
	if (is_shown)
		(void)fwrite(out.p, 1, out.n, stdout);
	buf_done(&out);
	key_free(k);
	return is_shown;
}

static int show_text(const struct kg_options *o, const char *path, struct cslice text)
{
	bool any = false;
	for (size_t number = 1; text.n > 0; number++) {
		const uint8_t *lf = memchr(text.p, '\n', text.n);
		size_t n = lf != NULL ? (size_t)(lf - text.p) : text.n;
		size_t eaten = lf != NULL ? n + 1 : n;
		struct cslice line = {text.p, n};
		text = cslice_of(text.p + eaten, text.n - eaten);
		while (line.n > 0 && strchr(" \t\r", line.p[0]) != NULL)
			line = cslice_of(line.p + 1, line.n - 1);
		if (line.n > 0 && line.p[0] != '#')
			any = show_line(o, path, number, line) || any;
	}
	return any ? KG_OK : KG_FAILED;
}

int kg_show_certs(struct kg_options *o)
{
	struct buf text;
	const char *path = kg_identity_path(o, KEY_ED25519, "Enter file in which the key is");
	if (path == NULL)
		return KG_FAILED;
	bool is_stdin = strcmp(path, "-") == 0;
	buf_init(&text, KEYFILE_MAX);
	err_t e = keyfile_read(is_stdin ? "/dev/stdin" : path, &text);
	int state = e != OK ? kg_say(KG_FATAL, "%s: %s", path, keyfile_reason(e))
			    : show_text(o, is_stdin ? NULL : path, buf_bytes(&text));
	buf_done(&text);
	return state;
}
