/* SPDX-License-Identifier: ISC */
/*
 * stage - one transport engine with a world around it, whose promises are checked at every step
 *
 * Fresh, or thawed from a handshake that was made once at start.  The peer is the fuzzer: what it
 * says is framed and sealed with the engine's own keys (the stage may look inside), so that bytes
 * of the input become valid packets in every state.
 */
#ifndef FUZZ_STAGE_H
#define FUZZ_STAGE_H

#include "base/rng.h"
#include "fuzz.h"
#include "key/key.h"
#include "script.h"
#include "transport/tp_int.h"

#define STAGE_SUITES 16
#define STAGE_SEED   1789
#define STAGE_NOW_US ((uint64_t)1000000000000)
#define STAGE_CHUNKS 8 /* one engine never has more in use, whatever a peer does */
#define STAGE_C_NAME "SSH-2.0-Bowline_fuzz_c"
#define STAGE_S_NAME "SSH-2.0-Bowline_fuzz_s"

struct stage {
	struct tp *tp;
	struct tp_env env;
	struct alg_policy policy;
	struct rng_seeded rng;
	uint64_t now_us;
	size_t piece;     /* largest feed; 0 = what there is room for */
	bool is_stalled;  /* what the engine has ready is not sent */
	bool is_gathered; /* what it is fed is not polled for until stage_pump: runs of packets */
	/* the layer above: told of TP_EV_MSG and EXT_INFO; busy = do not poll; settle = after
	 * events */
	void *layer;
	void (*event)(struct stage *s, const struct tp_event *ev);
	bool (*busy)(struct stage *s);
	void (*settle)(struct stage *s);
	/* questions */
	bool is_late;   /* left open until stage_answer */
	bool is_honest; /* a server's signatures are real: slow */
	bool is_asked;
	struct tp_event ask;
	err_t verdict;            /* for questions that are answered at once */
	struct span lent, closed; /* by the last event; closed: poisoned, to be read by nobody */
	/* what has been seen */
	err_t err;
	bool has_version, is_negotiated, is_keyed, is_closed, is_refused;
	uint32_t keys_n;
	/* the peer's side */
	struct tp_way seal;
	struct compress *seal_z;
	void (*sent)(struct stage *s, struct cslice bytes); /* what the engine puts on the wire */
};

/* Keys and recorded handshakes; once a process. */
void stage_global(void);
/* The frozen engine of a role and suite, as it stands after the first exchange. */
struct cslice stage_frozen(enum tp_role role, unsigned int suite);

void stage_init(struct stage *s, enum tp_role role);
/* After stage_init and what the caller sets in env. */
void stage_start_fresh(struct stage *s);
void stage_start_keyed(struct stage *s, unsigned int suite);
/* Both in one. */
void stage_fresh(struct stage *s, enum tp_role role);
void stage_keyed(struct stage *s, enum tp_role role, unsigned int suite);
void stage_done(struct stage *s);
/* Before the engine is used in a way that stage.c does not do. */
void stage_open_lent(struct stage *s);

/* Takes one event; false: there is none. */
bool stage_poll(struct stage *s);
/* Polls, answers, settles and drains until nothing moves. */
void stage_pump(struct stage *s);
void stage_answer(struct stage *s, err_t verdict, struct cslice data);
void stage_feed(struct stage *s, struct cslice bytes);
void stage_drain(struct stage *s, size_t most);
void stage_tick(struct stage *s, uint64_t us);
/* The peer says it.  is_packed: do not deflate. */
void stage_say(struct stage *s, struct cslice payload, bool is_packed);
/* A packet with a right MAC and wrong insides. */
void stage_say_odd(struct stage *s, struct cslice payload, uint8_t pad, int8_t more);
/* A step that concerns the transport alone; false: it is the layer's. */
bool stage_step(struct stage *s, const struct script_step *step);
/* After an error: nothing is processed, every call gives the error. */
void stage_check_end(struct stage *s);

/* Any error a question may be answered with, or OK. */
err_t stage_verdict(uint8_t byte);

#endif
