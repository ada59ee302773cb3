/* SPDX-License-Identifier: ISC */
/* secret - wiping and constant-time comparison */
#include <stdlib.h>
#include <string.h>

#include "base/secret.h"

void wipe(void *p, size_t n)
{
	if (n == 0)
		return;
	memset(p, 0, n);
	__asm__ __volatile__("" : : "r"(p) : "memory");
}

void wipe_free(void *p, size_t n)
{
	if (p == NULL)
		return;
	wipe(p, n);
	free(p);
}

void secret_done(struct secret *s)
{
	wipe(s, sizeof(*s));
}

bool ct_eq(const void *a, const void *b, size_t n)
{
	const uint8_t *x = a, *y = b;
	uint8_t diff = 0;
	for (size_t i = 0; i < n; i++)
		diff |= (uint8_t)(x[i] ^ y[i]);
	__asm__ __volatile__("" : "+r"(diff));
	return diff == 0;
}
