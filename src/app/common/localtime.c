/* SPDX-License-Identifier: ISC */
/* localtime - dates in the time zone of this machine, for expiry-time of authorized_keys */
#include <time.h>

#include "app/common/localtime.h"

bool local_time(const struct ak_civil *t, uint64_t *out_s)
{
	struct tm tm = {.tm_year = (int)t->year - 1900,
		.tm_mon = (int)t->month - 1,
		.tm_mday = (int)t->day,
		.tm_hour = (int)t->hour,
		.tm_min = (int)t->minute,
		.tm_sec = (int)t->second,
		.tm_isdst = -1}; /* summer time as the zone says */
	time_t s = mktime(&tm);
	if (s < 0)
		return false;
	*out_s = (uint64_t)s;
	return true;
}
