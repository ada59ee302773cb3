/* SPDX-License-Identifier: ISC */
/*
 * pktc - one packet protection: cipher and MAC joined at NEWKEYS
 *
 * The engine has no EtM / E&M / AEAD cases: it asks `peek` bytes, calls length, waits for the whole
 * packet, calls open; outwards it writes the packet and calls seal.  A packet on the wire is
 *
 *     uint32 packet_length | byte padding_length | payload | padding | tag
 *
 * pkt points at packet_length; n = 4 + packet_length; the tag stands at pkt + n.
 *
 *   block       the size that the padded part must be a multiple of (at least 8); the padded part
 *               starts at byte clear_len
 *   tag         bytes after the packet
 *   peek        bytes that length needs; no packet is shorter
 *   clear_len   4 when packet_length is outside of the padded unit (EtM and AEAD), 0 when it is
 *               inside (plain MAC)
 *   cost_block  bytes that a cipher block counts for rekeying by volume (compat 6.4: 16 for AES,
 *               8 for chacha20-poly1305 and 3des)
 *
 * init/done: ctx has ctx_size bytes, zeroed, 64-byte aligned.  length may decrypt the first bytes
 * into ctx-private state, never into the packet; it is called exactly once a packet, before open.
 * It returns the length as it stands: the engine checks the limits before it allocates or waits.
 * seal cannot fail: should the library ever refuse, the packet is wiped, tag and all, and the peer
 * refuses that.  open gives E_MAC and leaves pkt wiped.  chain gives the IV (of the cipher's size)
 * that a fresh context needs to go on at packet `at`, whether its length was asked or not: the next
 * one, or any of those that open_many was the last to open; NULL = the key's own IV and the place
 * of the packet say all.
 *
 * The batch forms work on several packets at once, at most PKTC_MANY, given in the order of the
 * wire; NULL = the engine loops.  They may use the 4 bytes in front of each packet and put them
 * back; so these must be there.
 *   many        so many packets together are the quickest; 0 = there is no batch form
 *   open_many   opens the leading packets whose tags are right and says how many those are; the
 *               others are untouched, and the engine judges the first of them by open when its turn
 *               comes.  Only rows whose length stands in clear have it: length may then be asked at
 *               any time and any number of times
 *
 * Source: RFC 4253 6, RFC 5647, OpenSSH PROTOCOL (etm, chacha20-poly1305), compat 7.1.
 */
#ifndef ALGORITHM_PKTC_H
#define ALGORITHM_PKTC_H

#include "base/slice.h"

struct pktc_at {
	uint32_t seq;    /* sequence number of the packet (RFC 4253 6.4) */
	uint64_t packet; /* packets since NEWKEYS, from 0: the GCM invocation counter's increment */
	uint64_t block;  /* cipher blocks since NEWKEYS: the CTR position of this packet */
};

#define PKTC_MANY 16
struct pktc_one { /* a packet of a batch */
	struct pktc_at at;
	uint8_t *pkt;
	size_t n;
};

enum pktc_dir { PKTC_SEAL, PKTC_OPEN };

struct pktc {
	const char *name;
	uint32_t ctx_size;
	uint16_t block, tag, peek, clear_len, cost_block, many;
	err_t (*init)(void *ctx, enum pktc_dir dir, struct cslice key, struct cslice iv,
		struct cslice mac_key);
	void (*done)(void *ctx); /* frees what init made and wipes ctx */
	err_t (*length)(
		void *ctx, struct pktc_at at, const uint8_t *first, uint32_t *packet_length);
	void (*seal)(void *ctx, struct pktc_at at, uint8_t *pkt, size_t n);
	err_t (*open)(void *ctx, struct pktc_at at, uint8_t *pkt, size_t n);
	void (*seal_many)(void *ctx, const struct pktc_one *v, size_t v_n);
	size_t (*open_many)(void *ctx, const struct pktc_one *v, size_t v_n);
	void (*chain)(const void *ctx, struct pktc_at at, uint8_t *iv);
};

/* No protection: what stands before the first NEWKEYS (RFC 4253 6). */
extern const struct pktc pktc_none;

#endif
