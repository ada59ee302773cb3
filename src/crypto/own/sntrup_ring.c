/* SPDX-License-Identifier: ISC */
/*
 * sntrup_ring - multiplication as dot products, inversion as division steps
 *
 * Multiplication: x^p = x + 1, so coefficient k of a*b is the sum over i of a[i] * t[k-i], where
 * t[d] is b[d], and b[d+p] + b[d+p-1] for what wraps around (d = 0: b[0] + b[p-1]; k = 0 has no
 * x^(p-1+k) term and is put right afterwards).  Laid out backwards, each coefficient is one dot
 * product of 16-bit words.
 *
 * Inversion: Bernstein and Yang, "Fast constant-time gcd computation and modular inversion", 2p-1
 * division steps on the reversed polynomials.  A step may scale g and r by the same unit, since
 * only the ratio v/f is used. v and r are stored backwards (index j holds the coefficient of
 * x^(p-j)), so that all shifts go down.
 */
#include "base/secret.h"
#include "crypto/own/ct.h"
#include "crypto/own/sntrup_ring.h"

#define P     SNTRUP_P
#define Q     SNTRUP_Q
#define PAD   SNTRUP_PAD
#define STEPS (2 * P - 1)

int16_t sntrup_mod_q(int32_t a)
{
	/* 239492840 = round(2^40 / q): the quotient is the nearest one for |a| < 2^27 */
	int32_t quotient = (int32_t)(((int64_t)a * 239492840 + ((int64_t)1 << 39)) >> 40);

	return (int16_t)(a - quotient * Q);
}

int8_t sntrup_mod_3(int32_t a)
{
	/* 1431655765 = floor(2^32 / 3): the quotient is the nearest one */
	int32_t quotient = (int32_t)(((int64_t)a * 1431655765 + ((int64_t)1 << 31)) >> 32);

	return (int8_t)(a - quotient * 3);
}

/* Sum over i of a[i] * t[k-i] for every k; a's padding is zero. */
static void convolve(int32_t out[P], const int16_t a[PAD], const struct small *b)
{
	int16_t back[P + PAD] = {0}; /* back[P-1-d] = t[d], d from P-1 down to 1-P */

	for (int d = 1; d < P; d++) {
		back[P - 1 - d] = b->c[d];
		back[P - 1 + d] = (int16_t)(b->c[P - d] + b->c[P - 1 - d]);
	}
	back[P - 1] = (int16_t)(b->c[0] + b->c[P - 1]);
	for (size_t k = 0; k < P; k++) {
		const int16_t *t = back + P - 1 - k;
		int32_t sum = 0;
		for (size_t i = 0; i < PAD; i++)
			sum += (int32_t)a[i] * t[i];
		out[k] = sum;
	}
	/* k = 0: take back b[p-1-i] */
	for (size_t i = 0; i < P; i++)
		out[0] -= (int32_t)a[i] * b->c[P - 1 - i];
	wipe(back, sizeof(back));
}

void rq_mul_small(struct rq *out, const struct rq *a, const struct small *b)
{
	int32_t sum[P];

	convolve(sum, a->c, b);
	for (size_t i = 0; i < P; i++)
		out->c[i] = sntrup_mod_q(sum[i]);
	for (size_t i = P; i < PAD; i++)
		out->c[i] = 0;
	wipe(sum, sizeof(sum));
}

void small_mul(struct small *out, const struct small *a, const struct small *b)
{
	int32_t sum[P];
	int16_t wide[PAD];

	for (size_t i = 0; i < PAD; i++)
		wide[i] = a->c[i];
	convolve(sum, wide, b);
	for (size_t i = 0; i < P; i++)
		out->c[i] = sntrup_mod_3(sum[i]);
	for (size_t i = P; i < PAD; i++)
		out->c[i] = 0;
	wipe(sum, sizeof(sum));
	wipe(wide, sizeof(wide));
}

/* All ones when delta > 0 and g0 is not 0: then f and g change places. */
static uint32_t step_swap(int32_t *delta, int32_t g0)
{
	uint32_t swap = ct_mask32(ct_hide((uint32_t) - *delta >> 31)) & ct_nonzero32((uint32_t)g0);

	*delta = (*delta ^ (int32_t)(swap & (uint32_t)(*delta ^ -*delta))) + 1;
	return swap;
}

/* In R/3 the multiplier of g may be 1: f0 is its own inverse.  c is g0/f0, one of -1, 0, 1. */
static inline int8_t small_sub(int8_t a, int8_t b, int8_t sign, int8_t nonzero)
{
	int8_t d = (int8_t)(a - (((b ^ sign) - sign) & nonzero));

	d = (int8_t)(d - (3 & -(d > 1)));
	return (int8_t)(d + (3 & -(d < -1)));
}

struct small_steps {
	int8_t f[PAD + 16], g[PAD + 16], v[PAD + 16], r[PAD + 16];
};

