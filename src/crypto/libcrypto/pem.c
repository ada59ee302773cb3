/* SPDX-License-Identifier: ISC */
/*
 * pem - keys in PEM (PKCS #1, SEC 1), PKCS #8 and as SubjectPublicKeyInfo
 *
 * The library asks for a passphrase only when the key is encrypted, so having been asked tells a
 * wrong passphrase from a broken file.
 */
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>

#include "crypto/libcrypto/lib.h"

/* clang-format off */
static const EVP_CIPHER *(*const pem_ciphers[])(void) = {
	EVP_aes_128_cbc, EVP_aes_192_cbc, EVP_aes_256_cbc, EVP_des_ede3_cbc,
#ifndef OPENSSL_NO_CAMELLIA
	EVP_camellia_128_cbc, EVP_camellia_192_cbc, EVP_camellia_256_cbc,
#endif
};
/* clang-format on */

struct asked {
	struct cslice passphrase;
	bool was;
};

static int give_passphrase(char *p, int cap, int for_writing, void *arg)
{
	struct asked *a = arg;
	a->was = true;
	if (for_writing || a->passphrase.n == 0 || a->passphrase.n > (size_t)cap)
		return -1;
	memcpy(p, a->passphrase.p, a->passphrase.n);
	return (int)a->passphrase.n;
}

static err_t take_ed25519(struct pem_key *out, EVP_PKEY *k)
{
	struct pem_key made = {.is_ed25519 = true};
	size_t n = sizeof(made.seed);
	bool done = EVP_PKEY_get_raw_private_key(k, made.seed, &n) == 1 && n == sizeof(made.seed);
	EVP_PKEY_free(k);
	if (done)
		*out = made;
	wipe(&made, sizeof(made));
	return done ? OK : lib_fail(E_KEY_FORMAT);
}

/* What the DEK-Info line of a PEM file may name is looked up in a table that the library does not
 * fill by itself here (lib.c).  Adding a name twice changes nothing. */
static err_t add_pem_ciphers(void)
{
	for (size_t i = 0; i < ARRAY_N(pem_ciphers); i++)
		if (EVP_add_cipher(pem_ciphers[i]()) != 1)
			return lib_fail(E_MEM);
	return OK;
}

err_t pem_private_read(struct pem_key *out, struct cslice text, struct cslice passphrase)
{
	struct asked asked = {passphrase, false};
	TRY(add_pem_ciphers());
	BIO *in = text.n <= INT32_MAX ? BIO_new_mem_buf(text.p, (int)text.n) : NULL;
	if (in == NULL)
		return lib_fail(text.n <= INT32_MAX ? E_MEM : E_KEY_FORMAT);
	EVP_PKEY *k = PEM_read_bio_PrivateKey(in, NULL, give_passphrase, &asked);
	BIO_free(in);
	if (k == NULL)
		return lib_fail(asked.was ? E_PASSPHRASE : E_KEY_FORMAT);
	if (EVP_PKEY_is_a(k, "ED25519"))
		return take_ed25519(out, k);
	struct pkey *key = NULL;
	TRY(lib_pkey_adopt(&key, k, true));
	if (!key->is_rsa && !lib_ec_is_pair(key->k)) { /* the file holds both halves */
		pkey_free(key);
		return lib_fail(E_KEY_FORMAT);
	}
	*out = (struct pem_key){.k = key, .is_rsa = key->is_rsa};
	return OK;
}

/* What was written so far goes to out when it is whole. */
static err_t give(BIO *from, bool is_whole, struct buf *out)
{
	char *text = NULL;
	long n = is_whole ? BIO_get_mem_data(from, &text) : 0;
	err_t e = n > 0 ? OK : lib_fail(E_CRYPTO);
	if (e == OK) {
		buf_put(out, text, (size_t)n);
		e = buf_err(out);
	}
	BIO_free(from);
	return e;
}

/* By the older calls: the encoders of the library look the cipher up in tables that are not filled
 * here, and not at the object that they are given. */
