/* SPDX-License-Identifier: ISC */
/*
 * composite_shared - signatures that OpenSSH 10.5 made, and the composite of the draft
 *
 * Each signed file of the sshsig folder is checked with its key; a private key beside it signs too.
 * The draft's vector is ssh-mldsa44-ed25519 with an empty context, as SSH has it.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "key/key.h"
#include "vec.h"
#include "wire/codec.h"

#define SIGS  "openssh/sshsig/"
#define DRAFT "openssh/crypto/draft-ietf-lamps-pq-composite-sigs.json"
#define MLDSA "ssh-mldsa44-ed25519@openssh.com"
#define BEGIN "-----BEGIN SSH SIGNATURE-----"
#define END   "-----END SSH SIGNATURE-----"

static struct buf load(const char *base, const char *suffix)
{
	char path[256];
	struct buf out;
	size_t n = 0;

	(void)snprintf(path, sizeof(path), SIGS "%s%s", base, suffix);
	char *text = vec_file(path, &n);
	buf_init(&out, 1 << 20);
	if (text != NULL)
		buf_put(&out, text, n);
	free(text);
	return out;
}

/* compat 5.5: what the signature signs. */
static err_t signed_data(struct rd *r, struct cslice message, struct buf *out)
{
	struct cslice space = rd_str(r), reserved = rd_str(r), hash = rd_str(r);
	enum hash_id id = cslice_eq_str(hash, "sha256") ? HASH_SHA256 : HASH_SHA512;
	uint8_t digest[HASH_MAX];

	if (r->bad || !cslice_eq_str(space, "unittest"))
		return E_KEY_FORMAT;
	TRY(hash_once(id, message, digest));
	buf_put(out, "SSHSIG", 6);
	buf_put_string(out, space);
	buf_put_string(out, reserved);
	buf_put_string(out, hash);
	buf_put_string(out, cslice_of(digest, hash_size(id)));
	return buf_err(out);
}

static err_t sshsig_verify(struct cslice body, const struct key *pub, struct cslice message)
{
	struct rd r = rd_of(body);
	struct cslice magic = rd_take(&r, 6);
	struct key *inside = NULL;
	struct buf tbs;

	if (rd_u32(&r) != 1 || !cslice_eq_str(magic, "SSHSIG"))
		return E_KEY_FORMAT;
	TRY(key_parse_blob(&inside, rd_str(&r)));
	buf_init(&tbs, 4096);
	err_t e = signed_data(&r, message, &tbs);
	struct cslice sig = rd_str(&r);
	if (e == OK && rd_end(&r) != OK)
		e = E_KEY_FORMAT;
	if (e == OK && !key_equal_public(inside, pub))
		e = E_KEY_FORMAT;
	if (e == OK)
		e = key_verify(pub, cslice_of(NULL, 0), buf_bytes(&tbs), sig);
	buf_done(&tbs);
	key_free(inside);
	return e;
}

static err_t body_of(const struct buf *armoured, struct buf *body)
{
	const uint8_t *begin = memmem(armoured->p, armoured->n, BEGIN, sizeof(BEGIN) - 1);
	const uint8_t *end = memmem(armoured->p, armoured->n, END, sizeof(END) - 1);

	if (begin == NULL || end == NULL)
		return E_KEY_FORMAT;
	begin += sizeof(BEGIN) - 1;
	return base64_decode(body, cslice_of(begin, (size_t)(end - begin)), true);
}

static void check_signature(const char *base)
{
	struct buf sig = load(base, ".sig"), line = load(base, ".pub"),
		   data = load("signed-data", ""), body;
	struct key *pub = NULL;

	buf_init(&body, 65536);
	err_t e = key_parse_public_line(&pub, buf_bytes(&line), NULL);
	if (e == OK)
		e = body_of(&sig, &body);
	if (e == OK)
		e = sshsig_verify(buf_bytes(&body), pub, buf_bytes(&data));
	vec_check(e == OK, base, 1);
	vec_check(
		sshsig_verify(buf_bytes(&body), pub, cslice_str("other")) == E_SIGNATURE, base, 2);
	key_free(pub);
	buf_done(&body);
	buf_done(&data);
	buf_done(&line);
	buf_done(&sig);
}

