/* SPDX-License-Identifier: ISC */
/* store - what an agent holds: keys with their limits, and the lock */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/store.h"
#include "base/secret.h"
#include "wire/agent.h"

#define PREKEY_BYTES ((size_t)16 << 10)
#define PRIVATE_MAX  ((size_t)64 << 10)
#define LOCK_BYTES   32
#define LOCK_SALT    16
#define LOCK_ROUNDS  1
#define WAIT_STEP_US 100000u
#define WAIT_MAX_US  10000000u
#define SECOND_US    1000000u

struct ag_store {
	struct ag_store_env env;
	struct list keys;
	size_t n;
	uint8_t prekey[PREKEY_BYTES];
	bool is_locked;
	uint8_t lock_salt[LOCK_SALT], lock_hash[LOCK_BYTES];
	uint64_t wait_us, again_us;
};

err_t ag_store_new(struct ag_store **out, const struct ag_store_env *env)
{
	struct ag_store *s = calloc(1, sizeof(*s));
	if (s == NULL)
		return E_MEM;
	s->env = *env;
	list_init(&s->keys);
	rng_fill(env->rng, s->prekey, sizeof(s->prekey));
	*out = s;
	return OK;
}

void ag_store_free(struct ag_store *s)
{
	if (s == NULL)
		return;
	ag_store_clear(s);
	wipe_free(s, sizeof(*s));
}

const struct ag_store_env *ag_store_env(const struct ag_store *s)
{
	return &s->env;
}

void ag_store_say(const struct ag_store *s, enum log_level level, const char *fmt, ...)
{
	char line[1024];
	va_list ap;
	if (s->env.say == NULL)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	s->env.say(s->env.say_arg, level, line);
}

/* ---- shielding ----------------------------------------------------------------------------------
 */
static const uint8_t no_nonce[12]; /* every key has a salt of its own, used once */

static err_t shield_key(const struct ag_store *s, const uint8_t salt[32], struct gcm **out)
{
	uint8_t hash[32];
	const struct cslice parts[] = {{s->prekey, sizeof(s->prekey)}, {salt, 32}};
	err_t e = hash_parts(HASH_SHA256, parts, ARRAY_N(parts), hash);
	if (e == OK)
		e = gcm_new(out, cslice_of(hash, sizeof(hash)));
	wipe(hash, sizeof(hash));
	return e;
}

static err_t shield(struct ag_store *s, struct ag_key *a, const struct key *k)
{
	struct gcm *g = NULL;
	TRY(key_put_private_fields(k, &a->shielded));
	rng_fill(s->env.rng, a->salt, sizeof(a->salt));
	TRY(shield_key(s, a->salt, &g));
	err_t e = gcm_seal(g, no_nonce, cslice_of(NULL, 0),
		(struct slice){a->shielded.p, a->shielded.n}, a->tag);
	gcm_free(g);
	return e;
}

err_t ag_store_unshield(const struct ag_store *s, const struct ag_key *a, struct key **out)
{
	struct buf clear;
	struct gcm *g = NULL;
	struct key *k = NULL;
	buf_init(&clear, PRIVATE_MAX);
	buf_put(&clear, a->shielded.p, a->shielded.n);
	err_t e = buf_err(&clear);
	if (e == OK)
		e = shield_key(s, a->salt, &g);
	if (e == OK)
		e = gcm_open(
			g, no_nonce, cslice_of(NULL, 0), (struct slice){clear.p, clear.n}, a->tag);
	gcm_free(g);
	struct rd r = rd_of(buf_bytes(&clear));
	if (e == OK)
		e = key_read_private_fields(&k, &r);
	if (e == OK && rd_end(&r) != OK)
		e = E_BUG;
	buf_done(&clear);
	if (e != OK) {
		key_free(k);
		return e;
	}
	key_set_rng(k, s->env.rng);
	*out = k;
	return OK;
}

/* ---- keys ---------------------------------------------------------------------------------------
 */
static struct ag_key *key_at(struct list *l)
{
	return LIST_ENTRY(l, struct ag_key, link);
}

static void entry_free(struct ag_key *a)
{
	if (a == NULL)
		return;
	ag_destinations_done(&a->to);
	buf_done(&a->shielded);
	buf_done(&a->provider);
	buf_done(&a->comment);
	buf_done(&a->blob);
	wipe_free(a, sizeof(*a));
}

static err_t entry_new(struct ag_store *s, struct ag_key **out, struct key *k)
{
	struct ag_key *a = calloc(1, sizeof(*a));
	if (a == NULL)
		return E_MEM;
	buf_init(&a->blob, AGENT_FRAME_MAX);
	buf_init(&a->comment, AGENT_FRAME_MAX);
	buf_init(&a->provider, AGENT_FRAME_MAX);
	buf_init(&a->shielded, PRIVATE_MAX);
	buf_init(&a->to.bytes, AGENT_FRAME_MAX);
	a->type = key_type_of(k);
	err_t e = key_blob_any(k, &a->blob);
	/* The certificate is in the blob; without it a signature need not parse it again. */
	key_drop_cert(k);
	if (e == OK)
		e = shield(s, a, k);
	if (e != OK) {
		entry_free(a);
		return e;
	}
	*out = a;
	return OK;
}

