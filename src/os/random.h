/* SPDX-License-Identifier: ISC */
/*
 * random - the real randomness: seeded by getrandom(2), fast for padding bytes, reseeded in a child
 *
 * os_rng() is the process's generator.  A fork is noticed (WIPEONFORK page) and leads to a fresh
 * seed.  It cannot fail: when the kernel gives no seed the process ends with a sentence on stderr.
 */
#ifndef OS_RANDOM_H
#define OS_RANDOM_H

#include "base/rng.h"

struct rng *os_rng(void);

#endif
