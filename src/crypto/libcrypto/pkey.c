/* SPDX-License-Identifier: ISC */
/* pkey - what RSA and EC keys of the library have in common */
#include <stdlib.h>

#include <openssl/core_names.h>

#include "crypto/libcrypto/lib.h"

void pkey_free(struct pkey *k)
{
	if (k == NULL)
		return;
	EVP_PKEY_free(k->k); /* clears private numbers */
	free(k);
}

bool pkey_is_rsa(const struct pkey *k)
{
	return k->is_rsa;
}

size_t pkey_bits(const struct pkey *k)
{
	int bits = EVP_PKEY_get_bits(k->k);
	return bits > 0 ? (size_t)bits : 0;
}

err_t lib_pkey_wrap(struct pkey **out, EVP_PKEY *k, const struct pkey *as)
{
	struct pkey *made = malloc(sizeof(*made));
	if (made == NULL) {
		EVP_PKEY_free(k);
		return E_MEM;
	}
	*made = *as;
	made->k = k;
	*out = made;
	return OK;
}

/* The library has several names for one curve, so the number of the name decides. */
static bool curve_of(const EVP_PKEY *k, enum ec_curve *out)
{
	char name[64];
	size_t n = 0;
	if (EVP_PKEY_get_utf8_string_param(k, OSSL_PKEY_PARAM_GROUP_NAME, name, sizeof(name), &n) !=
		1)
		return false;
	for (enum ec_curve c = EC_P256; c < EC_CURVE_N; c++)
		if (EVP_PKEY_is_a(k, "EC") && OBJ_txt2nid(name) == lib_curve_nid(c)) {
			*out = c;
			return true;
		}
	return false;
}

err_t lib_pkey_adopt(struct pkey **out, EVP_PKEY *k, bool is_private)
{
	struct pkey as = {.is_private = is_private, .is_rsa = EVP_PKEY_is_a(k, "RSA") == 1};
	if (!as.is_rsa && !curve_of(k, &as.curve)) {
		EVP_PKEY_free(k);
		return lib_fail(E_KEY_TYPE);
	}
	return lib_pkey_wrap(out, k, &as);
}
