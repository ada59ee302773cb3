/* SPDX-License-Identifier: ISC */
/*
 * faults - calls of the library fail on command
 *
 * The linker sends every call from our code (not those inside the library) through faults.c
 * (--wrap, list in meson.build).  Calls are counted; the n-th one fails with the value that a
 * failure of that function has.
 */
#ifndef TESTS_UNIT_CRYPTO_FAULTS_H
#define TESTS_UNIT_CRYPTO_FAULTS_H

#include "base/err.h"

/* Let the n-th call from now on fail (1 = the next), 0 = none.  negative: int functions give -1 and
 * not 0. */
void faults_arm(size_t n, bool negative);
/* Name of the function that failed since faults_arm, NULL when none did. */
const char *faults_hit(void);

typedef err_t fault_op(void);
/* Runs op with each of its calls failing in turn, until it runs through; checks that no run is a
 * success. */
void faults_sweep(const char *name, fault_op *op);

/* How many of the wrapped functions have failed at least once, and how many there are. */
size_t faults_seen(size_t *all);

/* Calls of malloc and calloc by our code so far. */
size_t faults_allocations(void);

#endif
