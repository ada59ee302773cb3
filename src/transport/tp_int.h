/* SPDX-License-Identifier: ISC */
/*
 * tp_int - the inside of the transport engine, shared by the files of this folder
 *
 * One file a duty: tp.c (life, polling, errors, questions), version.c, packet_in.c, packet_out.c,
 * kexinit.c (negotiation), kex_client.c, kex_server.c, keys.c (exchange hash, derivation,
 * installation), ext_info.c, rekey.c, freeze.c, tp_put.c.
 *
 * Every function that returns err_t here gives the error to the caller; tp_poll, tp_fed ... make it
 * sticky in one place.
 */
#ifndef TRANSPORT_TP_INT_H
#define TRANSPORT_TP_INT_H

#include "algorithm/compress.h"
#include "algorithm/kex.h"
#include "base/secret.h"
#include "transport/tp.h"

#define TP_PACKET_FIRST   35000u       /* RFC 4253 6.1: what everyone must take */
#define TP_PACKET_MAX     (256u << 10) /* compat 6.4 */
#define TP_HIGH_WATER     ((size_t)1 << 20)
#define TP_CONTROL_ROOM   65536u /* above high water: for answers that the engine itself gives */
#define TP_LINE_MAX       8192u  /* compat 7.1 */
#define TP_LINES_MAX      1024u
#define TP_BATCH          (256u << 10) /* bytes asked from one recv */
#define TP_SEGS           32u
#define TP_KEEP_TOUCHED   32768u   /* bytes that an idle engine may leave touched in a chunk */
#define TP_IDLE_US        1000000u /* without traffic for so long, the rest is given back */
#define TP_FAST_AFTER     (256u << 10)
#define TP_TRANSCRIPT_MAX ((size_t)1 << 20)
#define TP_PONGS_MAX      16384u
#define TP_SESSION_ID_MAX HASH_MAX
#define TP_EXT_MAX        1024u
#define TP_PAD_MAX        128u
#define TP_PAYLOAD_AT     5u  /* packet_length, padding_length */
#define TP_FRONT          64u /* free at the beginning of a chunk: pktc.h wants 4 before a packet */
#define TP_CHUNK_ROOM     (CHUNK_SIZE - TP_FRONT)
#define TP_SPLIT_SPARE    128u  /* what is not data in such a packet: header, padding, tag */
#define TP_SPLIT_MIN      8192u /* packets are not made smaller than so for the sake of a batch */

enum tp_peer_flags {
	TP_PEER_NO_CURVE25519 = 1,
	TP_PEER_NO_REKEY = 2,
	TP_PEER_GEX_4096 = 4,
	TP_PEER_BAD_DEBUG = 8,
	TP_PEER_PROBE = 16
};

struct tp_keymat { /* what NEWKEYS put into use: kept for freezing and for the later change of
		      implementation */
	struct secret iv, key, mac;
	const struct alg_cipher *cipher; /* NULL = no protection yet */
	const struct alg_mac *mac_row;
	const struct alg_comp *comp;
};

struct tp_way { /* one direction */
	const struct pktc *pktc;
	void *ctx;
	struct tp_keymat mat;
	uint32_t seq;
	uint64_t packets, blocks, cost, bytes; /* since NEWKEYS */
	bool is_fast, is_keyed;
	bool z_on; /* compression has begun (its stream is made at the first packet) */
	struct compress *z;
};

struct tp_in {
	struct chunk *c;
	size_t at, end;        /* unparsed bytes */
	size_t offered;        /* by the last tp_space */
	size_t need;           /* whole size of the packet at `at`, tag included; 0 = not known */
	size_t ahead;          /* packets from `at` on that have been opened already */
	size_t last;           /* size of the packet before */
	size_t discard;        /* not 0: swallow so many, then E_MAC */
	struct chunk *from;    /* where the bytes at hand stand (not held) */
	struct chunk *lent;    /* held for the event that is out */
	struct chunk *z_chunk; /* inflated payloads */
	size_t z_at;
	struct buf z_buf;
};

struct tp_seg {
	struct chunk *c;
	size_t at, end;
};

