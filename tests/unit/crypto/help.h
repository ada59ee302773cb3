/* SPDX-License-Identifier: ISC */
/* help - what the crypto tests share: cmocka, hex, a fixed rng */
#ifndef TESTS_UNIT_CRYPTO_HELP_H
#define TESTS_UNIT_CRYPTO_HELP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "crypto/crypto.h"

#define assert_ok(expr)     assert_string_equal(err_name(expr), "OK")
#define assert_err(expr, e) assert_string_equal(err_name(expr), #e)

static inline uint8_t help_nibble(char c)
{
	return (uint8_t)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
}

/* Writes the bytes of a hex string (blanks are skipped), gives how many. */
static inline size_t help_hex(uint8_t *out, const char *hex)
{
	size_t n = 0;
	for (; hex[0] != '\0'; hex++)
		if (hex[0] != ' ') {
			out[n++] = (uint8_t)(help_nibble(hex[0]) << 4 | help_nibble(hex[1]));
			hex++;
		}
	return n;
}

static inline void assert_hex(const uint8_t *got, const char *hex)
{
	uint8_t want[4096];
	size_t n = help_hex(want, hex);
	assert_memory_equal(got, want, n);
}

static inline int help_crypto_init(void **state)
{
	(void)state;
	return crypto_init() == OK ? 0 : -1;
}

#endif
