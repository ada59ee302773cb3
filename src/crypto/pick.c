/* SPDX-License-Identifier: ISC */
/*
 * pick - CPU and build -> implementation
 *
 * libipsec-mb is chosen for what it does faster than libcrypto: AES with the wide AES instructions
 * (VAES), Poly1305 with 52-bit multiplications (AVX512-IFMA).  On older CPUs the two are alike or
 * libcrypto wins (Poly1305 by far).
 */
#include <stdatomic.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include "crypto/ipsecmb/mb.h"
#include "crypto/pick.h"

/* Set by tests only; PICK_N = the CPU decides. */
static _Atomic(enum pick_impl) forced = PICK_N;

#if defined(__x86_64__)
bool cpu_has_aes(void)
{
	return __builtin_cpu_supports("aes") && __builtin_cpu_supports("pclmul");
}

/* The compiler wants a literal each. */
#define FEATURES(X)                                                                                \
	X("aes")                                                                                   \
	X("pclmul")                                                                                \
	X("avx")                                                                                   \
	X("avx2")                                                                                  \
	X("bmi2")                                                                                  \
	X("avx512f")                                                                               \
	X("avx512ifma")
#define PUT(name)                                                                                  \
	if (__builtin_cpu_supports(name))                                                          \
		buf_printf(out, "%s" name, out->n > from ? " " : "");

void cpu_features(struct buf *out)
{
	size_t from = out->n;
	uint32_t a = 0, b = 0, c = 0, d = 0;
	FEATURES(PUT)
	/* Not every compiler knows these by name: leaf 7 of CPUID. */
	if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0)
		return;
	buf_printf(out, "%s%s%s", b & bit_SHA ? " sha" : "", c & bit_VAES ? " vaes" : "",
		c & bit_VPCLMULQDQ ? " vpclmulqdq" : "");
}
#elif defined(__aarch64__) && defined(__linux__)
bool cpu_has_aes(void)
{
	return (getauxval(AT_HWCAP) & HWCAP_AES) != 0 && (getauxval(AT_HWCAP) & HWCAP_PMULL) != 0;
}

void cpu_features(struct buf *out)
{
	unsigned long has = getauxval(AT_HWCAP);
	buf_printf(out, "asimd%s%s%s%s", has & HWCAP_AES ? " aes" : "",
		has & HWCAP_PMULL ? " pmull" : "", has & HWCAP_SHA2 ? " sha2" : "",
		has & HWCAP_SHA512 ? " sha512" : "");
}
#elif defined(__aarch64__)
bool cpu_has_aes(void)
{
	return true; /* every 64-bit ARM of the other systems that this is built for */
}

void cpu_features(struct buf *out)
{
	buf_printf(out, "asimd aes pmull");
}
#else
bool cpu_has_aes(void)
{
	return false;
}

void cpu_features(struct buf *out)
{
	(void)out; /* none that is known here */
}
#endif

const char *pick_impl_name(enum pick_impl impl)
{
	return impl == PICK_IPSECMB ? "ipsec-mb" : "libcrypto";
}

/* ---- libcrypto behind the faces ---- */

static err_t lib_gcm_make(void **out, struct cslice key)
{
	struct gcm *g = NULL;
	TRY(gcm_new(&g, key));
	*out = g;
	return OK;
}

static void lib_gcm_free(void *g)
{
	gcm_free(g);
}

static err_t lib_gcm_seal(
	void *g, const uint8_t nonce[12], struct cslice aad, struct slice data, uint8_t tag[16])
{
	return gcm_seal(g, nonce, aad, data, tag);
}

static err_t lib_gcm_open(void *g, const uint8_t nonce[12], struct cslice aad, struct slice data,
	const uint8_t tag[16])
{
	return gcm_open(g, nonce, aad, data, tag);
}

static err_t lib_ctr_make(void **out, struct cslice key, const uint8_t iv[16])
{
	static const enum cipher_id ids[] = {
		CIPHER_AES128_CTR, CIPHER_AES192_CTR, CIPHER_AES256_CTR};
	struct cipher *c = NULL;
	if (key.n != 16 && key.n != 24 && key.n != 32)
		return E_BUG;
	TRY(cipher_new(&c, ids[key.n / 8 - 2], key, cslice_of(iv, 16), true));
	*out = c;
	return OK;
}

static void lib_ctr_free(void *c)
{
	cipher_free(c);
}

static err_t lib_ctr_crypt(void *c, uint64_t block, uint8_t *data, size_t n)
{
	TRY(cipher_seek(c, block));
	return cipher_crypt(c, data, data, n);
}

static err_t lib_poly1305_make(void **out)
{
	struct poly1305 *p = NULL;
	TRY(poly1305_new(&p));
	*out = p;
	return OK;
}

static void lib_poly1305_free(void *p)
{
	poly1305_free(p);
}

static err_t lib_poly1305_tag(void *p, const uint8_t key[32], struct cslice msg, uint8_t tag[16])
{
	return poly1305_tag(p, key, msg, tag);
}

static const struct pick_gcm lib_gcm = {lib_gcm_make, lib_gcm_free, lib_gcm_seal, lib_gcm_open};
static const struct pick_ctr lib_ctr = {lib_ctr_make, lib_ctr_free, lib_ctr_crypt};
static const struct pick_poly1305 lib_poly1305 = {
	lib_poly1305_make, lib_poly1305_free, lib_poly1305_tag};

/* ---- the choice ---- */

const struct pick_gcm *pick_gcm(enum pick_impl impl)
{
	return impl == PICK_IPSECMB ? mb_gcm() : &lib_gcm;
}

const struct pick_ctr *pick_ctr(enum pick_impl impl)
{
	return impl == PICK_IPSECMB ? mb_ctr() : &lib_ctr;
}

const struct pick_poly1305 *pick_poly1305(enum pick_impl impl)
{
	return impl == PICK_IPSECMB ? mb_poly1305() : &lib_poly1305;
}

const struct pick_cbc *pick_cbc(enum pick_impl impl)
{
	return impl == PICK_IPSECMB ? mb_cbc() : NULL;
}

const struct pick_hmacs *pick_hmacs(enum pick_impl impl)
{
	return impl == PICK_IPSECMB ? mb_hmacs() : NULL;
}

enum pick_impl pick_fastest(enum pick_what what)
{
	enum pick_impl want = atomic_load(&forced);
	if (want == PICK_LIBCRYPTO || !mb_runs())
		return PICK_LIBCRYPTO;
	if (want == PICK_IPSECMB)
		return PICK_IPSECMB;
	return (what == PICK_POLY1305 ? mb_has_ifma() : mb_has_vaes()) ? PICK_IPSECMB
								       : PICK_LIBCRYPTO;
}

void pick_force_impl(enum pick_impl impl)
{
	atomic_store(&forced, impl);
}
