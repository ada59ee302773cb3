/* SPDX-License-Identifier: ISC */
/*
 * mlkem_poly - arithmetic of ML-KEM on 16-bit words
 *
 * Products are reduced after Montgomery: mont(a) = a / 2^16 mod q.  The table of the powers of 17
 * carries a factor 2^16, so that a product with it comes out plain.  Bounds: mont of |a| < q * 2^15
 * is below q; seven layers of the NTT add less than q each to |c| < q, and 8q = 26632 fits int16.
 */
#include "base/secret.h"
#include "crypto/own/ct.h"
#include "crypto/own/keccak.h"
#include "crypto/own/mlkem_poly.h"

#define Q         MLKEM_Q
#define Q_INVERSE 62209U /* 1/q mod 2^16 */
#define R_SQUARE  1353   /* 2^32 mod q */
#define R_BY_128  1441   /* 2^32 / 128 mod q */

/* 17^BitRev7(i) * 2^16 mod q */
/* clang-format off */
static const int16_t zeta[128] = {
	-1044, -758, -359, -1517, 1493, 1422, 287, 202, -171, 622, 1577, 182, 962, -1202,
	-1474, 1468, 573, -1325, 264, 383, -829, 1458, -1602, -130, -681, 1017, 732, 608,
	-1542, 411, -205, -1571, 1223, 652, -552, 1015, -1293, 1491, -282, -1544, 516, -8,
	-320, -666, -1618, -1162, 126, 1469, -853, -90, -271, 830, 107, -1421, -247, -951,
	-398, 961, -1508, -725, 448, -1065, 677, -1275, -1103, 430, 555, 843, -1251, 871, 1550,
	105, 422, 587, 177, -235, -291, -460, 1574, 1653, -246, 778, 1159, -147, -777, 1483,
	-602, 1119, -1590, 644, -872, 349, 418, 329, -156, -75, 817, 1097, 603, 610, 1322,
	-1285, -1465, 384, -1215, -136, 1218, -1335, -874, 220, -1187, -1659, -1185, -1530,
	-1278, 794, -1510, -854, -870, 478, -108, -308, 996, 991, 958, -1460, 1522, 1628,
};
/* clang-format on */

static inline int16_t mont(int32_t a)
{
	int16_t t = (int16_t)((uint32_t)a * Q_INVERSE);

	return (int16_t)((a - (int32_t)t * Q) >> 16);
}

static inline int16_t mul(int16_t a, int16_t b)
{
	return mont((int32_t)a * b);
}

/* To |c| <= q/2: 20159 = round(2^26 / q). */
static inline int16_t reduce(int16_t a)
{
	int16_t t = (int16_t)(((int32_t)20159 * a + (1 << 25)) >> 26);

	return (int16_t)(a - t * Q);
}

void poly_ntt(struct poly *p)
{
	size_t k = 1;

	for (size_t half = 128; half >= 2; half /= 2) {
		for (size_t start = 0; start < MLKEM_N; start += 2 * half) {
			int16_t z = zeta[k++];
			int16_t *low = p->c + start, *high = low + half;
			for (size_t i = 0; i < half; i++) {
				int16_t t = mul(z, high[i]);
				high[i] = (int16_t)(low[i] - t);
				low[i] = (int16_t)(low[i] + t);
			}
		}
	}
	poly_reduce(p);
}

void poly_ntt_inverse(struct poly *p)
{
	size_t k = 127;

	for (size_t half = 2; half <= 128; half *= 2) {
		for (size_t start = 0; start < MLKEM_N; start += 2 * half) {
			int16_t z = zeta[k--];
			int16_t *low = p->c + start, *high = low + half;
			for (size_t i = 0; i < half; i++) {
				int16_t t = low[i];
				low[i] = reduce((int16_t)(t + high[i]));
				high[i] = mul(z, (int16_t)(high[i] - t));
			}
		}
	}
	for (size_t i = 0; i < MLKEM_N; i++)
		p->c[i] = mul(p->c[i], R_BY_128);
}

