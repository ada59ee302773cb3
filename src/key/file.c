/* SPDX-License-Identifier: ISC */
/*
 * file - which format a private key file has, and what is wrong with it
 *
 * Key files are pasted, mailed and stored in secret managers; the usual damage has a name of its
 * own, so that the person at the keyboard knows what to repair.  CRLF, a missing last line end and
 * text around the key are no damage.
 */
#include "base/text.h"
#include "key/ops.h"

#define BEGIN    "-----BEGIN "
#define END      "-----END "
#define V1_LABEL "OPENSSH PRIVATE KEY-----"
#define DASHES   "-----"

#define PEM_PASSPHRASE_MIN 5

/* PEM knows rsa and ecdsa; a FIDO key has such a public half only. */
static bool has_pem(const struct key *k)
{
	return k->pk != NULL && !key_type_is_sk(k->type);
}

static bool find(struct cslice in, const char *what, size_t *at)
{
	size_t n = strlen(what);
	if (in.n < n)
		return false;
	const uint8_t *hit = in.p != NULL && in.n >= n ? memmem(in.p, in.n, what, n) : NULL;
	if (hit == NULL)
		return false;
	*at = (size_t)(hit - in.p);
	return true;
}

static struct cslice after(struct cslice s, size_t n)
{
	return cslice_of(s.p + n, s.n - n);
}

static bool starts_with(struct cslice s, const char *what)
{
	size_t n = strlen(what);
	return s.n >= n && memcmp(s.p, what, n) == 0;
}

/* A public key of any form in the place of a private one. */
static bool is_public(struct cslice file)
{
	struct cslice words;
	struct buf blob;
	if (starts_with(file, "---- BEGIN SSH2 PUBLIC KEY"))
		return true;
	struct cslice line = {NULL, 0};
	if (!key_next_line(&file, &line))
		return false;
	buf_init(&blob, KEY_BLOB_MAX);
	err_t e = key_line_blob(line, &blob, &words);
	buf_done(&blob);
	return e == OK || e == E_KEY_TYPE;
}

static struct cslice without_leading_space(struct cslice file)
{
	while (file.n > 0 && (key_is_blank(file.p[0]) || file.p[0] == '\r' || file.p[0] == '\n'))
		file = after(file, 1);
	return file;
}

enum key_form key_form_of(struct cslice file)
{
	size_t at;
	file = without_leading_space(file);
	if (key_ppk_is(file))
		return starts_with(file, "PuTTY-User-Key-File-2") ? KEY_FORM_PPK2 : KEY_FORM_PPK;
	if (find(file, BEGIN V1_LABEL, &at))
		return KEY_FORM_OPENSSH;
	if (find(file, BEGIN "PRIVATE KEY", &at) || find(file, BEGIN "ENCRYPTED PRIVATE KEY", &at))
		return KEY_FORM_PKCS8;
	return find(file, BEGIN, &at) ? KEY_FORM_PEM : KEY_FORM_OPENSSH;
}

struct armoured {
	struct cslice whole; /* BEGIN line to END line, both included */
	struct cslice body;  /* between them */
	bool is_v1;
};

static err_t armour_find(struct armoured *a, struct cslice file)
{
	size_t begin, label_end, end, end_end;
	if (!find(file, BEGIN, &begin))
		return is_public(file) ? E_KEY_PUBLIC : E_KEY_FORMAT;
	struct cslice from = after(file, begin);
	struct cslice label = after(from, strlen(BEGIN));
	if (!find(label, DASHES, &label_end))
		return E_KEY_TRUNCATED;
	struct cslice behind = after(label, label_end + strlen(DASHES));
	label.n = label_end;
	if (starts_with(behind, "\\n") || starts_with(behind, "\\r"))
		return E_KEY_LINES;
	if (find(label, "PUBLIC KEY", &end))
		return E_KEY_PUBLIC;
	if (!find(label, "PRIVATE KEY", &end))
		return E_KEY_FORMAT;
	if (!find(behind, END, &end))
		return E_KEY_NO_END;
	a->body = cslice_of(behind.p, end);
	a->is_v1 = starts_with(after(from, strlen(BEGIN)), V1_LABEL);
	struct cslice tail = after(behind, end + strlen(END));
	if (tail.n < label.n + strlen(DASHES) || memcmp(tail.p, label.p, label.n) != 0 ||
		!find(after(tail, label.n), DASHES, &end_end) || end_end != 0)
		return E_KEY_NO_END;
	a->whole = cslice_of(from.p, (size_t)(tail.p - from.p) + label.n + strlen(DASHES));
	return OK;
}

/* Base64 that only stops too early is a cut file, anything else is not base64. */
static err_t body_decode(struct cslice text, struct buf *out)
{
	bool is_clean = true;
	err_t e = base64_decode(out, text, true);
	if (e != E_FORMAT)
		return e;
	for (size_t i = 0; i < text.n; i++) {
		uint8_t c = text.p[i];
		bool is_symbol = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
				 (c >= '0' && c <= '9') || c == '+' || c == '/';
		bool is_space = key_is_blank(c) || c == '\r' || c == '\n';
		is_clean = is_clean && (is_symbol || is_space);
	}
	if (is_clean)
		return E_KEY_TRUNCATED;
	size_t at;
	return find(text, "\\n", &at) ? E_KEY_LINES : E_KEY_FORMAT;
}

static err_t v1_body(struct cslice file, struct armoured *a, struct buf *body)
{
	TRY(armour_find(a, file));
	if (!a->is_v1)
		return OK;
	err_t e = body_decode(a->body, body);
	return e == OK && body->n == 0 ? E_KEY_TRUNCATED : e;
}

