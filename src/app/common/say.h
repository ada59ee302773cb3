/* SPDX-License-Identifier: ISC */
/* say - text for people: what stands in it of files, peers and arguments never steers a terminal */
#ifndef APP_COMMON_SAY_H
#define APP_COMMON_SAY_H

#include <stdarg.h>
#include <stdio.h>

#include "base/slice.h"

/* With control bytes as \ooo, line ends kept; what was escaped before stays as it is. */
void say_text(FILE *to, struct cslice text);
void say_format(FILE *to, const char *fmt, va_list ap);

#endif
