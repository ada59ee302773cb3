/* SPDX-License-Identifier: ISC */
/*
 * sntrup_code - the mixed-radix encoding of NTRU Prime
 *
 * A list of numbers r[i] < m[i] is joined in pairs, r = r[2i] + m[2i] * r[2i+1], until one is left.
 * Whenever a modulus reaches 2^14, low bytes are written out and the modulus shrinks by 256
 * (rounded up).  The moduli are public and the same for every key; so is the place of each byte.
 * Only decoding divides, and only public bytes are decoded so.
 */
#include "base/secret.h"
#include "crypto/own/ct.h"
#include "crypto/own/sntrup_code.h"

#define P      SNTRUP_P
#define LIMIT  16384
#define ROUND  ((SNTRUP_Q + 2) / 3) /* how many multiples of 3 there are */
#define LEVELS 11
#define NODES  (761 + 381 + 191 + 96 + 48 + 24 + 12 + 6 + 3 + 2 + 1)
#define SHIFT  ((SNTRUP_Q - 1) / 2)

/* r and m are used up. */
static uint8_t *encode(uint8_t *out, uint16_t *r, uint16_t *m, size_t n)
{
	while (n > 1) {
		size_t to = 0;
		for (size_t i = 0; i + 1 < n; i += 2) {
			uint32_t value = r[i] + (uint32_t)m[i] * r[i + 1];
			uint32_t modulus = (uint32_t)m[i] * m[i + 1];
			for (; modulus >= LIMIT; modulus = (modulus + 255) >> 8, value >>= 8)
				*out++ = (uint8_t)value;
			r[to] = (uint16_t)value;
			m[to++] = (uint16_t)modulus;
		}
		if (n % 2 != 0) {
			r[to] = r[n - 1];
			m[to++] = m[n - 1];
		}
		n = to;
	}
	for (uint32_t modulus = m[0], value = r[0]; modulus > 1;
		modulus = (modulus + 255) >> 8, value >>= 8)
		*out++ = (uint8_t)value;
	return out;
}

/* What a pair left behind on the way up: low bytes already read, and their weight. */
struct low {
	uint16_t value;
	uint32_t weight;
};

/* r: n numbers below m (each; m is public). */
static void decode(uint16_t *r, uint16_t modulus_all, const uint8_t *in)
{
	/* the levels lie one behind the other */
	uint16_t m[NODES];
	struct low low[NODES] = {{0, 0}};
	size_t start[LEVELS], size[LEVELS], levels = 0;

	start[0] = 0;
	size[0] = P;
	for (size_t i = 0; i < P; i++)
		m[i] = modulus_all;
	for (; size[levels] > 1; levels++) {
		size_t from = start[levels], n = size[levels], to = from + n;
		start[levels + 1] = to;
		for (size_t i = 0; i + 1 < n; i += 2, to++) {
			uint32_t modulus = (uint32_t)m[from + i] * m[from + i + 1];
			uint32_t value = 0, weight = 1;
			for (; modulus >= LIMIT; modulus = (modulus + 255) >> 8, weight <<= 8)
				value += *in++ * weight;
			m[to] = (uint16_t)modulus;
			low[to] = (struct low){(uint16_t)value, weight};
		}
		if (n % 2 != 0)
			m[to++] = m[from + n - 1];
		size[levels + 1] = to - start[levels + 1];
	}
	uint32_t top = 0;
	for (uint32_t modulus = m[start[levels]], weight = 1; modulus > 1;
		modulus = (modulus + 255) >> 8, weight <<= 8)
		top += *in++ * weight;
	r[0] = (uint16_t)(top % m[start[levels]]);
	/* down again, from the end, so that r can hold both levels */
	while (levels-- > 0) {
		size_t from = start[levels], n = size[levels], above = start[levels + 1];
		if (n % 2 != 0)
			r[n - 1] = r[n / 2];
		for (size_t i = n / 2; i-- > 0;) {
			uint32_t value = low[above + i].value + low[above + i].weight * r[i];
			r[2 * i] = (uint16_t)(value % m[from + 2 * i]);
			r[2 * i + 1] = (uint16_t)(value / m[from + 2 * i] % m[from + 2 * i + 1]);
		}
	}
}

void small_encode(uint8_t out[SNTRUP_SMALL_BYTES], const struct small *p)
{
	for (size_t i = 0; i < SNTRUP_SMALL_BYTES; i++) {
		unsigned byte = 0;
		for (size_t j = 0; j < 4 && 4 * i + j < P; j++)
			byte |= (unsigned)(p->c[4 * i + j] + 1) << 2 * j;
		out[i] = (uint8_t)byte;
	}
}

void small_decode(struct small *out, const uint8_t in[SNTRUP_SMALL_BYTES])
{
	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < P; i++)
		out->c[i] = (int8_t)((in[i / 4] >> 2 * (i % 4) & 3) - 1);
}

void rq_encode(uint8_t out[SNTRUP_RQ_BYTES], const struct rq *p)
{
	uint16_t r[P], m[P];

	for (size_t i = 0; i < P; i++) {
		r[i] = (uint16_t)(p->c[i] + SHIFT);
		m[i] = SNTRUP_Q;
	}
	(void)encode(out, r, m, P);
	wipe(r, sizeof(r));
}

void rq_decode(struct rq *out, const uint8_t in[SNTRUP_RQ_BYTES])
{
	uint16_t r[P];

	decode(r, SNTRUP_Q, in);
	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < P; i++)
		out->c[i] = (int16_t)(r[i] - SHIFT);
}

void rounded_encode(uint8_t out[SNTRUP_ROUNDED_BYTES], const struct rq *p)
{
	uint16_t r[P], m[P];

	for (size_t i = 0; i < P; i++) {
		r[i] = (uint16_t)((uint32_t)(p->c[i] + SHIFT) * 10923 >> 15); /* a third, exactly */
		m[i] = ROUND;
	}
	(void)encode(out, r, m, P);
	wipe(r, sizeof(r));
}

void rounded_decode(struct rq *out, const uint8_t in[SNTRUP_ROUNDED_BYTES])
{
	uint16_t r[P];

	decode(r, ROUND, in);
	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < P; i++)
		out->c[i] = (int16_t)(r[i] * 3 - SHIFT);
}

static inline void order(uint32_t *a, uint32_t *b)
{
	uint32_t x = *a, y = *b;
	uint32_t less = ct_mask32((uint32_t)(((uint64_t)y - x) >> 63)); /* all ones when y < x */
	uint32_t t = (x ^ y) & less;

	*a = x ^ t;
	*b = y ^ t;
}

/* Batcher's merge exchange (Knuth 5.2.2, algorithm M): which pairs are compared depends on n only.
 */
void ct_sort_u32(uint32_t *v, size_t n)
{
	size_t top = 1;

	while (2 * top < n)
		top *= 2;
	for (size_t p = n < 2 ? 0 : top; p > 0; p /= 2) {
		size_t q = top, r = 0, d = p;
		for (;;) {
			for (size_t i = 0; i + d < n; i++) {
				if ((i & p) == r)
					order(v + i, v + i + d);
			}
			if (q == p)
				break;
			d = q - p;
			q /= 2;
			r = p;
		}
	}
}
