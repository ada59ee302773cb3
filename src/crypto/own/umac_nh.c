/* SPDX-License-Identifier: ISC */
/*
 * umac_nh - NH in plain C, and with the 256-bit vectors of x86-64
 *
 * A product needs word i and word i + 4 of a chunk.  The vector form takes two chunks: one vector
 * of their first halves, one of their second halves, so that a multiplication makes four products
 * and no word moves within a half.  The half chunks of the key do the same, and each of them serves
 * two streams: as second half in one and as first half in the next.
 */
#include "crypto/own/umac_nh.h"

/* 5.2.2: message words are little-endian */
static inline uint32_t le32_get(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline void plain_stream(uint64_t *sum, const uint32_t *key, const uint8_t *m, size_t n)
{
	uint64_t total = *sum;

	for (; n >= UMAC_CHUNK; n -= UMAC_CHUNK, m += UMAC_CHUNK, key += UMAC_CHUNK / 4) {
		for (size_t i = 0; i < 4; i++)
			total += (uint64_t)(le32_get(m + 4 * i) + key[i]) *
				 (le32_get(m + 4 * i + 16) + key[i + 4]);
	}
	*sum = total;
}

static void plain_2(uint64_t *sum, const uint32_t *key, const uint8_t *m, size_t n)
{
	for (size_t s = 0; s < 2; s++)
		plain_stream(&sum[s], key + 4 * s, m, n);
}

static void plain_4(uint64_t *sum, const uint32_t *key, const uint8_t *m, size_t n)
{
	for (size_t s = 0; s < 4; s++)
		plain_stream(&sum[s], key + 4 * s, m, n);
}

umac_nh_fn *umac_nh_plain(size_t streams)
{
	return streams == 2 ? plain_2 : plain_4;
}

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX2   __attribute__((target("avx2")))
#define INLINE static inline __attribute__((always_inline)) AVX2

/* The half chunk at p and the one a chunk later. */
INLINE __m256i halves(const void *p)
{
	const uint8_t *at = p;
	__m128i low = _mm_loadu_si128((const __m128i *)at);

	return _mm256_inserti128_si256(_mm256_castsi128_si256(low),
		_mm_loadu_si128((const __m128i *)(at + UMAC_CHUNK)), 1);
}

/* One stream's products, with the two half chunks of its key, are added to sum. */
INLINE __m256i stream(__m256i sum, const __m256i m[2], __m256i k, __m256i k_next)
{
	__m256i a = _mm256_add_epi32(m[0], k), b = _mm256_add_epi32(m[1], k_next);
	__m256i even = _mm256_mul_epu32(a, b),
		odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), _mm256_srli_epi64(b, 32));

	return _mm256_add_epi64(sum, _mm256_add_epi64(even, odd));
}

INLINE uint64_t total(__m256i sum)
{
	uint64_t part[4];

	_mm256_storeu_si256((__m256i *)part, sum);
	return part[0] + part[1] + part[2] + part[3];
}

/* What is left below two chunks. */
static void rest(uint64_t *sum, size_t streams, const uint32_t *key, struct cslice m)
{
	for (size_t s = 0; m.n > 0 && s < streams; s++)
		plain_stream(&sum[s], key + 4 * s, m.p, m.n);
}

AVX2 static void avx2_2(uint64_t *sum, const uint32_t *key, const uint8_t *m, size_t n)
{
	__m256i s0 = _mm256_setzero_si256(), s1 = s0;

	for (; n >= 2 * UMAC_CHUNK; n -= 2 * UMAC_CHUNK) {
		__m256i in[2] = {halves(m), halves(m + 16)};
		__m256i k1 = halves(key + 4);
		s0 = stream(s0, in, halves(key), k1);
		s1 = stream(s1, in, k1, halves(key + 8));
		m += 2 * UMAC_CHUNK;
		key += 2 * UMAC_CHUNK / 4;
	}
	sum[0] += total(s0);
	sum[1] += total(s1);
	rest(sum, 2, key, cslice_of(m, n));
}

AVX2 static void avx2_4(uint64_t *sum, const uint32_t *key, const uint8_t *m, size_t n)
{
	__m256i s0 = _mm256_setzero_si256(), s1 = s0, s2 = s0, s3 = s0;

	for (; n >= 2 * UMAC_CHUNK; n -= 2 * UMAC_CHUNK) {
		__m256i in[2] = {halves(m), halves(m + 16)};
		__m256i k1 = halves(key + 4), k2 = halves(key + 8), k3 = halves(key + 12);
		s0 = stream(s0, in, halves(key), k1);
		s1 = stream(s1, in, k1, k2);
		s2 = stream(s2, in, k2, k3);
		s3 = stream(s3, in, k3, halves(key + 16));
		m += 2 * UMAC_CHUNK;
		key += 2 * UMAC_CHUNK / 4;
	}
	sum[0] += total(s0);
	sum[1] += total(s1);
	sum[2] += total(s2);
	sum[3] += total(s3);
	rest(sum, 4, key, cslice_of(m, n));
}

umac_nh_fn *umac_nh_pick(size_t streams)
{
	if (!__builtin_cpu_supports("avx2"))
		return umac_nh_plain(streams);
	return streams == 2 ? avx2_2 : avx2_4;
}
#else
umac_nh_fn *umac_nh_pick(size_t streams)
{
	return umac_nh_plain(streams);
}
#endif