void polyvec_dot(struct poly *out, const struct polyvec *a, const struct polyvec *b)
{
	for (size_t i = 0; i < MLKEM_N; i += 2) {
		/* the modulus of a pair is x^2 -+ 17^(2 BitRev7(i/4) + 1) */
		int16_t z = zeta[64 + i / 4];
		int32_t even = 0, odd = 0, top = 0;
		for (size_t k = 0; k < MLKEM_K; k++) {
			const int16_t *x = a->v[k].c + i, *y = b->v[k].c + i;
			even += (int32_t)x[0] * y[0];
			top += (int32_t)x[1] * y[1];
			odd += (int32_t)x[0] * y[1] + (int32_t)x[1] * y[0];
		}
		int32_t wrapped = (int32_t)mont(top) * z;
		out->c[i] = mont(i % 4 == 0 ? even + wrapped : even - wrapped);
		out->c[i + 1] = mont(odd);
	}
}

void poly_unscale(struct poly *p)
{
	for (size_t i = 0; i < MLKEM_N; i++)
		p->c[i] = mul(p->c[i], R_SQUARE);
}

void poly_add(struct poly *p, const struct poly *b)
{
	for (size_t i = 0; i < MLKEM_N; i++)
		p->c[i] = (int16_t)(p->c[i] + b->c[i]);
}

void poly_reduce(struct poly *p)
{
	for (size_t i = 0; i < MLKEM_N; i++)
		p->c[i] = reduce(p->c[i]);
}

void poly_canonical(struct poly *p)
{
	for (size_t i = 0; i < MLKEM_N; i++) {
		int16_t c = reduce(p->c[i]);
		p->c[i] = (int16_t)(c + ((c >> 15) & Q));
	}
}

void poly_sample_uniform(struct poly *out, const uint8_t rho[32], uint8_t x, uint8_t y)
{
	uint8_t block[SHAKE128_RATE]; /* a multiple of 3 */
	const uint8_t place[2] = {x, y};
	struct keccak k;
	size_t n = 0;

	keccak_shake128(&k);
	keccak_absorb(&k, rho, 32);
	keccak_absorb(&k, place, 2);
	while (n < MLKEM_N) {
		keccak_squeeze(&k, block, sizeof(block));
		for (size_t i = 0; i < sizeof(block) && n < MLKEM_N; i += 3) {
			int a = block[i] | (block[i + 1] & 15) << 8;
			int b = block[i + 1] >> 4 | block[i + 2] << 4;
			if (a < Q)
				out->c[n++] = (int16_t)a;
			if (b < Q && n < MLKEM_N)
				out->c[n++] = (int16_t)b;
		}
	}
}

void poly_sample_noise(struct poly *out, const uint8_t seed[32], uint8_t nonce)
{
	uint8_t bytes[128];
	const struct cslice parts[2] = {{seed, 32}, {&nonce, 1}};

	shake256(bytes, sizeof(bytes), parts, 2);
	for (size_t i = 0; i < sizeof(bytes); i++) {
		/* pairs of bits are counted, then two counts are subtracted */
		int pairs = (bytes[i] & 0x55) + (bytes[i] >> 1 & 0x55);
		out->c[2 * i] = (int16_t)((pairs & 3) - (pairs >> 2 & 3));
		out->c[2 * i + 1] = (int16_t)((pairs >> 4 & 3) - (pairs >> 6 & 3));
	}
	wipe(bytes, sizeof(bytes));
}

void poly_pack12(uint8_t out[MLKEM_POLY_12], const struct poly *p)
{
	for (size_t i = 0; i < MLKEM_N / 2; i++) {
		uint32_t a = (uint32_t)p->c[2 * i], b = (uint32_t)p->c[2 * i + 1];
		out[3 * i] = (uint8_t)a;
		out[3 * i + 1] = (uint8_t)(a >> 8 | b << 4);
		out[3 * i + 2] = (uint8_t)(b >> 4);
	}
}

