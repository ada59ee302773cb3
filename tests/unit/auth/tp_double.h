/* SPDX-License-Identifier: ISC */
/*
 * tp_double - a transport that keeps what is sent in an array, and refuses room when told to
 *
 * It stands in for the transport engine in the unit tests of the layers above.  fault_after makes
 * the n-th allocation from now fail (the test program is linked with wrapped allocators).
 */
#ifndef TESTS_TP_DOUBLE_H
#define TESTS_TP_DOUBLE_H

#include "transport/tp.h"

#define DBL_SENT_MAX 8192
#define DBL_ARENA    ((size_t)4 << 20)

struct dbl_msg {
	uint8_t no;
	struct cslice body;
	size_t pad; /* padded to a multiple of it */
};

struct tp {
	struct dbl_msg sent[DBL_SENT_MAX];
	size_t sent_n, taken_n;
	uint8_t *arena;
	size_t arena_n;
	/* behaviour */
	bool is_blocked; /* every reserve says E_AGAIN: a key exchange, or high water */
	bool is_rekeying;
	err_t reserve_err; /* OK, or what every reserve says */
	size_t bulk_n;     /* packets that a bulk reservation gives at most */
	size_t room_max;   /* reserving more than this says E_AGAIN: memory is short */
	size_t packet_max; /* body bytes that fit one packet */
	struct cslice session_id, version, hostkey, sig_algs;
	struct {
		const char *name, *value;
	} exts[4];
	/* seen */
	bool is_open, has_reservation;
	uint32_t max_packet;
	size_t pad;
	/* the reservation */
	uint8_t msg;
	size_t want;
	struct tp_bulk bulk;
	uint8_t *scratch;
};

struct tp *dbl_new(void);
void dbl_free(struct tp *tp);
/* The next message that was sent; fails the test when there is none, or it is another one. */
struct cslice dbl_take(struct tp *tp, uint8_t no);
/* What the message taken last was padded to. */
size_t dbl_pad(const struct tp *tp);
/* Nothing more was sent. */
void dbl_take_none(struct tp *tp);
size_t dbl_left(const struct tp *tp);

/* The n-th allocation from now fails, once; 0 = the next one.  fault_off gives whether it has
 * happened. */
void fault_after(size_t n);
bool fault_off(void);
/* Blocks that are allocated by the code under test and not freed. */
size_t fault_live(void);

#endif
