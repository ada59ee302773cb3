/* SPDX-License-Identifier: ISC */
/*
 * mldsa_poly - arithmetic and rounding of ML-DSA on 32-bit words
 *
 * Products are reduced after Montgomery: mont(a) = a / 2^32 mod q.  The table of the powers of 1753
 * carries a factor 2^32, so that a product with it comes out plain.  Bounds: mont of |a| < q * 2^31
 * is below q; eight layers of the NTT add less than q each to |c| < q; the sums of the inverse
 * double in each layer, and 256q is still below 2^31.
 */
#include "crypto/own/ct.h"
#include "crypto/own/mldsa_poly.h"

#define Q         DSA_Q
#define Q_INVERSE 58728449U /* 1/q mod 2^32 */
#define R_BY_256  41978     /* 2^64 / 256 mod q */
#define STEP      (2 * DSA_GAMMA2)
#define HIGH_N    44 /* (q-1) / STEP */

_Static_assert(HIGH_N *STEP == Q - 1, "steps");
_Static_assert(STEP == 93 << 11, "floor_step");

/* 1753^BitRev8(i) * 2^32 mod q */
/* clang-format off */
static const int32_t zeta[DSA_N] = {
	-4186625, 25847, -2608894, -518909, 237124, -777960, -876248, 466468, 1826347, 2353451,
	-359251, -2091905, 3119733, -2884855, 3111497, 2680103, 2725464, 1024112, -1079900, 3585928,
	-549488, -1119584, 2619752, -2108549, -2118186, -3859737, -1399561, -3277672, 1757237,
	-19422, 4010497, 280005, 2706023, 95776, 3077325, 3530437, -1661693, -3592148, -2537516,
	3915439, -3861115, -3043716, 3574422, -2867647, 3539968, -300467, 2348700, -539299,
	-1699267, -1643818, 3505694, -3821735, 3507263, -2140649, -1600420, 3699596, 811944, 531354,
	954230, 3881043, 3900724, -2556880, 2071892, -2797779, -3930395, -1528703, -3677745,
	-3041255, -1452451, 3475950, 2176455, -1585221, -1257611, 1939314, -4083598, -1000202,
	-3190144, -3157330, -3632928, 126922, 3412210, -983419, 2147896, 2715295, -2967645,
	-3693493, -411027, -2477047, -671102, -1228525, -22981, -1308169, -381987, 1349076, 1852771,
	-1430430, -3343383, 264944, 508951, 3097992, 44288, -1100098, 904516, 3958618, -3724342,
	-8578, 1653064, -3249728, 2389356, -210977, 759969, -1316856, 189548, -3553272, 3159746,
	-1851402, -2409325, -177440, 1315589, 1341330, 1285669, -1584928, -812732, -1439742,
	-3019102, -3881060, -3628969, 3839961, 2091667, 3407706, 2316500, 3817976, -3342478,
	2244091, -2446433, -3562462, 266997, 2434439, -1235728, 3513181, -3520352, -3759364,
	-1197226, -3193378, 900702, 1859098, 909542, 819034, 495491, -1613174, -43260, -522500,
	-655327, -3122442, 2031748, 3207046, -3556995, -525098, -768622, -3595838, 342297, 286988,
	-2437823, 4108315, 3437287, -3342277, 1735879, 203044, 2842341, 2691481, -2590150, 1265009,
	4055324, 1247620, 2486353, 1595974, -3767016, 1250494, 2635921, -3548272, -2994039, 1869119,
	1903435, -1050970, -1333058, 1237275, -3318210, -1430225, -451100, 1312455, 3306115,
	-1962642, -1279661, 1917081, -2546312, -1374803, 1500165, 777191, 2235880, 3406031, -542412,
	-2831860, -1671176, -1846953, -2584293, -3724270, 594136, -3776993, -2013608, 2432395,
	2454455, -164721, 1957272, 3369112, 185531, -1207385, -3183426, 162844, 1616392, 3014001,
	810149, 1652634, -3694233, -1799107, -3038916, 3523897, 3866901, 269760, 2213111, -975884,
	1717735, 472078, -426683, 1723600, -1803090, 1910376, -1667432, -1104333, -260646, -3833893,
	-2939036, -2235985, -420899, -2286327, 183443, -976891, 1612842, -3545687, -554416, 3919660,
	-48306, -1362209, 3937738, 1400424, -846154, 1976782,
};
/* clang-format on */

static inline int32_t mont(int64_t a)
{
	int32_t t = (int32_t)((uint32_t)a * Q_INVERSE);

	return (int32_t)((a - (int64_t)t * Q) >> 32);
}

static inline int32_t mul(int32_t a, int32_t b)
{
	return mont((int64_t)a * b);
}

/* q is near 2^23. */
static inline int32_t reduce(int32_t a)
{
	return a - ((a + (1 << 22)) >> 23) * Q;
}

/* All ones when a < 0. */
static inline int32_t negative(int32_t a)
{
	return (int32_t)ct_hide(0 - ((uint32_t)a >> 31));
}

static inline int32_t canonical(int32_t a)
{
	a = reduce(a);
	return a + (negative(a) & Q);
}