err_t poly_unpack12(struct poly *out, const uint8_t in[MLKEM_POLY_12])
{
	struct poly p;
	int32_t below = -1; /* stays negative while every coefficient is below q */

	for (size_t i = 0; i < MLKEM_N / 2; i++) {
		int a = in[3 * i] | (in[3 * i + 1] & 15) << 8;
		int b = in[3 * i + 1] >> 4 | in[3 * i + 2] << 4;
		below &= (a - Q) & (b - Q);
		p.c[2 * i] = (int16_t)a;
		p.c[2 * i + 1] = (int16_t)b;
	}
	CT_PUBLIC(&below,
		sizeof(below)); /* a secret key of our own always fits; that it fits is no secret */
	if (below >= 0)
		return E_KEX_VALUE;
	*out = p;
	wipe(&p, sizeof(p));
	return OK;
}

/*
 * round(2^bits * x / q) mod 2^bits for canonical x, without a division: some processors divide in a
 * time that depends on the number.  20642679 = floor(2^36 / q) + 1 is exact for numerators below
 * 2^24.
 */
uint32_t mlkem_compress(uint32_t x, unsigned bits)
{
	uint64_t numerator = ((uint64_t)x << bits) + Q / 2;

	return (uint32_t)(numerator * 20642679 >> 36) & ((1U << bits) - 1);
}

static inline int16_t decompress(uint32_t y, unsigned bits)
{
	return (int16_t)((y * Q + (1U << (bits - 1))) >> bits);
}

void poly_pack10(uint8_t out[MLKEM_POLY_10], const struct poly *p)
{
	for (size_t i = 0; i < MLKEM_N / 4; i++) {
		uint64_t four = 0;
		for (unsigned j = 0; j < 4; j++)
			four |= (uint64_t)mlkem_compress((uint32_t)p->c[4 * i + j], 10) << 10 * j;
		for (unsigned j = 0; j < 5; j++)
			out[5 * i + j] = (uint8_t)(four >> 8 * j);
	}
}

void poly_unpack10(struct poly *out, const uint8_t in[MLKEM_POLY_10])
{
	for (size_t i = 0; i < MLKEM_N / 4; i++) {
		uint64_t four = 0;
		for (unsigned j = 0; j < 5; j++)
			four |= (uint64_t)in[5 * i + j] << 8 * j;
		for (unsigned j = 0; j < 4; j++)
			out->c[4 * i + j] = decompress((uint32_t)(four >> 10 * j) & 1023, 10);
	}
}

void poly_pack4(uint8_t out[MLKEM_POLY_4], const struct poly *p)
{
	for (size_t i = 0; i < MLKEM_POLY_4; i++)
		out[i] = (uint8_t)(mlkem_compress((uint32_t)p->c[2 * i], 4) |
				   mlkem_compress((uint32_t)p->c[2 * i + 1], 4) << 4);
}

void poly_unpack4(struct poly *out, const uint8_t in[MLKEM_POLY_4])
{
	for (size_t i = 0; i < MLKEM_POLY_4; i++) {
		out->c[2 * i] = decompress(in[i] & 15, 4);
		out->c[2 * i + 1] = decompress(in[i] >> 4, 4);
	}
}

void poly_pack1(uint8_t out[32], const struct poly *p)
{
	for (size_t i = 0; i < 32; i++) {
		uint32_t bits = 0;
		for (unsigned j = 0; j < 8; j++)
			bits |= mlkem_compress((uint32_t)p->c[8 * i + j], 1) << j;
		out[i] = (uint8_t)bits;
	}
}

void poly_unpack1(struct poly *out, const uint8_t in[32])
{
	for (size_t i = 0; i < MLKEM_N; i++) {
		uint32_t bit = ct_hide((uint32_t)in[i / 8] >> i % 8);
		out->c[i] = (int16_t)(ct_mask32(bit) & ((Q + 1) / 2));
	}
}