/* The private file goes with the public one, and its signature is right by that. */
static void check_private(const char *base)
{
	struct buf file = load(base, ""), line = load(base, ".pub"), sig;
	struct key *k = NULL, *pub = NULL;

	buf_init(&sig, 8192);
	err_t e = key_read_private(&k, buf_bytes(&file), cslice_of(NULL, 0), NULL);
	if (e == OK)
		e = key_parse_public_line(&pub, buf_bytes(&line), NULL);
	struct cslice alg =
		cslice_str(e != OK || key_type_of(k) != KEY_RSA
				   ? key_type_name(pub != NULL ? key_type_of(pub) : KEY_RSA)
				   : "rsa-sha2-512");
	if (e == OK)
		e = key_sign(k, alg, cslice_str("message"), &sig);
	if (e == OK)
		e = key_verify(pub, alg, cslice_str("message"), buf_bytes(&sig));
	/* a FIDO key reads, belongs to its public half, and says what it lacks */
	bool is_device = pub != NULL && key_type_is_sk(key_type_of(pub));
	vec_check(k != NULL && pub != NULL && key_equal_public(k, pub), base, 4);
	vec_check(e == (is_device ? E_KEY_DEVICE : OK), base, 3);
	key_free(pub);
	key_free(k);
	buf_done(&sig);
	buf_done(&line);
	buf_done(&file);
}

static void check_folder(void)
{
	char *path = vec_path(SIGS);
	DIR *dir = opendir(path);
	size_t seen = 0;

	for (struct dirent *d = dir != NULL ? readdir(dir) : NULL; d != NULL; d = readdir(dir)) {
		char base[sizeof(d->d_name)];
		(void)snprintf(base, sizeof(base), "%s", d->d_name);
		char *dot = strrchr(base, '.');
		if (dot != NULL && strcmp(dot, ".sig") == 0) {
			*dot = '\0';
			check_signature(base);
			seen++;
		} else if (dot == NULL && strcmp(base, "namespace") != 0 &&
			   strcmp(base, "signed-data") != 0) {
			check_private(base);
		}
	}
	vec_check(seen == 7, SIGS, (int64_t)seen);
	if (dir != NULL)
		(void)closedir(dir);
	free(path);
}

static bool base64_exact(const struct json *t, const char *name, uint8_t *out, size_t n)
{
	struct buf b;

	buf_init(&b, 65536);
	bool fits = base64_decode(&b, cslice_str(json_text(json_get(t, name))), false) == OK &&
		    b.n == n;
	if (fits)
		memcpy(out, b.p, n);
	buf_done(&b);
	return fits;
}

static err_t draft_key(const uint8_t pk[1344], struct key **out)
{
	struct buf blob;

	buf_init(&blob, 8192);
	buf_put_cstring(&blob, MLDSA);
	buf_put_string(&blob, cslice_of(pk, 1344));
	err_t e = key_parse_blob(out, buf_bytes(&blob));
	buf_done(&blob);
	return e;
}

static err_t draft_verify(
	const struct key *k, const uint8_t raw[MLDSA44_SIG + 64], struct cslice message)
{
	struct buf sig;

	buf_init(&sig, 8192);
	buf_put_cstring(&sig, MLDSA);
	buf_put_string(&sig, cslice_of(raw, MLDSA44_SIG + 64));
	err_t e = key_verify(k, cslice_str(MLDSA), message, buf_bytes(&sig));
	buf_done(&sig);
	return e;
}

static void check_draft(void)
{
	struct json_doc *doc = vec_load(DRAFT);
	const struct json *root = json_root(doc);
	uint8_t pk[1344], sk[64], s[MLDSA44_SIG + 64], with_context[MLDSA44_SIG + 64], m[60],
		mldsa[MLDSA44_PK], ed[32];
	struct cslice message = {m, 44};
	struct key *k = NULL;

	bool read = base64_exact(root, "pk", pk, sizeof(pk)) &&
		    base64_exact(root, "sk", sk, sizeof(sk)) &&
		    base64_exact(root, "s", s, sizeof(s)) &&
		    base64_exact(root, "sWithContext", with_context, sizeof(with_context)) &&
		    base64_exact(root, "m", m, message.n);
	vec_check(read, DRAFT, 0);
	json_free(doc);
	if (!read)
		return;
	mldsa44_public(sk, mldsa);
	vec_check(memcmp(mldsa, pk, sizeof(mldsa)) == 0, DRAFT, 1);
	vec_check(ed25519_public(sk + 32, ed) == OK && memcmp(ed, pk + MLDSA44_PK, 32) == 0, DRAFT,
		2);
	vec_check(draft_key(pk, &k) == OK, DRAFT, 3);
	if (k == NULL)
		return;
	vec_check(draft_verify(k, s, message) == OK, DRAFT, 4);
	vec_check(draft_verify(k, with_context, message) == E_SIGNATURE, DRAFT, 5);
	vec_check(draft_verify(k, s, cslice_str("other")) == E_SIGNATURE, DRAFT, 6);
	key_free(k);
}

int main(void)
{
	vec_need_shared();
	if (crypto_init() != OK)
		return 1;
	check_folder();
	check_draft();
	return vec_done();
}
