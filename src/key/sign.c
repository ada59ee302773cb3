/* SPDX-License-Identifier: ISC */
/* sign - which signature algorithm belongs to which key, SSH signature blobs, and the signer over a
 * key in memory */
#include <stdlib.h>

#include "key/ops.h"

/* clang-format off */
static const struct sig_alg {
	const char *name;
	enum key_type type;
	enum hash_id hash;
} algs[] = {
	/* name                             key             hash                        */
	{"ssh-ed25519",                     KEY_ED25519,    HASH_SHA512}, /* RFC8709   */
	{"sk-ssh-ed25519@openssh.com",      KEY_SK_ED25519, HASH_SHA256}, /* PROTOCOL.u2f */
	{"ssh-mldsa44-ed25519@openssh.com", KEY_MLDSA,      HASH_SHA512}, /* FIPS 204  */
	{"ecdsa-sha2-nistp256",             KEY_ECDSA_P256, HASH_SHA256}, /* RFC5656 6.2.1 */
	{"ecdsa-sha2-nistp384",             KEY_ECDSA_P384, HASH_SHA384},
	{"ecdsa-sha2-nistp521",             KEY_ECDSA_P521, HASH_SHA512},
	{"sk-ecdsa-sha2-nistp256@openssh.com", KEY_SK_ECDSA, HASH_SHA256},
	{"webauthn-sk-ecdsa-sha2-nistp256@openssh.com", KEY_SK_ECDSA, HASH_SHA256},
	{"rsa-sha2-512",                    KEY_RSA,        HASH_SHA512}, /* RFC8332   */
	{"rsa-sha2-256",                    KEY_RSA,        HASH_SHA256},
	{"ssh-rsa",                         KEY_RSA,        HASH_SHA1},   /* RFC4253 6.6 */
};
/* clang-format on */

static const struct sig_alg *alg_find(enum key_type t, struct cslice name)
{
	for (size_t i = 0; i < ARRAY_N(algs); i++)
		if (algs[i].type == t && cslice_eq_str(name, algs[i].name))
			return &algs[i];
	return NULL;
}

bool key_alg_fits(enum key_type t, struct cslice alg)
{
	return alg_find(t, alg) != NULL;
}

/* ---- certificate algorithms ---- */

/* The name is "BASE-cert-v01@openssh.com", where the plain one is BASE or BASE@openssh.com. */
static bool is_cert_name_of(struct cslice alg, const char *plain)
{
	static const char cert[] = "-cert-v01", domain[] = "@openssh.com";
	size_t plain_n = strlen(plain), domain_n = strlen(domain), cert_n = strlen(cert);
	if (plain_n > domain_n && strcmp(plain + plain_n - domain_n, domain) == 0)
		plain_n -= domain_n;
	return alg.n == plain_n + cert_n + domain_n && memcmp(alg.p, plain, plain_n) == 0 &&
	       memcmp(alg.p + plain_n, cert, cert_n) == 0 &&
	       memcmp(alg.p + plain_n + cert_n, domain, domain_n) == 0;
}

struct cslice key_alg_sig(struct cslice alg, bool *is_cert)
{
	for (size_t i = 0; i < ARRAY_N(algs); i++) {
		bool is_plain = cslice_eq_str(alg, algs[i].name);
		if (!is_plain && !is_cert_name_of(alg, algs[i].name))
			continue;
		if (is_cert != NULL)
			*is_cert = !is_plain;
		return cslice_str(algs[i].name);
	}
	return cslice_of(NULL, 0);
}

static bool fits(enum key_type t, bool has_cert, struct cslice alg)
{
	bool is_cert = !has_cert;
	struct cslice sig = key_alg_sig(alg, &is_cert);
	return sig.n > 0 && is_cert == has_cert && key_alg_fits(t, sig);
}

bool key_alg_fits_key(const struct key *k, struct cslice alg)
{
	return fits(k->type, k->cert != NULL, alg);
}

bool key_alg_fits_blob(struct cslice blob, struct cslice alg)
{
	enum key_type t;
	struct cslice name = key_blob_type(blob);
	if (key_type_from_name(name, &t))
		return fits(t, false, alg);
	return key_type_from_cert_name(name, &t) && fits(t, true, alg);
}

err_t key_sign(const struct key *k, struct cslice alg, struct cslice tbs, struct buf *sig)
{
	const struct sig_alg *a = alg_find(k->type, alg);
	if (a == NULL)
		return E_NAME;
	if (!k->is_private)
		return E_KEY_PUBLIC;
	struct buf raw;
	size_t start = sig->n;
	buf_init(&raw, KEY_SIG_MAX);
	err_t e = key_ops_of(k->type)->sign(k, a->hash, tbs, &raw);
	if (e == OK) {
		buf_put_cstring(sig, a->name);
		buf_put_string(sig, buf_bytes(&raw));
		e = buf_err(sig);
	}
	if (e != OK)
		sig->n = start;
	buf_done(&raw);
	return e;
}

err_t key_verify_info(const struct key *k, struct cslice want_alg, struct cslice tbs,
	struct cslice sig, struct key_sig_info *info)
{
	struct rd r = rd_of(sig);
	struct cslice name = rd_str(&r);
	struct cslice raw = rd_str(&r);
	struct cslice rest = rd_rest(&r);
	if (rd_end(&r) != OK)
		return E_SIGNATURE;
	/* RFC8332 3.2: the name inside is the one that was agreed; a downgrade to SHA-1 shows here.
	 */
	if (want_alg.n > 0 && !cslice_eq(name, want_alg))
		return E_SIGNATURE;
	const struct sig_alg *a = alg_find(k->type, name);
	if (a == NULL)
		return E_SIGNATURE;
	if (key_type_is_sk(k->type))
		return key_sk_verify(k, &(struct key_sk_signature){name, tbs, raw, rest}, info);
	if (rest.n > 0)
		return E_SIGNATURE;
	TRY(key_ops_of(k->type)->verify(k, a->hash, tbs, raw));
	*info = (struct key_sig_info){.is_device = false};
	return OK;
}

err_t key_verify(const struct key *k, struct cslice want_alg, struct cslice tbs, struct cslice sig)
{
	struct key_sig_info info;
	return key_verify_info(k, want_alg, tbs, sig, &info);
}

/* ---- a signer over a private key: the answer comes at once
 * -------------------------------------------------- */
struct key_signer {
	struct signer s;
	struct key *k;
};

static void key_signer_sign(struct signer *s, struct sign_req *req)
{
	const struct key_signer *ks = (const struct key_signer *)s;
	req->done(req, key_sign(ks->k, req->alg, req->tbs, req->sig));
}

static void key_signer_free(struct signer *s)
{
	struct key_signer *ks = (struct key_signer *)s;
	key_free(ks->k);
	free(ks);
}

static const struct signer_ops key_signer_ops = {key_signer_sign, key_signer_free};

err_t signer_from_key(struct signer **out, struct key *k)
{
	if (!k->is_private)
		return E_KEY_PUBLIC;
	struct key_signer *ks = calloc(1, sizeof(*ks));
	if (ks == NULL)
		return E_MEM;
	*ks = (struct key_signer){.s = {&key_signer_ops, k}, .k = k};
	*out = &ks->s;
	return OK;
}