static struct ag_key *find(const struct ag_store *s, struct cslice blob)
{
	list_each (at, tmp, &s->keys) {
		if (cslice_eq(buf_bytes(&key_at(at)->blob), blob))
			return key_at(at);
	}
	return NULL;
}

const struct ag_key *ag_store_find(const struct ag_store *s, struct cslice blob)
{
	return find(s, blob);
}

const struct ag_key *ag_store_next(const struct ag_store *s, const struct ag_key *after)
{
	struct list *next = after == NULL ? s->keys.next : after->link.next;
	return next == &s->keys ? NULL : key_at(next);
}

err_t ag_store_add(struct ag_store *s, struct key *k, struct cslice comment,
	struct ag_key_limits *limits, uint64_t now_us)
{
	struct ag_key *a = NULL;
	uint64_t lifetime_s = limits->lifetime_s != 0 ? limits->lifetime_s : s->env.lifetime_s;
	TRY(entry_new(s, &a, k));
	struct ag_key *before = find(s, buf_bytes(&a->blob));
	buf_put(&a->comment, comment.p, comment.n);
	buf_put(&a->provider, limits->provider.p, limits->provider.n);
	err_t e = before == NULL && s->n == AG_STORE_KEYS_MAX ? E_LIMIT : buf_err(&a->comment);
	if (e == OK)
		e = buf_err(&a->provider);
	if (e != OK) {
		entry_free(a);
		return e;
	}
	a->confirm = limits->confirm;
	a->dies_us = lifetime_s == 0 ? AG_NEVER : now_us + lifetime_s * SECOND_US;
	a->to = limits->to;
	limits->to = (struct ag_destinations){.bytes = {.limit = AGENT_FRAME_MAX}};
	list_push(before != NULL ? &before->link : &s->keys, &a->link);
	s->n++;
	if (before != NULL)
		ag_store_remove(s, before);
	return OK;
}

void ag_store_remove(struct ag_store *s, const struct ag_key *k)
{
	struct ag_key *a =
		key_at((struct list *)(uintptr_t)&k->link); /* ours: given as read only */
	list_remove(&a->link);
	s->n--;
	entry_free(a);
}

void ag_store_clear(struct ag_store *s)
{
	list_each (at, tmp, &s->keys)
		ag_store_remove(s, key_at(at));
}

uint64_t ag_store_expire(struct ag_store *s, uint64_t now_us)
{
	uint64_t next = AG_NEVER;
	list_each (at, tmp, &s->keys) {
		struct ag_key *a = key_at(at);
		if (a->dies_us <= now_us)
			ag_store_remove(s, a);
		else if (a->dies_us < next)
			next = a->dies_us;
	}
	return next;
}

size_t ag_store_count(const struct ag_store *s)
{
	return s->n;
}

/* ---- the lock -----------------------------------------------------------------------------------
 */
bool ag_store_is_locked(const struct ag_store *s)
{
	return s->is_locked;
}

static err_t lock_hash(const struct ag_store *s, struct cslice passphrase, uint8_t out[LOCK_BYTES])
{
	if (passphrase.n == 0)
		return E_PASSPHRASE;
	return bcrypt_pbkdf(passphrase, cslice_of(s->lock_salt, sizeof(s->lock_salt)), LOCK_ROUNDS,
		out, LOCK_BYTES);
}

err_t ag_store_lock(struct ag_store *s, struct cslice passphrase)
{
	if (s->is_locked)
		return E_PHASE;
	rng_fill(s->env.rng, s->lock_salt, sizeof(s->lock_salt));
	TRY(lock_hash(s, passphrase, s->lock_hash));
	s->is_locked = true;
	s->wait_us = 0;
	s->again_us = 0;
	return OK;
}

err_t ag_store_unlock(
	struct ag_store *s, struct cslice passphrase, uint64_t now_us, uint64_t *again_us)
{
	uint8_t hash[LOCK_BYTES] = {0};
	if (!s->is_locked)
		return E_PHASE;
	if (now_us < s->again_us) {
		*again_us = s->again_us;
		return E_AGAIN;
	}
	err_t e = lock_hash(s, passphrase, hash);
	if (e == OK && ct_eq(hash, s->lock_hash, sizeof(hash))) {
		s->is_locked = false;
		wipe(s->lock_hash, sizeof(s->lock_hash));
	} else {
		e = E_DENIED;
		s->wait_us += s->wait_us < WAIT_MAX_US ? WAIT_STEP_US : 0;
		s->again_us = now_us + s->wait_us;
		*again_us = s->again_us;
	}
	wipe(hash, sizeof(hash));
	return e;
}
