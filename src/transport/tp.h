/* SPDX-License-Identifier: ISC */
/*
 * tp - the transport engine (RFC 4253): bytes, time and answers in; bytes, events and questions out
 *
 * It does version exchange, packets, key exchange and rekeying.  It never calls the kernel, reads a
 * clock or allocates on the bulk path.  Errors are sticky: after the first one every call returns
 * it, and tp_ready still yields the DISCONNECT to send.
 *
 * Order of use:  tp_new; loop { tp_space, recv, tp_fed; tp_poll until TP_EV_NONE, answering
 * questions with tp_answer; tp_ready, writev, tp_sent; tp_tick at tp_deadline }.
 *
 * The phase (first exchange, authentication, open) decides which messages are taken (wire/ssh.def):
 * the auth engine calls tp_set_open at USERAUTH_SUCCESS, nothing else changes it.
 */
#ifndef TRANSPORT_TP_H
#define TRANSPORT_TP_H

#include <sys/uio.h> /* struct iovec: a plain type, no call */

#include "algorithm/alg.h"
#include "base/chunk.h"
#include "wire/ssh.h"

struct tp;

enum tp_role { TP_CLIENT, TP_SERVER };

struct tp_limits {
	uint64_t rekey_bytes;   /* per direction; 0 = by cipher only (compat 6.4) */
	uint64_t rekey_us;      /* 0 = none */
	uint64_t rekey_packets; /* 0 = 2^31 */
	uint32_t max_packet;    /* packet_length taken from the peer: 35,000 until raised by
				   tp_raise_max_packet, <= 256 KiB */
	size_t high_water;      /* sealed bytes unsent before tp_reserve says E_AGAIN; 0 = 1 MiB */
};

struct tp_hostkey {         /* server: a host key that may sign, plain or with a certificate */
	struct cslice blob; /* borrowed for the life of the engine */
};

struct tp_env { /* all that the engine may ever ask of the world, injected; borrowed for its life */
	enum tp_role role;
	const struct alg_policy *policy;
	struct chunk_pool *pool;
	struct rng *rng;
	struct tp_limits limits;
	const char *version; /* "SSH-2.0-OpenSSH_Bowline_0.1" without CR LF */
	const struct tp_hostkey *hostkeys;
	size_t hostkeys_n;
	const char *sig_algs; /* server: what server-sig-algs tells; NULL = the default list */
	bool use_fast;        /* libipsec-mb allowed at once (server: zygote has it ready) */
	bool lazy_fast;       /* switch to it after 256 KiB (client) */
	bool wait_version;    /* second try: KEXINIT only after the peer's version is known */
};

MUST err_t tp_new(struct tp **out, const struct tp_env *env, uint64_t now_us);
void tp_free(struct tp *tp);

/* ---- bytes in: recv(2) straight into the space, then say how many.  n == 0 means: do not read
 * now. ---- */
struct slice tp_space(struct tp *tp);
MUST err_t tp_fed(struct tp *tp, size_t n, uint64_t now_us);
/* The peer has closed its side: E_CLOSED, or E_NOT_SSH / E_DISCONNECTED when that says more. */
MUST err_t tp_fed_eof(struct tp *tp);

/* ---- events out: one at a time; slices live until the next tp_poll unless kept ---- */
enum tp_ev_type {
	TP_EV_NONE,
	TP_EV_PRE_VERSION, /* client: one line before the server's version, in body (to be shown
			      filtered) */
	TP_EV_VERSION,     /* the peer's version line is known: tp_peer_version */
	TP_EV_NEGOTIATED,  /* tp_choice is valid for this exchange */
	TP_EV_ASK_HOSTKEY, /* client: is this the host's key?  body = K_S blob, alg = host key
			      algorithm.  Asked before the signature is trusted; the signature has
			      been verified already.  Answer OK or E_HOSTKEY */
	TP_EV_ASK_SIGN,  /* server: sign the exchange hash.  body = H, index = hostkeys index, alg.
			    Answer data = signature blob */
	TP_EV_ASK_GROUP, /* server: group exchange min/want/max; answer data = mpint p, mpint g */
	TP_EV_KEYS,      /* new keys in both directions; first = true for the first exchange */
	TP_EV_EXT_INFO,  /* the peer's EXT_INFO has been taken in: tp_peer_sig_algs, tp_peer_ext */
	TP_EV_MSG,       /* message for the layers above: msg, body */
	TP_EV_DEBUG,     /* peer's DEBUG message text in body, first = always_display */
	TP_EV_CLOSED     /* DISCONNECT from the peer: reason, body = description */
};

struct tp_event {
	enum tp_ev_type type;
	uint32_t ask;     /* for tp_answer */
	uint8_t msg;      /* enum ssh_msg */
	struct span body; /* after the message number */
	struct cslice alg;
	uint32_t index, reason;
	uint32_t min, want, max; /* ASK_GROUP, bits */
	bool first;
};
/* While a reservation or a question is open nothing is read and the answer is TP_EV_NONE. */
MUST err_t tp_poll(struct tp *tp, struct tp_event *ev);
/* Returns the sticky error: E_HOSTKEY after a no, E_PHASE (not sticky) for a question that is not
 * out. */
MUST err_t tp_answer(struct tp *tp, uint32_t ask, err_t verdict, struct cslice data);

