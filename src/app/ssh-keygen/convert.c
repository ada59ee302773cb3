/* SPDX-License-Identifier: ISC */
/*
 * convert - keys in the forms of others: -e prints them, -i reads them
 *
 * Public keys in the forms of RFC 4716 and OpenSSL, private keys of PuTTY and of ssh.com's
 * programs. What -i reads tells its form by itself, but for -m, which says what is expected.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "app/ssh-keygen/kg.h"

#define BEGIN "---- BEGIN SSH2 PUBLIC KEY ----"

static bool is_putty(enum key_form form)
{
	return form == KEY_FORM_PPK || form == KEY_FORM_PPK2;
}

static err_t put_rfc4716(const struct key *k, struct buf *out)
{
	struct buf comment;
	buf_init(&comment, 1024);
	buf_printf(
		&comment, "%u-bit %s, converted by ", key_bits(k), key_type_shown(key_type_of(k)));
	kg_default_comment(&comment);
	buf_printf(&comment, " from OpenSSH");
	buf_put_u8(&comment, 0);
	err_t e = buf_err(&comment);
	if (e == OK)
		e = key_public_rfc4716(k, (const char *)comment.p, out);
	buf_done(&comment);
	return e;
}

/* A private key that is being converted: it goes out under the passphrase it came with, or -N. */
struct private_in {
	struct key *k;
	struct buf comment, passphrase;
	struct kg_old old;
};

static err_t ask_and_keep(void *arg, const char *path, uint32_t try, struct buf *passphrase)
{
	struct private_in *in = arg;
	TRY(kg_ask_old(&in->old, path, try, passphrase));
	buf_clear(&in->passphrase);
	buf_put(&in->passphrase, passphrase->p, passphrase->n);
	return buf_err(&in->passphrase);
}

static err_t put_private(const struct kg_options *o, const struct private_in *in,
	enum key_form form, struct buf *out)
{
	struct key_write_opts opts = o->write;
	opts.form = form;
	opts.comment = (const char *)in->comment.p;
	opts.passphrase =
		o->new_phrase != NULL ? cslice_str(o->new_phrase) : buf_bytes(&in->passphrase);
	opts.rng = os_rng();
	return key_write_private(in->k, &opts, out);
}

/* Prints the private key of path in another form. */
static int convert_private(const struct kg_options *o, const char *path, enum key_form form)
{
	struct private_in in = {.old = {o->old_phrase, "Enter passphrase for \"%s\": "}};
	struct keyfile_ask ask = {ask_and_keep, &in, 1, NULL, NULL};
	struct buf out, why;
	buf_init(&in.comment, KEYFILE_MAX);
	buf_init(&in.passphrase, KG_LINE_MAX);
	buf_init(&out, KEYFILE_MAX);
	buf_init(&why, KG_LINE_MAX);
	err_t e = keyfile_load_private(&in.k, path, &ask, &in.comment, &why);
	int state = KG_OK;
	buf_put_u8(&in.comment, 0);
	kg_say_why(&why);
	if (e == OK)
		e = buf_err(&in.comment);
	if (e == OK)
		e = put_private(o, &in, form, &out);
	if (e == OK)
		(void)fwrite(out.p, 1, out.n, stdout);
	else if (in.k != NULL && e == E_KEY_TYPE)
		state = kg_say(KG_FATAL, "%s: PuTTY has no keys of type %s", path,
			key_type_shown(key_type_of(in.k)));
	else
		state = in.k == NULL ? KG_FATAL : kg_say(KG_FATAL, "%s: %s", path, err_text(e));
	buf_done(&why);
	buf_done(&out);
	buf_done(&in.passphrase);
	buf_done(&in.comment);
	key_free(in.k);
	return state;
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
	if (is_putty(o->write.form))
		return convert_private(o, path, o->write.form);
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

err_t kg_parse_foreign_public(struct key **out, struct cslice text)
{
	if (key_rfc4716_is(text))
		return key_parse_rfc4716(out, text);
	return key_parse_public_pem(out, text);
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

static int import_public(const struct kg_options *o, const char *path, struct cslice text)
{
	struct key *k = NULL;
	struct buf line;
	bool is_rfc4716 = o->write.form != KEY_FORM_PEM && o->write.form != KEY_FORM_PKCS8;
	if (is_rfc4716 && !key_rfc4716_is(text))
		return say_no_rfc4716(path, text);
	buf_init(&line, KEYFILE_MAX);
	err_t e = is_rfc4716 ? key_parse_rfc4716(&k, text) : key_parse_public_pem(&k, text);
	if (e == OK)
		e = key_public_line(k, NULL, &line);
	int state = KG_OK;
	if (e == OK)
		(void)printf("%.*s\n", (int)line.n, (const char *)line.p);
	else
		state = kg_say(KG_FATAL, "%s: %s", path, err_text(e));
	buf_done(&line);
	key_free(k);
	return state;
}

int kg_import(struct kg_options *o)
{
	struct buf text;
	const char *path = kg_identity_path(o, KEY_ED25519, "Enter file in which the key is");
	if (path == NULL)
		return KG_FAILED;
	buf_init(&text, KEYFILE_MAX);
	err_t e = keyfile_read(path, &text);
	struct cslice bytes = buf_bytes(&text);
	int state;
	if (e != OK)
		state = kg_say(KG_FATAL, "%s: %s", path, keyfile_reason(e));
	else if (is_putty(key_form_of(bytes)))
		state = convert_private(o, path, KEY_FORM_OPENSSH);
	else if (key_sshcom_is(bytes))
		state = convert_private(o, path, KEY_FORM_PEM);
	else
		state = import_public(o, path, bytes);
	buf_done(&text);
	return state;
}
