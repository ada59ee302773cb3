/* SPDX-License-Identifier: ISC */
/* moduli - the lines of moduli files (compat 5.7), as -M makes and screens them */
#ifndef APP_SSH_KEYGEN_MODULI_H
#define APP_SSH_KEYGEN_MODULI_H

#include "app/ssh-keygen/kg.h"

enum { MODULI_SAFE = 2, MODULI_GERMAIN = 4 };                    /* type */
enum { MODULI_COMPOSITE = 1, MODULI_SIEVED = 2, MODULI_MR = 4 }; /* tests */
#define MODULI_BYTES_MAX 2048

struct moduli_line {
	uint32_t type, tests, trials, size, generator;
	uint8_t n[MODULI_BYTES_MAX]; /* big-endian, no leading zero */
	size_t n_n;
};
/* False: no line of numbers (a comment, or out of form). */
bool moduli_parse(struct cslice text, struct moduli_line *out);
MUST err_t moduli_put(const struct moduli_line *l, uint64_t now_s, struct buf *out);
uint32_t moduli_bits(const struct moduli_line *l);
/* Hex digits to a number without leading zeros. */
bool moduli_number(struct cslice hex, struct moduli_line *out);

#endif
