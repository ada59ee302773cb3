/* SPDX-License-Identifier: ISC */
/*
 * sim - a client and a server in one process, on a virtual clock, over links that are drawn from a
 * seed
 *
 * A run is a pure function of its seed: the plan (algorithms, login, streams, links, harm), every
 * delay and every random byte of the engines come from it.  One file a duty: plan.c, link.c,
 * node.c (an engine stack and its questions), app.c (channels and streams), world.c (the world and
 * the list of seeds).
 */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include "auth/au.h"
#include "base/rng.h"
#include "connection/cn_int.h"
#include "key/key.h"

#define SIM_CHANS  4
#define SIM_BACKS  2 /* opened by the server, numbered behind the others */
#define SIM_ALL    (SIM_CHANS + SIM_BACKS)
#define SIM_NEVER  UINT64_MAX
#define SIM_CHUNKS 6 /* of packet memory that an end may use, and one for each kept span */
#define SIM_KEPT   2
#define SIM_PIECE  16384 /* largest delivery */

/* What must hold; a run that breaks it has failed, and says where. */
extern const char *sim_fault;
#define HOLDS(x)                                                                                   \
	do {                                                                                       \
		if (!(x) && sim_fault == NULL)                                                     \
			sim_fault = #x;                                                            \
	} while (0)

/* ---- plan ---- */
enum sim_harm { SIM_HONEST, SIM_FLIP, SIM_CUT, SIM_HOSTILE, SIM_HARMS };
enum sim_login { SIM_KEY_SURE, SIM_KEY_SECOND, SIM_KBDINT, SIM_PASSWORD, SIM_PARTIAL, SIM_LOGINS };

struct sim_link_plan {
	uint64_t delay_us, bytes_a_s; /* 0 = no limit */
	uint32_t piece;               /* largest fragment */
	uint32_t stall_every;         /* a stall of up to 300 ms each so many pieces; 0 = never */
	size_t room;                  /* bytes that may be under way */
	uint64_t harm_at;             /* position of a flip or cut; SIM_NEVER */
};

struct sim_plan {
	uint64_t seed;
	enum sim_harm harm;
	enum sim_login login;
	struct sim_link_plan up, down;
	const char *kex, *cipher, *mac, *comp;
	struct tp_limits limits[2]; /* by enum tp_role */
	struct cn_limits cn_limits[2];
	uint32_t chans;
	uint32_t backs;              /* channels to an agent at the client */
	uint32_t length[SIM_ALL][3]; /* to the server, to the client, stderr */
	uint32_t refused;            /* index of a channel that the server refuses */
	uint32_t refused_back;       /* and of one that the client refuses */
	bool is_late;                /* questions are answered after a while */
	uint64_t rekey_every_us;     /* by hand; 0 = never */
	uint64_t fail_delay_us;
	bool is_bulk;  /* several packets a reservation */
	bool is_quick; /* nothing delays but the wire: round trips are counted */
};

void sim_plan_draw(struct sim_plan *p, uint64_t seed);
/* Is there a channel of this index? */
bool sim_plan_has(const struct sim_plan *p, uint32_t index);

/* ---- link: bytes one way ---- */
struct sim_piece {
	uint64_t at_us;
	size_t n;
};

struct sim_link {
	const struct sim_link_plan *plan;
	enum sim_harm harm;
	struct rng_seeded rng;
	struct buf bytes;
	struct sim_piece *v;
	size_t first, n, cap;
	uint64_t free_us; /* when the wire is free again */
	uint64_t in_all, out_all;
	uint64_t hash; /* of all that was put */
	bool is_cut;
};

void sim_link_init(struct sim_link *l, const struct sim_plan *p, const struct sim_link_plan *lp,
	uint64_t seed);
void sim_link_done(struct sim_link *l);
size_t sim_link_room(const struct sim_link *l);
void sim_link_put(struct sim_link *l, struct cslice bytes, uint64_t now_us);
uint64_t sim_link_due(const struct sim_link *l); /* SIM_NEVER */
/* What has arrived, at most n bytes into p. */
size_t sim_link_take(struct sim_link *l, uint8_t *p, size_t n, uint64_t now_us);

/* ---- node: one end ---- */
struct sim_stream {
	uint32_t want, at, until; /* until: end of the burst under way */
	bool is_waiting;          /* was told E_AGAIN */
};

struct sim_chan {
	uint32_t id;
	bool is_known, is_open, is_over, eof_sent, eof_seen, is_closed;
	struct sim_stream out[2]; /* data, stderr */
	uint32_t in_want[2], in_at[2];
	uint32_t unconsumed, requests, replies;
	uint32_t rekeys_before; /* when it was opened */
};

struct sim_kept {
	struct span span;
	uint32_t index, ext, at;
};

struct sim_node {
	const struct sim_plan *plan;
	enum tp_role role;
	uint64_t now_us, told_us; /* told: to the transport */
	struct chunk_pool pool;
	struct rng_seeded rng, dice, freezer;
	struct alg_policy policy;
	struct tp_env env;
	struct tp *tp;
	struct sim_link *in, *out;
	err_t err;
	bool is_over; /* nothing more is read or written */
	/* questions */
	struct tp_event ask;
	struct au_event au_ask;
	uint64_t ask_us, au_ask_us; /* when it is answered; SIM_NEVER = none is open */
	/* layers */
	struct au_client_env client_env;
	struct au_server_env server_env;
	struct au_client *client;
	struct au_server *server;
	struct au_identity ids[2];
	bool is_keyed, is_started, is_in, half_in, passwords_n;
	uint64_t in_us;
	struct cn *cn;
	struct sim_chan chans[SIM_ALL];
	struct sim_kept kept[SIM_KEPT];
	size_t kept_n;
	uint64_t app_us, rekey_us, global_us; /* timers */
	uint32_t globals_sent, globals_answered;
	bool is_evil, freezes;
	uint32_t freezes_n, rekeys_n;
	/* of the server: what it opened and was closed, with keys that changed meanwhile, with an
	   end of the one direction while the other went on */
	uint32_t backs_n, backs_rekeyed_n, backs_half_n;
	bool has_backs;
	uint64_t hash; /* of what happened */
};

void sim_global(void);
void sim_node_init(struct sim_node *n, const struct sim_plan *p, enum tp_role role);
void sim_node_done(struct sim_node *n);
/* Does all that can be done now. */
void sim_node_step(struct sim_node *n, uint64_t now_us);
uint64_t sim_node_due(const struct sim_node *n);
void sim_node_fail(struct sim_node *n, err_t e);
void sim_note(struct sim_node *n, uint64_t what);
uint32_t sim_roll(struct sim_node *n, uint32_t bound);
/* The layer above freezes and thaws its transport, as between two processes. */
void sim_node_hand_over(struct sim_node *n);

/* ---- app ---- */
void sim_app_start(struct sim_node *n);
void sim_app_message(struct sim_node *n, uint8_t msg, struct span body);
bool sim_app_step(struct sim_node *n); /* true: something moved */
bool sim_app_is_done(const struct sim_node *n);
void sim_app_check(const struct sim_node *n);
void sim_app_done(struct sim_node *n);

#endif