void dsa_ntt(struct dsa_poly *p)
{
	size_t k = 0;

	for (size_t half = 128; half >= 1; half /= 2) {
		for (size_t start = 0; start < DSA_N; start += 2 * half) {
			int32_t z = zeta[++k];
			int32_t *low = p->c + start, *high = low + half;
			for (size_t i = 0; i < half; i++) {
				int32_t t = mul(z, high[i]);
				high[i] = low[i] - t;
				low[i] = low[i] + t;
			}
		}
	}
}

void dsa_ntt_inverse(struct dsa_poly *p)
{
	size_t k = DSA_N;

	for (size_t half = 1; half <= 128; half *= 2) {
		for (size_t start = 0; start < DSA_N; start += 2 * half) {
			int32_t z = zeta[--k];
			int32_t *low = p->c + start, *high = low + half;
			for (size_t i = 0; i < half; i++) {
				int32_t t = low[i];
				low[i] = t + high[i];
				high[i] = mul(z, high[i] - t);
			}
		}
	}
	for (size_t i = 0; i < DSA_N; i++)
		p->c[i] = mul(p->c[i], R_BY_256);
}

void dsa_mul(struct dsa_poly *out, const struct dsa_poly *a, const struct dsa_poly *b)
{
	for (size_t i = 0; i < DSA_N; i++)
		out->c[i] = mul(a->c[i], b->c[i]);
}

void dsa_dot(struct dsa_poly *out, const struct dsa_vec *a, const struct dsa_vec *b)
{
	for (size_t i = 0; i < DSA_N; i++) {
		int64_t sum = 0;
		for (size_t k = 0; k < DSA_K; k++)
			sum += (int64_t)a->v[k].c[i] * b->v[k].c[i];
		out->c[i] = mont(sum);
	}
}

void dsa_add(struct dsa_poly *p, const struct dsa_poly *b)
{
	for (size_t i = 0; i < DSA_N; i++)
		p->c[i] += b->c[i];
}

void dsa_sub(struct dsa_poly *p, const struct dsa_poly *b)
{
	for (size_t i = 0; i < DSA_N; i++)
		p->c[i] -= b->c[i];
}

void dsa_reduce(struct dsa_poly *p)
{
	for (size_t i = 0; i < DSA_N; i++)
		p->c[i] = reduce(p->c[i]);
}

void dsa_canonical(struct dsa_poly *p)
{
	for (size_t i = 0; i < DSA_N; i++)
		p->c[i] = canonical(p->c[i]);
}

void dsa_centre(struct dsa_poly *p)
{
	for (size_t i = 0; i < DSA_N; i++) {
		int32_t c = canonical(p->c[i]);
		p->c[i] = c - (negative((Q - 1) / 2 - c) & Q);
	}
}

uint32_t dsa_reaches(const struct dsa_poly *p, int32_t bound)
{
	int32_t found = 0;

	for (size_t i = 0; i < DSA_N; i++) {
		int32_t sign = negative(p->c[i]);
		int32_t absolute = (p->c[i] ^ sign) - sign;
		found |= bound - 1 - absolute;
	}
	return (uint32_t)negative(found);
}

/* Remainders are in (-2^12, 2^12]. */
void dsa_power2round(struct dsa_poly *t1, struct dsa_poly *t0, const struct dsa_poly *t)
{
	for (size_t i = 0; i < DSA_N; i++) {
		int32_t c = t->c[i];
		int32_t high = (c + (1 << (DSA_DROPPED - 1)) - 1) >> DSA_DROPPED;
		t1->c[i] = high;
		t0->c[i] = c - high * (1 << DSA_DROPPED);
	}
}

/*
 * floor(x / STEP) for x < 2^24, without a division: some processors divide in a time that depends
 * on the number.  STEP = 93 * 2^11; 45101 = floor(2^22 / 93) + 1 is exact for numerators below
 * 2^15.
 */
static inline int32_t floor_step(int32_t x)
{
	return (int32_t)(((uint32_t)x >> 11) * 45101U >> 22);
}

/* Remainders are in (-gamma2, gamma2], except that the last half step wraps to 0. */
static inline int32_t decompose(int32_t r, int32_t *low)
{
	int32_t high = floor_step(r + DSA_GAMMA2 - 1);
	int32_t wraps = negative(HIGH_N - 1 - high);

	*low = r - high * STEP + wraps;
	return high & ~wraps;
}

void dsa_decompose(struct dsa_poly *high, struct dsa_poly *low, const struct dsa_poly *r)
{
	for (size_t i = 0; i < DSA_N; i++)
		high->c[i] = decompose(r->c[i], &low->c[i]);
}

uint32_t dsa_make_hint(struct dsa_poly *hint, const struct dsa_poly *r, const struct dsa_poly *z)
{
	uint32_t ones = 0;

	for (size_t i = 0; i < DSA_N; i++) {
		int32_t low;
		int32_t before = decompose(r->c[i], &low);
		int32_t after = decompose(canonical(r->c[i] + z->c[i]), &low);
		uint32_t one = ct_nonzero32((uint32_t)(before ^ after)) & 1;
		hint->c[i] = (int32_t)one;
		ones += one;
	}
	return ones;
}

void dsa_use_hint(struct dsa_poly *r, const struct dsa_poly *hint)
{
	for (size_t i = 0; i < DSA_N; i++) {
		int32_t low;
		int32_t high = decompose(r->c[i], &low);
		if (hint->c[i] != 0)
			high = (high + (low > 0 ? 1 : HIGH_N - 1)) % HIGH_N;
		r->c[i] = high;
	}
}
