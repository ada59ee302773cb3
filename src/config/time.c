/* SPDX-License-Identifier: ISC */
/* time - lengths of time as they are written in files and options: 90, 2m, 1h30m.  A file of its
 * own: programs without a configuration use it too. */
#include "config/config.h"

static const struct {
	char unit;
	uint32_t seconds;
} units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 604800}};

static err_t unit_of(uint8_t c, uint64_t *seconds)
{
	for (size_t i = 0; i < ARRAY_N(units); i++) {
		if ((c | 0x20) == units[i].unit) {
			*seconds = units[i].seconds;
			return OK;
		}
	}
	return E_FORMAT;
}

err_t cfg_time(struct cslice s, int64_t *seconds)
{
	int64_t total = 0;
	if (cslice_eq_str(s, "none")) {
		*seconds = -1;
		return OK;
	}
	if (s.n == 0)
		return E_FORMAT;
	while (s.n > 0) {
		size_t n = 0;
		uint64_t v, unit = 1;
		while (n < s.n && s.p[n] >= '0' && s.p[n] <= '9')
			n++;
		TRY(text_u64(cslice_of(s.p, n), &v));
		if (n < s.n)
			TRY(unit_of(s.p[n++], &unit));
		if (v > INT32_MAX || v * unit > (uint64_t)(INT32_MAX - total))
			return E_LIMIT;
		total += (int64_t)(v * unit);
		s = cslice_of(s.p + n, s.n - n);
	}
	*seconds = total;
	return OK;
}
