/* SPDX-License-Identifier: ISC */
/* defs - the three attributes that the style allows, and the includes that every file needs */
#ifndef BASE_DEFS_H
#define BASE_DEFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MUST               __attribute__((warn_unused_result))
#define NORETURN           __attribute__((noreturn))
#define PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))

#define ARRAY_N(a) (sizeof(a) / sizeof((a)[0]))

#endif
