/* SPDX-License-Identifier: ISC */
/*
 * sntrup_code - polynomials of sntrup761 as bytes, and the constant-time sort that draws short ones
 */
#ifndef CRYPTO_OWN_SNTRUP_CODE_H
#define CRYPTO_OWN_SNTRUP_CODE_H

#include "crypto/own/sntrup_ring.h"

#define SNTRUP_SMALL_BYTES   191
#define SNTRUP_RQ_BYTES      1158
#define SNTRUP_ROUNDED_BYTES 1007

void small_encode(uint8_t out[SNTRUP_SMALL_BYTES], const struct small *p);
void small_decode(struct small *out, const uint8_t in[SNTRUP_SMALL_BYTES]);
void rq_encode(uint8_t out[SNTRUP_RQ_BYTES], const struct rq *p);
void rq_decode(struct rq *out, const uint8_t in[SNTRUP_RQ_BYTES]); /* in is public */
/* The same for polynomials whose coefficients are multiples of 3. */
void rounded_encode(uint8_t out[SNTRUP_ROUNDED_BYTES], const struct rq *p);
void rounded_decode(struct rq *out, const uint8_t in[SNTRUP_ROUNDED_BYTES]); /* in is public */

/* Ascending, constant time in the values. */
void ct_sort_u32(uint32_t *v, size_t n);

#endif
