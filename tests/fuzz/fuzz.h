/* SPDX-License-Identifier: ISC */
/* fuzz - what every target shares: the entry point's prototype and how to cut the input into parts
 */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stdint.h>
#include <stdlib.h>

#include "base/slice.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* A promise that the target checks about the code under test. */
#define PROMISE(x)                                                                                 \
	do {                                                                                       \
		if (!(x))                                                                          \
			abort();                                                                   \
	} while (0)

/* Takes n bytes (or what is left) off the input. */
static inline struct cslice fuzz_take(struct cslice *in, size_t n)
{
	n = num_min(n, in->n);
	struct cslice part = {in->p, n};
	*in = cslice_of(in->p + n, in->n - n);
	return part;
}

static inline uint8_t fuzz_u8(struct cslice *in)
{
	struct cslice b = fuzz_take(in, 1);
	return b.n == 1 ? b.p[0] : 0;
}

static inline uint16_t fuzz_u16(struct cslice *in)
{
	uint16_t high = fuzz_u8(in);
	return (uint16_t)(high << 8 | fuzz_u8(in));
}

static inline uint32_t fuzz_u32(struct cslice *in)
{
	uint32_t high = fuzz_u16(in);
	return high << 16 | fuzz_u16(in);
}

#endif
