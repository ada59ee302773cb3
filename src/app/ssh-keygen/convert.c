/* SPDX-License-Identifier: ISC */
/* convert - public keys in the forms of RFC 4716 and of OpenSSL: -e prints them, -i reads them */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "app/ssh-keygen/kg.h"

#define BEGIN   "---- BEGIN SSH2 PUBLIC KEY ----"
#define END     "---- END SSH2 PUBLIC KEY ----"
#define COLUMNS 70

static err_t put_rfc4716(const struct key *k, struct buf *out)
{
	struct buf blob, text, who;
	buf_init(&blob, KEYFILE_MAX);
	buf_init(&text, KEYFILE_MAX);
	buf_init(&who, 512);
	kg_default_comment(&who);
	err_t e = key_blob(k, &blob);
	base64_encode(&text, buf_bytes(&blob));
	buf_printf(out, BEGIN "\nComment: \"%u-bit %s, converted by %.*s from OpenSSH\"\n",
		key_bits(k), key_type_shown(key_type_of(k)), (int)who.n, (const char *)who.p);
	for (size_t at = 0; at < text.n; at += COLUMNS) {
		buf_put(out, text.p + at, num_min(COLUMNS, text.n - at));
		buf_put_u8(out, '\n');
	}
	buf_printf(out, END "\n");
	if (e == OK)
		e = buf_err(&text);
	if (e == OK)
		e = buf_err(out);
	buf_done(&who);
	buf_done(&text);
	buf_done(&blob);
	return e;
}

static err_t put_as_asked(const struct kg_options *o, const struct key *k, struct buf *out)
{
	return o->write.form == KEY_FORM_OPENSSH ? put_rfc4716(k, out)
						 : key_public_pem(k, o->write.form, out);
}

int kg_export(struct kg_options *o)
{
	struct key *k = NULL;
	struct buf out;
	const char *path = kg_identity_path(o, KEY_ED25519, "Enter file in which the key is");
	if (path == NULL)
		return KG_FAILED;
	err_t e = keyfile_load_public(&k, path, NULL);
	if (e == E_NOT_FOUND)
		return kg_say(KG_FATAL, "%s: %s", path, keyfile_reason(e));
	if (e == E_PASSPHRASE) {
		struct kg_old old = {o->old_phrase, "Enter passphrase for \"%s\": "};
		struct keyfile_ask ask = {kg_ask_old, &old, 1, NULL, NULL};
		e = keyfile_load_private(&k, path, &ask, NULL, NULL);
	}
	buf_init(&out, KEYFILE_MAX);
	if (e == OK)
		e = put_as_asked(o, k, &out);
	int state = KG_OK;
	if (e == OK)
		(void)fwrite(out.p, 1, out.n, stdout);
	else if (k != NULL && e == E_KEY_TYPE)
		state = kg_say(KG_FATAL, "%s: keys of type %s have no form %s", path,
			key_type_shown(key_type_of(k)), o->format);
	else
		state = kg_say(KG_FATAL, "Load key \"%s\": %s", path, keyfile_reason(e));
	buf_done(&out);
	key_free(k);
	return state;
}

/* The base64 lines between the markers; headers ("Name: value", "\" at the end goes on) are left
 * out (RFC 4716 3.3). */
static err_t get_rfc4716(struct cslice text, struct buf *base64)
{
	bool is_inside = false, is_header = false;
	while (text.n > 0) {
		const uint8_t *lf = memchr(text.p, '\n', text.n);
		size_t n = lf != NULL ? (size_t)(lf - text.p) : text.n,
		       eaten = lf != NULL ? n + 1 : n;
		struct cslice line = {text.p, n};
		text = cslice_of(text.p + eaten, text.n - eaten);
		while (line.n > 0 && (line.p[line.n - 1] == '\r' || line.p[line.n - 1] == ' '))
			line.n--;
		if (cslice_eq_str(line, BEGIN)) {
			is_inside = true;
			continue;
		}
		if (cslice_eq_str(line, END))
			return is_inside ? OK : E_KEY_FORMAT;
		bool goes_on = line.n > 0 && line.p[line.n - 1] == '\\';
		if (is_header || (line.n > 0 && memchr(line.p, ':', line.n) != NULL)) {
			is_header = goes_on;
			continue;
		}
		if (is_inside)
			buf_put(base64, line.p, line.n);
	}
	return E_KEY_NO_END;
}

/* What a file without a beginning is instead. */
static int say_no_rfc4716(const char *path, struct cslice text)
{
	struct key *k = NULL;
	const uint8_t *lf = text.p != NULL ? memchr(text.p, '\n', text.n) : NULL;
	struct cslice line = {text.p, lf != NULL ? (size_t)(lf - text.p) : text.n};
	bool is_line = key_parse_public_line(&k, line, NULL) == OK;
	key_free(k);
	if (is_line)
		return kg_say(KG_FATAL,
			"%s: not in the form of RFC 4716: it is an OpenSSH public key already",
			path);
	return kg_say(KG_FATAL, "%s: not in the form of RFC 4716: no line is \"" BEGIN "\"", path);
}

static err_t key_from_rfc4716(struct key **out, struct cslice text)
{
	struct buf base64, blob;
	buf_init(&base64, KEYFILE_MAX);
	buf_init(&blob, KEYFILE_MAX);
	err_t e = get_rfc4716(text, &base64);
	if (e == OK)
		e = base64_decode(&blob, buf_bytes(&base64), true);
	if (e == OK)
		e = key_parse_blob(out, buf_bytes(&blob));
	buf_done(&blob);
	buf_done(&base64);
	return e;
}

int kg_import(struct kg_options *o)
{
	struct key *k = NULL;
	struct buf text, line;
	const char *path = kg_identity_path(o, KEY_ED25519, "Enter file in which the key is");
	if (path == NULL)
		return KG_FAILED;
	bool is_rfc4716 = o->write.form == KEY_FORM_OPENSSH;
	buf_init(&text, KEYFILE_MAX);
	buf_init(&line, KEYFILE_MAX);
	err_t e = keyfile_read(path, &text);
	int state = KG_OK;
	if (e != OK) {
		state = kg_say(KG_FATAL, "%s: %s", path, keyfile_reason(e));
	} else if (is_rfc4716 && (text.p == NULL || text.n == 0 ||
					 memmem(text.p, text.n, BEGIN, strlen(BEGIN)) == NULL)) {
		state = say_no_rfc4716(path, buf_bytes(&text));
		e = E_KEY_FORMAT;
	}
	if (e == OK)
		e = is_rfc4716 ? key_from_rfc4716(&k, buf_bytes(&text))
			       : key_parse_public_pem(&k, buf_bytes(&text));
	if (e == OK)
		e = key_public_line(k, NULL, &line);
	if (e == OK)
		(void)printf("%.*s\n", (int)line.n, (const char *)line.p);
	else if (state == KG_OK)
		state = kg_say(
			KG_FATAL, "%s: %s", path, err_text(e == E_FORMAT ? E_KEY_FORMAT : e));
	key_free(k);
	buf_done(&line);
	buf_done(&text);
	return state;
}
