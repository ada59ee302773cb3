/* SPDX-License-Identifier: ISC */
/* startups - how many connections may be logging in: MaxStartups, PerSourceMaxStartups (compat 9.4)
 */
#include "app/sshd/startups.h"
#include "base/text.h"

enum startups_verdict startups_check(const struct cfg_startups *c, size_t n, uint32_t dice)
{
	if (n < c->start)
		return STARTUPS_TAKE;
	if (n >= c->full || c->rate >= 100)
		return STARTUPS_DROP;
	/* From `rate` per cent at start up to 100 at full, in a line. */
	uint64_t percent =
		c->rate + (uint64_t)(100 - c->rate) * (n - c->start) / (c->full - c->start);
	return dice < percent ? STARTUPS_DROP : STARTUPS_TAKE;
}

struct source source_mask(struct cslice address, const char *bits)
{
	struct source s = {.n = address.n <= 16 ? address.n : 0};
	struct cslice v4 = cslice_str(bits), v6 = {NULL, 0};
	const uint8_t *colon = memchr(v4.p, ':', v4.n);
	uint32_t keep = (uint32_t)s.n * 8, wish;
	if (colon != NULL) {
		v6 = cslice_of(colon + 1, v4.n - (size_t)(colon - v4.p) - 1);
		v4.n = (size_t)(colon - v4.p);
	}
	if (text_u32(s.n == 4 ? v4 : v6, &wish) == OK && wish < keep)
		keep = wish;
	for (size_t i = 0; i < s.n; i++) {
		uint32_t left = keep > i * 8 ? keep - (uint32_t)i * 8 : 0;
		unsigned mask = left >= 8 ? 0xffu : (0xff00u >> left) & 0xffu;
		s.bytes[i] = (uint8_t)(address.p[i] & mask);
	}
	return s;
}

bool source_eq(const struct source *a, const struct source *b)
{
	return a->n == b->n && memcmp(a->bytes, b->bytes, a->n) == 0;
}

uint32_t source_limit(const char *value)
{
	uint32_t n;
	return value != NULL && text_u32(cslice_str(value), &n) == OK ? n : UINT32_MAX;
}
