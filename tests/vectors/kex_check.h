/* SPDX-License-Identifier: ISC */
/* kex_check - what the vectors of key exchanges share */
#ifndef TESTS_VECTORS_KEX_CHECK_H
#define TESTS_VECTORS_KEX_CHECK_H

#include "base/buf.h"
#include "json.h"

/* The bytes of a hex field; ends the program when it is none. */
struct buf kex_hex(const struct json *root, const char *field);
/* H and the keys A to F of a record, as one of the two ends computes them. */
void kex_check_role(const struct json *root, const char *name, bool is_server);

#endif
