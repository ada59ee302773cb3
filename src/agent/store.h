/* SPDX-License-Identifier: ISC */
/*
 * store - what an agent holds: keys with their limits, and the lock
 *
 * Private bytes rest encrypted (AES-256-GCM) under a key that is hashed from 16 KiB of random
 * bytes: who gets at the memory by a side channel must get all of them without an error in one bit.
 * They are in clear only while a signature is made.  All connections of an agent (server.h) share
 * one store.
 */
#ifndef AGENT_STORE_H
#define AGENT_STORE_H

#include "agent/hops.h"
#include "base/list.h"
#include "base/log.h"
#include "base/rng.h"
#include "key/cert.h"

#define AG_STORE_KEYS_MAX 2048
#define AG_NEVER          UINT64_MAX

struct ag_now {
	uint64_t us;     /* of a clock that never jumps */
	uint64_t wall_s; /* of the wall, for certificates of hosts */
};

struct ag_store_env {
	struct rng *rng;       /* borrowed, as all below, until ag_store_free */
	const char *ca_algs;   /* by which a host's certificate may be signed; NULL = any */
	uint32_t lifetime_s;   /* of a key that brings none; 0 = for ever */
	const char *providers; /* patterns: paths of libraries that may be named */
	enum hash_id hash;     /* of fingerprints in questions */
	bool allow_remote;     /* libraries may be named over forwarded connections too */
	/* One line about what was refused and why; NULL: nobody listens.  Not safe to print. */
	void (*say)(void *arg, enum log_level level, const char *line);
	void *say_arg;
};

struct ag_key { /* read only outside of store.c */
	struct list link;
	struct buf blob; /* of the certificate where there is one */
	struct buf comment, provider;
	enum key_type type; /* of the plain key */
	bool confirm;
	uint64_t dies_us;
	struct ag_destinations to; /* none: not restricted */
	struct buf shielded;
	uint8_t salt[32], tag[16];
};

/* What comes with a key.  Borrowed, but `to`, which ag_store_add takes when it is OK. */
struct ag_key_limits {
	uint64_t lifetime_s; /* 0 = the store's */
	bool confirm;
	struct cslice provider;
	struct ag_destinations to;
};

struct ag_store;
MUST err_t ag_store_new(struct ag_store **out, const struct ag_store_env *env);
void ag_store_free(struct ag_store *s); /* wipes; NULL is fine */
const struct ag_store_env *ag_store_env(const struct ag_store *s);

/* Adds, or replaces the key of the same blob in its place.  k: private, maybe with a certificate
 * (taken off).  E_LIMIT: full. */
MUST err_t ag_store_add(struct ag_store *s, struct key *k, struct cslice comment,
	struct ag_key_limits *limits, uint64_t now_us);
const struct ag_key *ag_store_find(const struct ag_store *s, struct cslice blob);
/* In the order of their coming; NULL at the start gives the first, NULL comes after the last. */
const struct ag_key *ag_store_next(const struct ag_store *s, const struct ag_key *after);
void ag_store_remove(struct ag_store *s, const struct ag_key *k);
void ag_store_clear(struct ag_store *s);
/* Forgets the keys whose time is over; gives when the next one's is. */
uint64_t ag_store_expire(struct ag_store *s, uint64_t now_us);
size_t ag_store_count(const struct ag_store *s);

/* The private key in clear: key_free it at once. */
MUST err_t ag_store_unshield(const struct ag_store *s, const struct ag_key *k, struct key **out);

/* ---- the lock -----------------------------------------------------------------------------------
 * unlock: E_DENIED and, the more often, the longer until *again_us; E_AGAIN before that time. */
bool ag_store_is_locked(const struct ag_store *s);
MUST err_t ag_store_lock(struct ag_store *s, struct cslice passphrase);
MUST err_t ag_store_unlock(
	struct ag_store *s, struct cslice passphrase, uint64_t now_us, uint64_t *again_us);

void ag_store_say(const struct ag_store *s, enum log_level level, const char *fmt, ...)
	PRINTF(3, 4);

#endif