/* ---- messages out: write the body inside the packet; commit pads and seals it in place ---- */
/*
 * tp_reserve - room for one message's body (what follows the number)
 * E_AGAIN  a key exchange is under way, more than high_water bytes are unsent, or memory is used up
 * E_LIMIT  want does not fit one packet
 */
MUST err_t tp_reserve(struct tp *tp, uint8_t msg, size_t want, struct slice *body);
MUST err_t tp_commit(struct tp *tp, size_t used);
void tp_cancel(struct tp *tp);
/* The next packet is padded to a multiple of so many bytes (at most 128), which hides the length of
 * what is in it.  To be said before tp_reserve, again after each E_AGAIN. */
void tp_pad_next(struct tp *tp, size_t multiple);

/* Several packets of one kind laid out one behind the other, for bulk: each body = head_n bytes +
 * up to data_max data. The caller sets head_n, data_max and want (data bytes wished in all); v is
 * filled.  Errors as tp_reserve. */
#define TP_BULK_MAX 16
struct tp_bulk {
	size_t head_n, data_max, want;
	uint32_t n; /* packets; 1 when compression is on */
	struct {
		uint8_t *head;
		uint8_t *data;
		size_t data_n; /* room */
	} v[TP_BULK_MAX];
};
MUST err_t tp_reserve_bulk(struct tp *tp, uint8_t msg, struct tp_bulk *bulk);
/* used: data bytes filled, in order over v[]; heads of the used packets are written by the caller
 * before.  Seals them together. */
MUST err_t tp_commit_bulk(struct tp *tp, size_t used);

/* Convenience for control messages: SSH_PUT_x in one go.  E_AGAIN as tp_reserve. */
#define tp_put(tp, name, ...) tp_put_##name((tp), &(struct ssh_##name){__VA_ARGS__})
#define M(name, no, phase, to)                                                                     \
	MUST err_t tp_put_##name(struct tp *tp, const struct ssh_##name *msg);
#include "wire/ssh.def"
#undef M

size_t tp_ready(struct tp *tp, struct iovec *iov,
	size_t max);                   /* sealed, in order; returns entries filled */
size_t tp_unsent(const struct tp *tp); /* bytes */
void tp_sent(struct tp *tp, size_t n);

/* ---- time ---- */
uint64_t tp_deadline(const struct tp *tp); /* UINT64_MAX = none */
MUST err_t tp_tick(struct tp *tp, uint64_t now_us);

/* ---- control ---- */
void tp_set_open(
	struct tp *tp); /* logged in: phase OPEN, delayed compression starts after the next
			    packet (server: after SUCCESS was committed; client: on its receipt) */
MUST err_t tp_rekey(struct tp *tp); /* start one now; OK when one is under way */
MUST err_t tp_disconnect(
	struct tp *tp, uint32_t reason, const char *text); /* afterwards only
							      tp_ready/tp_sent work: E_CANCELLED */
void tp_fail(
	struct tp *tp, err_t e); /* the layer above found a fault: sticky, DISCONNECT is queued */
err_t tp_error(const struct tp *tp); /* the sticky one, or OK */
void tp_raise_max_packet(struct tp *tp, uint32_t max);

/* ---- what is known ---- */
bool tp_is_rekeying(const struct tp *tp); /* our KEXINIT is out and the exchange has not ended */
bool tp_is_open(const struct tp *tp);
struct cslice tp_session_id(const struct tp *tp);   /* first exchange hash; empty before */
struct cslice tp_peer_version(const struct tp *tp); /* without CR LF */
/* While TP_EV_ASK_SIGN is open: the bytes whose hash is to be signed, for one who would rather hash
 * them himself.  They end with the shared secret. */
struct cslice tp_transcript(const struct tp *tp, enum hash_id *hash);
const struct alg_choice *tp_choice(const struct tp *tp);
struct cslice tp_hostkey_blob(const struct tp *tp); /* K_S of the last exchange */
/* Client: what the server proved itself with in the first exchange, the key and its signature over
 * the session id; whoever knows the session by its id can check it.  Empty before. */
struct cslice tp_first_hostkey(const struct tp *tp);
struct cslice tp_first_signature(const struct tp *tp);
struct cslice tp_peer_sig_algs(const struct tp *tp); /* server-sig-algs; empty when not told */
bool tp_peer_ext(
	const struct tp *tp, const char *name, struct cslice *value); /* an EXT_INFO item */
struct cslice tp_peer_offer(
	const struct tp *tp, enum alg_kind kind); /* their list, for "Their offer: ..." */
/* What came instead of a version line, for the error text: up to 256 bytes. */
struct cslice tp_peer_noise(const struct tp *tp);
struct tp_counts {
	uint64_t bytes_in, bytes_out, packets_in, packets_out, rekeys;
};
void tp_counts(const struct tp *tp, struct tp_counts *out);

/* ---- privilege-separation hand-over, between two packets (no exchange under way, nothing
 * reserved) ---- freeze appends all state (keys included) to out (a buf that wipes); thaw builds an
 * engine that goes on byte for byte. env must be given again.  The frozen form is checked like a
 * peer's bytes. */
MUST err_t tp_freeze(struct tp *tp, struct buf *out);
MUST err_t tp_thaw(
	struct tp **out, const struct tp_env *env, struct cslice frozen, uint64_t now_us);

#endif
