/* SPDX-License-Identifier: ISC */
/* prime - what the making of Diffie-Hellman groups needs of big numbers */
#include "crypto/libcrypto/lib.h"

/* One call of the library makes 64 tests of a number up to 2,048 bits and 128 of a larger one. */
#define TESTS_A_CALL 64

err_t prime_remainder(struct cslice n, uint32_t divisor, uint32_t *out)
{
	BIGNUM *bn = divisor != 0 ? lib_bn(n) : NULL;
	if (bn == NULL)
		return lib_fail(divisor != 0 ? E_MEM : E_USAGE);
	BN_ULONG r = BN_mod_word(bn, divisor);
	BN_free(bn);
	if (r >= divisor)
		return lib_fail(E_CRYPTO);
	*out = (uint32_t)r;
	return OK;
}

err_t prime_remainders(struct cslice n, const uint32_t *divisors, size_t divisors_n, uint32_t *out)
{
	BIGNUM *bn = lib_bn(n);
	err_t e = OK;
	if (bn == NULL)
		return lib_fail(E_MEM);
	for (size_t i = 0; e == OK && i < divisors_n; i++) {
		BN_ULONG r = divisors[i] != 0 ? BN_mod_word(bn, divisors[i]) : (BN_ULONG)-1;
		if (r >= divisors[i])
			e = lib_fail(E_CRYPTO);
		else
			out[i] = (uint32_t)r;
	}
	BN_free(bn);
	return e;
}

err_t prime_test(struct cslice n, uint32_t tests, bool *is_prime)
{
	BIGNUM *bn = lib_bn(n);
	BN_CTX *ctx = BN_CTX_new();
	int found = bn != NULL && ctx != NULL ? 1 : -1;
	for (uint32_t done = 0; found == 1 && done < tests; done += TESTS_A_CALL)
		found = BN_check_prime(bn, ctx, NULL);
	BN_CTX_free(ctx);
	BN_free(bn);
	if (found < 0)
		return lib_fail(E_CRYPTO);
	*is_prime = found == 1;
	return OK;
}