/* Takes what pem holds. */
static err_t key_from_pem(struct key **out, struct pem_key *pem, bool is_private)
{
	struct key *k = NULL, *checked = NULL;
	enum ec_curve c;
	err_t e = key_new(&k, pem->is_ed25519 ? KEY_ED25519 : KEY_RSA);
	if (e != OK) {
		pkey_free(pem->k);
		return e;
	}
	k->is_private = is_private;
	k->pk = pem->k;
	if (pem->is_ed25519) {
		e = key_copy_exact(
			k->seed, sizeof(k->seed), cslice_of(pem->seed, sizeof(pem->seed)));
		if (e == OK)
			e = ed25519_public(k->seed, k->pub);
	} else if (!pem->is_rsa) {
		struct buf point;
		buf_init(&point, EC_POINT_MAX);
		e = pkey_ec_parts(pem->k, &c, &point, NULL);
		buf_done(&point);
		if (e == OK)
			k->type = key_ecdsa_of(c);
	}
	/* The same limits as for a key that came in a blob. */
	if (e == OK)
		e = key_public_copy(&checked, k);
	key_free(checked);
	if (e != OK) {
		key_free(k);
		return e;
	}
	*out = k;
	return OK;
}

/* libcrypto's reader wants LF and a last line end. */
static err_t to_unix_text(struct cslice text, struct buf *out)
{
	for (size_t i = 0; i < text.n; i++)
		if (text.p[i] != '\r')
			buf_put_u8(out, text.p[i]);
	buf_put_u8(out, '\n');
	return buf_err(out);
}

static err_t pem_read(struct key **out, struct cslice text, struct cslice passphrase)
{
	struct pem_key pem = {0};
	struct key *k = NULL;
	struct buf unix_text;
	buf_init(&unix_text, KEY_FILE_MAX);
	err_t e = to_unix_text(text, &unix_text);
	if (e == OK)
		e = pem_private_read(&pem, buf_bytes(&unix_text), passphrase);
	buf_done(&unix_text);
	if (e == OK)
		e = key_from_pem(&k, &pem, true);
	wipe(&pem, sizeof(pem));
	if (e != OK)
		return e;
	*out = k;
	return OK;
}

err_t key_read_private(
	struct key **out, struct cslice file, struct cslice passphrase, struct buf *comment)
{
	struct armoured a;
	struct buf body;
	if (file.n > KEY_FILE_MAX)
		return E_LIMIT;
	file = without_leading_space(file);
	if (key_ppk_is(file))
		return key_ppk_read(out, file, passphrase, comment);
	if (key_sshcom_is(file))
		return key_sshcom_read(out, file);
	buf_init(&body, KEY_FILE_MAX);
	err_t e = v1_body(file, &a, &body);
	if (e == OK && a.is_v1)
		e = key_v1_read(out, buf_bytes(&body), passphrase, comment);
	else if (e == OK)
		e = pem_read(out, a.whole, passphrase);
	buf_done(&body);
	return e;
}

err_t key_read_private_public(struct key **out, struct cslice file, struct buf *comment)
{
	struct armoured a = {0};
	struct buf body;
	struct key *k = NULL;
	if (file.n > KEY_FILE_MAX)
		return E_LIMIT;
	file = without_leading_space(file);
	if (key_ppk_is(file))
		return key_ppk_read_public(out, file, comment);
	buf_init(&body, KEY_FILE_MAX);
	bool is_sshcom = key_sshcom_is(file);
	err_t e = is_sshcom ? key_sshcom_read(&k, file) : v1_body(file, &a, &body);
	if (e == OK && !is_sshcom && a.is_v1)
		e = key_v1_read_public(out, buf_bytes(&body), comment);
	else if (e == OK && !is_sshcom)
		e = pem_read(&k, a.whole, cslice_of(NULL, 0));
	if (e == OK && k != NULL)
		e = key_public_copy(out, k);
	key_free(k);
	buf_done(&body);
	return e;
}

err_t key_write_private(const struct key *k, const struct key_write_opts *opts, struct buf *out)
{
	size_t start = out->n;
	if (opts->form == KEY_FORM_PPK || opts->form == KEY_FORM_PPK2)
		return key_ppk_write(k, opts, out);
	if (opts->form == KEY_FORM_OPENSSH || !has_pem(k))
		return key_v1_write(k, opts, out);
	if (!k->is_private)
		return E_KEY_PUBLIC;
	if (opts->passphrase.n > 0 && opts->passphrase.n < PEM_PASSPHRASE_MIN)
		return E_PASSPHRASE_SHORT;
	err_t e = pem_private_write(
		k->pk, opts->form == KEY_FORM_PEM ? PEM_OLD : PEM_PKCS8, opts->passphrase, out);
	if (e != OK)
		out->n = start;
	return e;
}

err_t key_public_pem(const struct key *k, enum key_form form, struct buf *out)
{
	size_t start = out->n;
	if (!has_pem(k) || (form != KEY_FORM_PEM && form != KEY_FORM_PKCS8))
		return E_KEY_TYPE;
	err_t e = pem_public_write(k->pk, form == KEY_FORM_PEM ? PEM_OLD : PEM_PKCS8, out);
	if (e != OK)
		out->n = start;
	return e;
}

err_t key_parse_public_pem(struct key **out, struct cslice text)
{
	struct pem_key pem = {0};
	struct buf unix_text;
	if (text.n > KEY_FILE_MAX)
		return E_LIMIT;
	buf_init(&unix_text, KEY_FILE_MAX + 1);
	err_t e = to_unix_text(text, &unix_text);
	if (e == OK)
		e = pem_public_read(&pem.k, buf_bytes(&unix_text));
	buf_done(&unix_text);
	TRY(e);
	pem.is_rsa = pkey_is_rsa(pem.k);
	return key_from_pem(out, &pem, false);
}
