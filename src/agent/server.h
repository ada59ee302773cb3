/* SPDX-License-Identifier: ISC */
/*
 * server - one connection of an agent: bytes in, questions out, bytes out
 *
 *     loop:   read(2) into ag_space, ag_fed;
 *             ag_poll until it gives AG_EV_NONE; AG_EV_CONFIRM is answered by ag_answer, now or
 * later; write(2) ag_ready, ag_sent
 *
 * A request is done when the reply to the one before is sent, and nothing is read meanwhile that
 * has no room: a client that never reads costs one reply and one request.  Nothing here waits:
 * while a person is asked, or an unlocking that failed has its pause, the other connections go on.
 */
#ifndef AGENT_SERVER_H
#define AGENT_SERVER_H

#include "agent/store.h"

struct ag;

enum ag_event_type {
	AG_EV_NONE,
	AG_EV_CONFIRM /* may this key be used?  question: for a person, safe to print, several lines
		       */
};
struct ag_event {
	enum ag_event_type type;
	uint32_t ask;
	const char *question; /* borrowed until the answer */
};

/* store: borrowed until ag_free. */
MUST err_t ag_new(struct ag **out, struct ag_store *store);
void ag_free(struct ag *a); /* NULL is fine */

struct slice ag_space(struct ag *a); /* n 0: not now */
void ag_fed(struct ag *a, size_t n);
/* E_LENGTH: a frame of 0 bytes or of more than AGENT_FRAME_MAX.  Sticky; what is ready may still be
 * sent. */
MUST err_t ag_poll(struct ag *a, const struct ag_now *now, struct ag_event *ev);
/* OK is the only yes.  E_PHASE: not what was asked. */
MUST err_t ag_answer(struct ag *a, uint32_t ask, err_t verdict);
struct cslice ag_ready(const struct ag *a);
void ag_sent(struct ag *a, size_t n);
/* When to poll even though nothing came; AG_NEVER. */
uint64_t ag_deadline(const struct ag *a);

#endif