static int write_pkcs8(BIO *to, const struct pkey *k, struct cslice passphrase)
{
	PKCS8_PRIV_KEY_INFO *clear = EVP_PKEY2PKCS8(k->k);
	X509_SIG *locked = NULL;
	int done = 0;
	if (clear != NULL && passphrase.n == 0)
		done = PEM_write_bio_PKCS8_PRIV_KEY_INFO(to, clear);
	else if (clear != NULL)
		locked = PKCS8_encrypt(-1, EVP_aes_128_cbc(), (const char *)passphrase.p,
			(int)passphrase.n, NULL, 0, 0, clear);
	if (locked != NULL)
		done = PEM_write_bio_PKCS8(to, locked);
	X509_SIG_free(locked);
	PKCS8_PRIV_KEY_INFO_free(clear);
	return done;
}

static int write_old(BIO *to, const struct pkey *k, struct cslice passphrase)
{
	/* The library asks at the terminal when there is a cipher and no passphrase. */
	return PEM_write_bio_PrivateKey_traditional(to, k->k,
		passphrase.n > 0 ? EVP_aes_128_cbc() : NULL, passphrase.p, (int)passphrase.n, NULL,
		NULL);
}

err_t pem_private_write(
	const struct pkey *k, enum pem_form form, struct cslice passphrase, struct buf *out)
{
	if (!k->is_private)
		return E_KEY_PUBLIC;
	if (passphrase.n > INT32_MAX)
		return E_LIMIT;
	BIO *to = BIO_new(BIO_s_mem());
	if (to == NULL)
		return lib_fail(E_MEM);
	int done =
		form == PEM_PKCS8 ? write_pkcs8(to, k, passphrase) : write_old(to, k, passphrase);
	return give(to, done == 1, out);
}

/* PKCS #1 (RFC 8017 A.1.1) */
static int write_rsa_public(BIO *to, const struct pkey *k)
{
	unsigned char *der = NULL;
	int n = i2d_PublicKey(k->k, &der);
	int done = n > 0 ? PEM_write_bio(to, PEM_STRING_RSA_PUBLIC, "", der, n) : 0;
	OPENSSL_free(der);
	return done > 0;
}

err_t pem_public_write(const struct pkey *k, enum pem_form form, struct buf *out)
{
	BIO *to = BIO_new(BIO_s_mem());
	if (to == NULL)
		return lib_fail(E_MEM);
	int done = form == PEM_OLD && k->is_rsa ? write_rsa_public(to, k)
						: PEM_write_bio_PUBKEY(to, k->k);
	return give(to, done == 1, out);
}

static EVP_PKEY *read_rsa_public(BIO *in)
{
	unsigned char *der = NULL;
	long n = 0;
	if (PEM_bytes_read_bio(&der, &n, NULL, PEM_STRING_RSA_PUBLIC, in, NULL, NULL) != 1)
		return NULL;
	const unsigned char *at = der;
	EVP_PKEY *k = d2i_PublicKey(EVP_PKEY_RSA, NULL, &at, n);
	OPENSSL_free(der);
	return k;
}

err_t pem_public_read(struct pkey **out, struct cslice text)
{
	static const char old[] = "-----BEGIN " PEM_STRING_RSA_PUBLIC "-----";
	BIO *in = text.n > 0 && text.n <= INT32_MAX ? BIO_new_mem_buf(text.p, (int)text.n) : NULL;
	if (in == NULL)
		return lib_fail(text.n > 0 && text.n <= INT32_MAX ? E_MEM : E_KEY_FORMAT);
	bool is_old = memmem(text.p, text.n, old, sizeof(old) - 1) != NULL;
	EVP_PKEY *k = is_old ? read_rsa_public(in) : PEM_read_bio_PUBKEY(in, NULL, NULL, NULL);
	BIO_free(in);
	if (k == NULL)
		return lib_fail(E_KEY_FORMAT);
	return lib_pkey_adopt(out, k, false);
}