struct tp_out {
	struct tp_seg v[TP_SEGS];
	size_t first, n; /* ring */
	size_t unsent;
	uint8_t *rsv;      /* start of the reserved packet(s); NULL = none */
	size_t rsv_body;   /* room of one body, message number not counted */
	size_t rsv_stride; /* from packet to packet */
	size_t rsv_n, rsv_head;
	uint8_t rsv_msg;
	size_t pad_to; /* 0 = as the cipher needs */
	struct buf z_buf;
};

enum tp_step {
	TP_STEP_NONE,        /* no exchange, or waiting for the peer's KEXINIT */
	TP_STEP_REPLY,       /* client: 31 */
	TP_STEP_GEX_GROUP,   /* client: 31 */
	TP_STEP_GEX_REPLY,   /* client: 33 */
	TP_STEP_INIT,        /* server: 30 */
	TP_STEP_GEX_REQUEST, /* server: 34, old form 30 */
	TP_STEP_GEX_INIT,    /* server: 32 */
	TP_STEP_ASK,         /* a question is out */
	TP_STEP_NEWKEYS
};

struct tp_kex {
	bool is_sent, is_got; /* KEXINIT */
	bool is_out_done;     /* our NEWKEYS is out */
	bool skip_guess;      /* the peer's first kex packet was a wrong guess */
	enum tp_step step;
	struct buf my_init, peer_init; /* KEXINIT payloads, message number included */
	struct kex *k;
	struct buf qc, qs, k_encoded;
	struct buf transcript; /* what was hashed */
	struct buf hostkey;    /* K_S of this exchange */
	uint32_t gex_min, gex_n, gex_max;
	bool gex_old;
	struct buf gex_p, gex_g; /* magnitudes */
	uint8_t h[HASH_MAX];
	size_t h_n;
};

struct tp {
	const struct tp_env *env;
	bool is_server;
	err_t err;
	uint64_t now_us, moved_us; /* time given last; last traffic */
	bool is_dirty;             /* bulk has touched much memory */
	struct tp_counts counts;

	/* version exchange */
	bool has_peer_version;
	uint32_t lines;
	char *my_version;
	struct buf peer_version, noise;
	uint32_t peer_flags;

	/* what is agreed */
	bool is_open, is_strict, is_first_done;
	uint8_t session_id[TP_SESSION_ID_MAX];
	size_t session_id_n;
	struct alg_choice choice;
	struct buf hostkey;                        /* accepted K_S */
	struct buf first_hostkey, first_signature; /* client: of the first exchange */
	uint32_t hostkey_index;
	enum alg_kind failed_kind;
	bool failed_s2c;
	uint32_t max_packet;

	/* extensions (RFC 8308) */
	bool peer_wants_ext;
	uint32_t ext_infos;
	struct buf ext; /* the peer's items: string name, string value ... */

	struct tp_way in_way, out_way;
	struct tp_in in;
	struct tp_out out;
	struct tp_kex kex;

	/* rekeying */
	bool want_rekey;
	uint64_t keyed_us;

	/* questions and events */
	uint32_t ask_last;          /* number of the last question */
	enum tp_ev_type ask;        /* TP_EV_NONE: none is out */
	struct tp_event pending[4]; /* to be given before anything else is read */
	size_t pending_n;

	struct buf pongs; /* strings that are owed as PONG */
};

/* ---- tp.c ---- */
MUST err_t tp_alloc(struct tp **out, const struct tp_env *env, uint64_t now_us);
void tp_event_add(struct tp *tp, const struct tp_event *ev);
struct tp_event *tp_ask_event(
	struct tp *tp, enum tp_ev_type type); /* adds it with a fresh number */
enum ssh_phase tp_phase_in(const struct tp *tp);

/* ---- version.c ---- */
MUST err_t tp_version_send(struct tp *tp);
/* Reads one line when it is there: sets *progress. */
MUST err_t tp_version_step(struct tp *tp, struct tp_event *ev, bool *progress);
void tp_version_refuse(struct tp *tp, err_t e); /* the plain line that a server owes */
uint32_t tp_peer_flags_of(struct cslice version);

/* ---- packet_in.c ---- */
MUST err_t tp_packet_step(struct tp *tp, struct tp_event *ev, bool *progress);
/* Lends bytes of the input chunk with the event: they stay until the next tp_poll, longer when
 * kept. */
