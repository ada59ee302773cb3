/* SPDX-License-Identifier: ISC */
/*
 * err - the one error type
 *
 * A function that can fail returns err_t, is MUST, and leaves its outputs untouched on failure.  A
 * question is bool; a security question is err_t with the verdict in an enum whose zero is DENY.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include "base/defs.h"

enum err_kind {
	ERR_KIND_OK,
	ERR_KIND_WAIT,
	ERR_KIND_USER,
	ERR_KIND_PEER,
	ERR_KIND_POLICY,
	ERR_KIND_LOCAL
};

#define ERR(name, kind, disconnect, text) name,
typedef enum err {
	OK = 0,
#include "base/err.def"
	ERR_N
} err_t;
#undef ERR

/* The row of an error.  err_text: borrowed for ever, a sentence without the final dot. */
const char *err_name(err_t e);
const char *err_text(err_t e);
enum err_kind err_kind_of(err_t e);
uint32_t err_disconnect(err_t e); /* RFC 4253 11.1, 0 = send none */

/* Return the error of an expression to the caller. */
#define TRY(expr)                                                                                  \
	do {                                                                                       \
		err_t try_e_ = (expr);                                                             \
		if (try_e_ != OK)                                                                  \
			return try_e_;                                                             \
	} while (0)

#endif
