/* SPDX-License-Identifier: ISC */
/* localtime - dates in the time zone of this machine, for expiry-time of authorized_keys */
#ifndef APP_COMMON_LOCALTIME_H
#define APP_COMMON_LOCALTIME_H

#include "key/authorized_keys.h"

/* For struct ak_query: seconds since 1970 of a local date; false when there is no such time. */
bool local_time(const struct ak_civil *t, uint64_t *out_s);

#endif