static void small_step(struct small_steps *restrict w, int32_t *delta)
{
	int8_t swap = (int8_t)step_swap(delta, w->g[0]);
	int8_t t = (int8_t)(swap & (w->f[0] ^ w->g[0]));
	int8_t f0 = (int8_t)(w->f[0] ^ t), g0 = (int8_t)(w->g[0] ^ t);
	int8_t c = (int8_t)(f0 * g0), sign = (int8_t)(c >> 7), nonzero = (int8_t) - (c & 1);
	int8_t *restrict f = w->f, *restrict g = w->g, *restrict v = w->v, *restrict r = w->r;

	f[0] = f0;
	for (size_t i = 0; i < PAD; i++) {
		int8_t x = f[i + 1], y = g[i + 1], z = (int8_t)(swap & (x ^ y));
		x = (int8_t)(x ^ z);
		y = (int8_t)(y ^ z);
		f[i + 1] = x;
		g[i] = small_sub(y, x, sign, nonzero);
	}
	for (size_t i = 0; i < PAD; i++) {
		int8_t x = v[i + 1], y = r[i], z = (int8_t)(swap & (x ^ y));
		x = (int8_t)(x ^ z);
		y = (int8_t)(y ^ z);
		v[i] = x;
		r[i] = small_sub(y, x, sign, nonzero);
	}
}

uint32_t small_inverse(struct small *out, const struct small *a)
{
	struct small_steps w = {.f = {[0] = 1, [P - 1] = -1, [P] = -1}};
	int32_t delta = 1;

	for (size_t i = 0; i < P; i++)
		w.g[i] = a->c[P - 1 - i];
	w.r[P] = 1;
	for (size_t i = 0; i < STEPS; i++)
		small_step(&w, &delta);
	for (size_t i = 0; i < P; i++)
		out->c[i] = (int8_t)(w.f[0] * w.v[i + 1]);
	for (size_t i = P; i < PAD; i++)
		out->c[i] = 0;
	wipe(&w, sizeof(w));
	return ct_nonzero32((uint32_t)delta);
}

#define Q_INVERSE 15631U /* 1/q mod 2^16 */

/* a / 2^16 mod q; |a| < q * 2^15 gives a result below q. */
static inline int16_t mont(int16_t a, int16_t b)
{
	int32_t product = (int32_t)a * b;
	int16_t t = (int16_t)((uint32_t)product * Q_INVERSE);

	return (int16_t)((product >> 16) - (((int32_t)t * Q) >> 16));
}

/* f0*a - g0*b, scaled; below 2q, and so is what may come in: 2q * q/2 < q * 2^15. */
static inline int16_t rq_sub(int16_t a, int16_t b, int16_t f0, int16_t g0)
{
	return (int16_t)(mont(f0, a) - mont(g0, b));
}

struct rq_steps {
	int16_t f[PAD + 8], g[PAD + 8], v[PAD + 8], r[PAD + 8];
};

static void rq_step(struct rq_steps *restrict w, int32_t *delta)
{
	int16_t g_first = sntrup_mod_q(w->g[0]), f_first = sntrup_mod_q(w->f[0]);
	int16_t swap = (int16_t)step_swap(delta, g_first);
	int16_t t = (int16_t)(swap & (f_first ^ g_first));
	int16_t f0 = (int16_t)(f_first ^ t), g0 = (int16_t)(g_first ^ t);
	int16_t *restrict f = w->f, *restrict g = w->g, *restrict v = w->v, *restrict r = w->r;

	f[0] = f0;
	for (size_t i = 0; i < PAD; i++) {
		int16_t x = f[i + 1], y = g[i + 1], z = (int16_t)(swap & (x ^ y));
		x = (int16_t)(x ^ z);
		y = (int16_t)(y ^ z);
		f[i + 1] = x;
		g[i] = rq_sub(y, x, f0, g0);
	}
	for (size_t i = 0; i < PAD; i++) {
		int16_t x = v[i + 1], y = r[i], z = (int16_t)(swap & (x ^ y));
		x = (int16_t)(x ^ z);
		y = (int16_t)(y ^ z);
		v[i] = x;
		r[i] = rq_sub(y, x, f0, g0);
	}
}

/* a^(q-2): the exponent is public. */
static int16_t inverse_mod_q(int16_t a)
{
	int16_t power = 1;

	for (int bit = 12; bit >= 0; bit--) {
		power = sntrup_mod_q((int32_t)power * power);
		if ((Q - 2) >> bit & 1)
			power = sntrup_mod_q((int32_t)power * a);
	}
	return power;
}

void rq_inverse_3(struct rq *out, const struct small *a)
{
	struct rq_steps w = {.f = {[0] = 1, [P - 1] = -1, [P] = -1}};
	int32_t delta = 1;

	for (size_t i = 0; i < P; i++)
		w.g[i] = a->c[P - 1 - i];
	w.r[P] = inverse_mod_q(3);
	for (size_t i = 0; i < STEPS; i++)
		rq_step(&w, &delta);
	int16_t scale = inverse_mod_q(sntrup_mod_q(w.f[0]));
	for (size_t i = 0; i < P; i++)
		out->c[i] = sntrup_mod_q((int32_t)scale * sntrup_mod_q(w.v[i + 1]));
	for (size_t i = P; i < PAD; i++)
		out->c[i] = 0;
	wipe(&w, sizeof(w));
}
