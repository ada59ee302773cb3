/* SPDX-License-Identifier: ISC */
/*
 * pair - two engines and the wire between them, for tests
 *
 * An `end` is one engine with its own memory, randomness and notes of what it told.  pair_move
 * carries bytes from one end to the other in the pieces that the pair's `cut` rule says; questions
 * are answered from the keys of the pair.
 */
#ifndef TESTS_UNIT_TRANSPORT_PAIR_H
#define TESTS_UNIT_TRANSPORT_PAIR_H

#include "base/chunk.h"
#include "key/key.h"
#include "transport/tp.h"

#define PAIR_EVENTS_MAX 4096

enum pair_cut { PAIR_WHOLE, PAIR_BYTES, PAIR_RANDOM };

struct end {
	struct tp *tp;
	struct tp_env env;
	struct alg_policy policy;
	struct chunk_pool pool;
	struct rng_seeded rng;
	const struct key *hostkey; /* server: signs */
	struct tp_hostkey hostkeys[4];
	const struct key *hostkey_of[4];
	struct buf blobs[4];
	/* what happened */
	err_t err;
	uint8_t events[PAIR_EVENTS_MAX]; /* enum tp_ev_type */
	size_t events_n;
	struct buf msgs; /* u8 number, string body, of each TP_EV_MSG */
	uint32_t msgs_n;
	struct buf words; /* text of DEBUG, CLOSED, PRE_VERSION events, each with '\n' */
	uint32_t asked_hostkey, asked_sign, asked_group;
	err_t hostkey_verdict; /* client's answer */
	bool wrong_signature;  /* server: spoils the signature */
	bool is_late;          /* questions are left open: answer them with end_answer */
	struct tp_event question;
	bool is_questioned, reopen_on_success;
	/* instead of noting messages: the layers above take them */
	void (*on_msg)(struct end *e, const struct tp_event *ev);
	void *arg;
};

struct pair {
	struct end c, s;
	enum pair_cut cut;
	struct rng_seeded rng; /* of the wire */
	uint64_t now_us;
	size_t moved; /* bytes */
};

/* The default policy: everything that the tables offer.  Made before pair_start, to be changed by
 * the test. */
void pair_init(struct pair *p, uint64_t seed);
/* Gives the server one more host key. */
void pair_add_hostkey(struct pair *p, enum key_type type);
void pair_start(struct pair *p);
void pair_done(struct pair *p);

/* Polls an end until it has nothing to say; answers questions. */
void end_poll(struct end *e);
void end_answer(struct end *e);
/* All that `from` has ready goes to `to`; true when something moved. */
bool pair_move(struct pair *p, struct end *from, struct end *to);
/* Both ways until nothing moves. */
void pair_run(struct pair *p);
/* Bytes straight to an end, as if they came from the wire. */
void end_feed(struct end *e, const void *bytes, size_t n, enum pair_cut cut);
/* Everything that an end has ready, taken off. */
void end_take(struct end *e, struct buf *out);

uint32_t end_count(const struct end *e, enum tp_ev_type type);
/* The body of message i (from 0) and its number. */
struct cslice end_msg(const struct end *e, uint32_t i, uint8_t *number);
/* Sends IGNORE-free traffic: a global request with the given bytes. */
err_t end_say(struct end *e, const void *bytes, size_t n);
/* A message past every check of the sender: what a hostile peer can do. */
void end_force(struct end *e, uint8_t msg, const void *body, size_t n);
/* A KEXINIT of one's own in place of the engine's: its end must have wait_version when it is the
 * first.  pseudo: the names that are appended to the methods, may be NULL. */
void end_kexinit(struct end *e, const char *pseudo, bool guess);
/* Both ends are logged in, as if auth had run. */
void pair_open(struct pair *p);

#endif
