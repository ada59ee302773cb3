/* SPDX-License-Identifier: ISC */
/* rig - an agent without a socket, and who asks it, for the tests of src/agent */
#ifndef TESTS_UNIT_AGENT_RIG_H
#define TESTS_UNIT_AGENT_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "agent/ask.h"
#include "agent/server.h"
#include "wire/agent.h"

#define assert_ok(e) assert_string_equal(err_name(e), err_name(OK))

struct rig {
	struct rng_seeded rng;
	struct ag_store_env env;
	struct ag_store *store;
	struct ag_now now;
	char said[1024]; /* the last line */
};
void rig_start(struct rig *r);
void rig_stop(struct rig *r);

struct ag *rig_connect(struct rig *r);
struct key *rig_key(struct rig *r, enum key_type t);
/* The blob of a key, its certificate's where there is one; the slice lives until the test ends. */
struct cslice rig_blob(const struct key *k);
void rig_forget(void);

/* Puts a whole frame in and polls.  E_AGAIN: no answer yet. */
err_t rig_put(struct rig *r, struct ag *a, struct cslice frame, struct ag_event *ev);
/* The number of the answer that is ready, its body appended; 0 = none is.  It is sent by that. */
uint8_t rig_take(struct ag *a, struct buf *body);
/* Both: the frame is cleared. */
uint8_t rig_ask(struct rig *r, struct ag *a, struct buf *frame, struct buf *body);
/* A message without checks of its body. */
void rig_raw(struct buf *frame, uint8_t no, const void *body, size_t n);

uint8_t rig_add(struct rig *r, struct ag *a, const struct key *k, const struct ag_limits *l);
/* Signs `tbs`, and checks the signature when there is one. */
uint8_t rig_sign(struct rig *r, struct ag *a, const struct key *k, struct cslice tbs);
uint32_t rig_count(struct rig *r, struct ag *a); /* keys that are listed */
uint8_t rig_bind(struct rig *r, struct ag *a, const struct key *host, const char *session,
	bool is_forwarding);
/* What a login signs; hostkey NULL: the old method. */
struct rig_login {
	const char *session, *user;
	const struct key *key, *host;
};
void rig_login(struct buf *out, const struct rig_login *l);

#endif
