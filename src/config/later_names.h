/* SPDX-License-Identifier: ISC */
/*
 * later_names - algorithm names that OpenSSH knows and this build does not have yet
 *
 * People's files name them (certificates, hardware keys, old ciphers): they are dropped from a list
 * without a fuss, while a name that nobody knows stays an error.
 */
#ifndef CONFIG_LATER_NAMES_H
#define CONFIG_LATER_NAMES_H

#include "algorithm/alg.h"

/* Appends spec without those names; prefixes (+ - ^) stay. */
void cfg_without_later_names(enum alg_kind kind, struct cslice spec, struct buf *out);

#endif