void tp_lend(struct tp *tp, struct tp_event *ev, struct cslice bytes);
void tp_in_release(struct tp *tp);
void tp_in_unlend(struct tp *tp);
void tp_in_done(struct tp *tp);

/* ---- dispatch.c ---- */
/* payload: at least one byte, inside in.c or in.z_chunk. */
MUST err_t tp_dispatch(struct tp *tp, struct tp_event *ev, uint32_t seq, struct cslice payload);

/* ---- packet_out.c ---- */
MUST err_t tp_out_raw(struct tp *tp, struct cslice bytes);
/* One message, whatever the state: for the engine's own ones. */
MUST err_t tp_out_msg(struct tp *tp, uint8_t msg, struct cslice body);
void tp_out_release(struct tp *tp);
void tp_out_done(struct tp *tp);
size_t tp_high_water(const struct tp *tp);
MUST err_t tp_pong(struct tp *tp, struct cslice data);
MUST err_t tp_pongs_flush(struct tp *tp);

/* ---- kexinit.c ---- */
MUST err_t tp_kexinit_send(struct tp *tp);
MUST err_t tp_kexinit_got(struct tp *tp, struct cslice payload);
bool tp_kex_is_active(const struct tp *tp);
void tp_kex_clear(struct tp *tp); /* ends the exchange; keeps the peer's offer */
void tp_kex_wipe(struct tp *tp);  /* only its secrets: what an event has lent stays */
void tp_kex_init(struct tp *tp);
void tp_kex_done(struct tp *tp);
/* A message 30..49 in the right phase. */
MUST err_t tp_kex_message(struct tp *tp, uint8_t msg, struct cslice body);

/* ---- kex_client.c, kex_server.c ---- */
MUST err_t tp_client_start(struct tp *tp);
MUST err_t tp_client_message(struct tp *tp, uint8_t msg, struct cslice body);
MUST err_t tp_client_hostkey_ok(struct tp *tp);
MUST err_t tp_server_start(struct tp *tp);
MUST err_t tp_server_message(struct tp *tp, uint8_t msg, struct cslice body);
MUST err_t tp_server_group(struct tp *tp, struct cslice data);
MUST err_t tp_server_signed(struct tp *tp, struct cslice signature);
#define TP_GEX_MIN 2048u
#define TP_GEX_MAX 8192u

/* ---- keys.c ---- */
MUST err_t tp_exchange_hash(struct tp *tp);
struct tp_derivation { /* RFC 4253 7.2 */
	enum hash_id hash;
	struct cslice k_encoded, h, session_id;
};
/* n bytes of key material for the letter. */
MUST err_t tp_derive(const struct tp_derivation *d, char letter, size_t n, struct secret *out);
MUST err_t tp_newkeys_send(struct tp *tp); /* sends NEWKEYS, new keys outwards */
MUST err_t tp_newkeys_got(struct tp *tp);  /* new keys inwards, ends the exchange */
MUST err_t tp_way_init(struct tp_way *way, enum pktc_dir dir, bool fast);
void tp_way_done(struct tp_way *way);
/* The IV with which a new context goes on at the packet that comes next. */
void tp_way_iv(const struct tp_way *way, struct secret *iv);
/* The place of the packet that comes next. */
struct pktc_at tp_way_at(const struct tp_way *way);
/* The place after a packet of n bytes (packet_length included, tag not). */
struct pktc_at tp_at_after(const struct pktc *p, struct pktc_at at, size_t n);
/* Packets of this direction that were opened ahead, the next of them at pkt: again as they came. */
MUST err_t tp_way_seal_again(const struct tp_way *way, uint8_t *pkt, size_t packets);
/* Counts a packet of n bytes. */
void tp_way_count(struct tp_way *way, size_t n);
/* At a packet boundary: the quick implementation, once it pays. */
void tp_way_hurry(struct tp *tp, struct tp_way *way, enum pktc_dir dir);

/* ---- ext_info.c ---- */
MUST err_t tp_ext_info_send(struct tp *tp);
MUST err_t tp_ext_info_got(struct tp *tp, struct cslice body);

/* ---- rekey.c ---- */
bool tp_rekey_due(const struct tp *tp);
MUST err_t tp_rekey_step(struct tp *tp); /* starts one when it is due and possible */

#endif
