/* SPDX-License-Identifier: ISC */
/*
 * exchange - may a host key sign this key exchange?
 *
 * The asker hands in what goes into the exchange hash (RFC 4253 8) and not the hash, so that the
 * monitor signs nothing but a hash that it has computed itself, over an exchange of this host, with
 * this key, between these two versions.
 */
#ifndef APP_SSHD_EXCHANGE_H
#define APP_SSHD_EXCHANGE_H

#include "algorithm/alg.h"

#define EXCHANGE_MAX         ((size_t)256 * 1024)
#define EXCHANGE_KEXINIT_MAX 35000u
#define EXCHANGE_VERSION_MAX 8192u

struct exchange_rule {
	struct cslice client_version; /* of the connection; empty: this is its first exchange */
	struct cslice server_version;
	struct cslice hostkey;     /* blob of the key that is to sign */
	struct cslice hostkey_alg; /* how it is to sign */
	struct cslice kex_algs;    /* methods that this server offers */
};

struct exchange {
	struct cslice client_version; /* inside the transcript */
	uint8_t hash[HASH_MAX];
	size_t hash_n;
};

/*
 * exchange_check - the exchange hash, when it may be signed
 *
 * transcript: V_C V_S I_C I_S K_S, the values of the method, K.  Method and host key algorithm are
 * those on which the two KEXINITs agree.
 *
 * E_LENGTH, E_FORMAT, E_TRAILING   not the form of an exchange
 * E_DENIED                         an exchange that is not for this rule; the log says why
 */
MUST err_t exchange_check(
	struct cslice transcript, const struct exchange_rule *rule, struct exchange *out);

#endif
