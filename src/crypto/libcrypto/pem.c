/* SPDX-License-Identifier: ISC */
/*
 * pem - private keys in PEM (PKCS #1, SEC 1) and PKCS #8, plain or encrypted
 *
 * The library asks for a passphrase only when the key is encrypted, so having been asked tells a
 * wrong passphrase from a broken file.
 */
#include <openssl/bio.h>
#include <openssl/pem.h>

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
