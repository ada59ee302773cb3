/* SPDX-License-Identifier: ISC */
/*
 * Every message number, in every phase, towards both roles
 *
 * What must happen is written here from the RFCs (4253 7.1 7.3 11 12, 8308 2.3 2.4, 4252 5.1 6,
 * 4256 3, 4254 9) and compat 7.1, without a look at wire/ssh.def.  One letter a verdict:
 *
 *   M  handed to the layer above      U  answered with UNIMPLEMENTED, otherwise without effect
 *   T  taken by the transport         D  the connection ends, nothing of it takes effect
 *   K  taken as the step of the key exchange that is due
 *   X  DISCONNECT: an event, then the end
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "pair.h"
#include "transport/tp_int.h"

enum phase {
	START,          /* versions are known, the peer's KEXINIT has not come */
	KEX_STRICT,     /* it has come, and is strict */
	KEX_LAX,        /* it has come, without kex-strict */
	NEWKEYS_STRICT, /* all but NEWKEYS has come */
	NEWKEYS_LAX,
	AUTH,       /* keys are there, nobody is logged in */
	OPEN,       /* logged in */
	OURS,       /* our KEXINIT is out, the peer's has not come */
	REKEY,      /* the peer's has come */
	REKEY_AUTH, /* it has come before login */
	REKEY_NEWKEYS,
	PHASE_N
};
static const char *const phase_names[] = {"start", "kex strict", "kex", "newkeys strict", "newkeys",
	"auth", "open", "ours", "rekey", "rekey before login", "rekey newkeys"};

/* ---- what must happen ---- */

static bool within(unsigned n, unsigned from, unsigned to)
{
	return n >= from && n <= to;
}

/* RFC4253 7.1: between a KEXINIT and NEWKEYS only 1 to 19 but for 5 and 6 (7 belongs after NEWKEYS,
 * RFC8308 2.4), 20 to 29 but for another KEXINIT, and 30 to 49 as the method has them. */
static char in_exchange(unsigned n, bool is_server, bool is_newkeys_due)
{
	unsigned due = is_server ? 30 : 31;
	if (n == 1)
		return 'X';
	if (within(n, 2, 4))
		return 'T';
	if (within(n, 5, 7) || n == 20)
		return 'D';
	if (n == 21)
		return is_newkeys_due ? 'K' : 'D';
	if (within(n, 30, 49))
		return !is_newkeys_due && n == due ? 'K' : 'D';
	return n < 30 ? 'U' : 'D';
}

/* compat 7.1: the exchange's own messages, and the goodbye, are all there is. */
static char in_strict_exchange(unsigned n, bool is_server, bool is_newkeys_due)
{
	char c = in_exchange(n, is_server, is_newkeys_due);
	return c == 'K' || c == 'X' ? c : 'D';
}

/* Numbers that someone has given a meaning which we know. */
static bool is_known(unsigned n)
{
	return within(n, 1, 7) || within(n, 20, 21) || within(n, 30, 34) || within(n, 50, 53) ||
	       within(n, 60, 61) || within(n, 80, 82) || within(n, 90, 100) || within(n, 192, 193);
}

static char before_kexinit(unsigned n)
{
	if (n == 1)
		return 'X';
	if (within(n, 2, 4))
		return 'T';
	if (n == 20)
		return 'K';
	return is_known(n) ? 'D' : 'U';
}

static char in_auth(unsigned n, bool is_server)
{
	switch (n) {
	case 1:
		return 'X';
	case 2:
	case 3:
	case 4:
	case 7:
	case 192:
	case 193:
		return 'T';
	case 20:
		return 'K';
	case 5:
	case 50:
	case 61: /* RFC4256 3.4 */
		return is_server ? 'M' : 'D';
	case 6:
	case 51:
	case 52:
	case 53:
	case 60: /* RFC4252 7, 8; RFC4256 3.2 */
		return is_server ? 'D' : 'M';
	default:
		return is_known(n) ? 'D' : 'U';
	}
}

static char in_session(unsigned n, bool is_server)
{
	if (within(n, 80, 82) || within(n, 90, 100))
		return 'M';
	if (n == 50)
		return is_server ? 'T' : 'D'; /* RFC4252 5.1: ignored after success */
	if (within(n, 5, 7) || within(n, 51, 61))
		return is_known(n) ? 'D' : 'U';
	return in_auth(n, is_server);
}

/* RFC4253 7.1 binds the sender; data of a session that is logged in is borne with, as OpenSSH does.
 */
static char in_rekey(unsigned n, bool is_server, bool is_newkeys_due)
{
	if (within(n, 80, 82) || within(n, 90, 100))
		return 'M';
	return in_exchange(n, is_server, is_newkeys_due);
}

static char expected(enum phase ph, unsigned n, bool is_server)
{
	switch (ph) {
	case START:
		return before_kexinit(n);
	case KEX_STRICT:
		return in_strict_exchange(n, is_server, false);
	case NEWKEYS_STRICT:
		return in_strict_exchange(n, is_server, true);
	case KEX_LAX:
	case REKEY_AUTH:
		return in_exchange(n, is_server, false);
	case NEWKEYS_LAX:
		return in_exchange(n, is_server, true);
	case REKEY:
		return in_rekey(n, is_server, false);
	case REKEY_NEWKEYS:
		return in_rekey(n, is_server, true);
	case AUTH:
		return in_auth(n, is_server);
	default:
		return in_session(n, is_server);
	}
}

/* ---- getting there ---- */

struct scene {
	struct pair p;
	struct end *e, *o; /* under test; the other one */
	struct end ghost;  /* the other one with its old keys, when it has new ones already */
	bool is_raw;       /* no keys yet: packets are written by hand */
};

static void start(struct scene *s)
{
	s->o->env.wait_version = true;
	pair_start(&s->p);
	s->is_raw = true;
	pair_move(&s->p, s->o, s->e); /* the version line */
}

static void kexinit(struct scene *s, bool is_strict)
{
	const char *pseudo =
		s->o == &s->p.c ? "kex-strict-c-v00@openssh.com" : "kex-strict-s-v00@openssh.com";
	end_kexinit(s->o, is_strict ? pseudo : NULL, false);
	pair_move(&s->p, s->o, s->e);
}

/* The first packet of what the other end has to send, which has `tag` bytes behind and its length
 * in clear. */
static void feed_one_packet(struct scene *s, size_t tag)
{
	struct buf out;
	buf_init(&out, 1 << 20);
	end_take(s->o, &out);
	size_t n = 4 + be32_get(out.p) + tag;
	assert_true(n <= out.n);
	end_feed(s->e, out.p, n, PAIR_WHOLE);
	buf_done(&out);
}

static void first_newkeys(struct scene *s)
{
	pair_move(&s->p, s->e, s->o);
	if (s->o == &s->p.c)
		pair_move(&s->p, s->o, s->e); /* INIT; the server answers */
	else
		feed_one_packet(s, 0); /* REPLY alone */
	assert_int_equal(s->e->tp->kex.step, TP_STEP_NEWKEYS);
}

/* The other end as it was before it took its new keys. */
static void make_ghost(struct scene *s, const struct buf *frozen, uint32_t packets)
{
	s->ghost = *s->o;
	s->ghost.tp = NULL;
	assert_int_equal(tp_thaw(&s->ghost.tp, &s->o->env, buf_bytes(frozen), 1), OK);
	s->ghost.tp->out_way.seq += packets;
	s->ghost.tp->out_way.packets += packets;
}

static void rekey_newkeys(struct scene *s)
{
	struct buf frozen;
	buf_init(&frozen, 1 << 20);
	assert_int_equal(tp_freeze(s->o->tp, &frozen), OK);
	assert_int_equal(tp_rekey(s->o->tp), OK);
	pair_move(&s->p, s->o, s->e);
	pair_move(&s->p, s->e, s->o);
	if (s->o == &s->p.c) {
		pair_move(&s->p, s->o, s->e);
	} else {
		feed_one_packet(s, 16);
		make_ghost(s, &frozen, 2); /* KEXINIT, REPLY */
	}
	assert_int_equal(s->e->tp->kex.step, TP_STEP_NEWKEYS);
	buf_done(&frozen);
}

static void scene_open(struct scene *s, enum phase ph, bool is_server)
{
	*s = (struct scene){0};
	pair_init(&s->p, 3);
	s->p.c.policy.kex = s->p.s.policy.kex = "curve25519-sha256";
	s->p.c.policy.cipher_c2s = s->p.c.policy.cipher_s2c = "aes128-gcm@openssh.com";
	s->p.s.policy.hostkey = "ssh-ed25519";
	s->e = is_server ? &s->p.s : &s->p.c;
	s->o = is_server ? &s->p.c : &s->p.s;
	if (ph <= NEWKEYS_LAX) {
		start(s);
		if (ph != START)
			kexinit(s, ph == KEX_STRICT || ph == NEWKEYS_STRICT);
		if (ph >= NEWKEYS_STRICT)
			first_newkeys(s);
		return;
	}
	pair_start(&s->p);
	pair_run(&s->p);
	s->e->tp->ext_infos = 0; /* one may come */
	if (ph != AUTH && ph != REKEY_AUTH)
		pair_open(&s->p);
	if (ph == OURS)
		assert_int_equal(tp_rekey(s->e->tp), OK);
	if (ph == REKEY) {
		assert_int_equal(tp_rekey(s->o->tp), OK);
		pair_move(&s->p, s->o, s->e);
	}
	if (ph == REKEY_AUTH) { /* our own engine never starts one there */
		end_kexinit(s->o, NULL, false);
		pair_move(&s->p, s->o, s->e);
	}
	if (ph == REKEY_NEWKEYS)
		rekey_newkeys(s);
}

static void scene_close(struct scene *s)
{
	tp_free(s->ghost.tp);
	pair_done(&s->p);
}

/* ---- well-formed bodies ---- */

static void put_kexinit(struct scene *s, struct buf *b)
{
	struct end *o = s->o;
	buf_put(b, "0123456789abcdef", 16);
	const char *lists[] = {o->policy.kex, o->policy.hostkey, o->policy.cipher_c2s,
		o->policy.cipher_s2c, o->policy.mac_c2s, o->policy.mac_s2c, o->policy.comp_c2s,
		o->policy.comp_s2c, "", ""};
	for (size_t i = 0; i < ARRAY_N(lists); i++)
		buf_put_cstring(b, lists[i]);
	buf_put_u8(b, 0);
	buf_put_u32(b, 0);
}

/* A body that its reader likes: so that a refusal is for the number, not for the form. */
static void put_body(struct scene *s, unsigned n, struct buf *b)
{
	static const uint8_t point[32] = {9};
	switch (n) {
	case 1:
		buf_put_u32(b, 11);
		buf_put_cstring(b, "bye");
		buf_put_cstring(b, "");
		break;
	case 3:
	case 7:
		buf_put_u32(b, 0);
		break;
	case 4:
		buf_put_u8(b, 0);
		buf_put_cstring(b, "words");
		buf_put_cstring(b, "");
		break;
	case 20:
		put_kexinit(s, b);
		break;
	case 30:
		buf_put_string(b, cslice_of(point, sizeof(point)));
		break;
	case 31:
		buf_put_string(b, buf_bytes(&s->p.s.blobs[0]));
		buf_put_string(b, cslice_of(point, sizeof(point)));
		buf_put_cstring(b, "no signature");
		break;
	case 192:
	case 193:
		buf_put_cstring(b, "PING!");
		break;
	default: /* the transport reads no others; 2 and 21 have none */
		if (n == 5 || n >= 50)
			buf_put_cstring(b, "ssh-userauth");
		break;
	}
}

static void put_raw(uint8_t msg, const struct buf *body, struct buf *out)
{
	size_t n = 1 + body->n, pad = 8 - (5 + n) % 8 + 8;
	buf_put_u32(out, (uint32_t)(1 + n + pad));
	buf_put_u8(out, (uint8_t)pad);
	buf_put_u8(out, msg);
	buf_put(out, body->p, body->n);
	memset(buf_room(out, pad), 0, pad);
}

/* The packet of a message, as the other end would send it now. */
static void put_msg(struct scene *s, uint8_t msg, struct buf *out)
{
	struct buf body, sealed;
	buf_init(&body, 1 << 20);
	buf_init(&sealed, 1 << 20);
	put_body(s, msg, &body);
	if (s->is_raw) {
		put_raw(msg, &body, out);
	} else {
		struct end *from = s->ghost.tp != NULL ? &s->ghost : s->o;
		end_take(from, &sealed); /* nothing else */
		buf_clear(&sealed);
		end_force(from, msg, body.p, body.n);
		end_take(from, &sealed);
		buf_put(out, sealed.p, sealed.n);
	}
	buf_done(&sealed);
	buf_done(&body);
}

/* ---- what did happen ---- */

static char observed(const struct scene *s, const struct tp_counts *before)
{
	const struct end *e = s->e;
	struct tp_counts after;
	tp_counts(e->tp, &after);
	if (end_count(e, TP_EV_CLOSED) > 0)
		return e->err == E_DISCONNECTED ? 'X' : '?';
	if (e->msgs_n > 0)
		return e->err == OK ? 'M' : '?';
	if (e->err == E_UNEXPECTED)
		return 'D';
	if (e->err != OK) /* looked at as a step, and found wanting: the signature is none */
		return e->err == E_SIGNATURE ? 'K' : '?';
	return after.packets_out > before->packets_out ? 'a' : 't'; /* answered, or silent */
}

/* Letters of `expected` as `observed` sees them. */
static bool agrees(char want, char saw, enum phase ph, unsigned n)
{
	switch (want) {
	case 'U':
		return saw == 'a';
	case 'T':
		/* PONG waits for the end of an exchange */
		return saw == (n == 192 && ph != OURS ? 'a' : 't');
	case 'K':
		return saw == 'a' || saw == 't' || saw == 'K';
	default:
		return saw == want;
	}
}

static bool one(enum phase ph, unsigned n, bool is_server)
{
	struct scene s;
	scene_open(&s, ph, is_server);
	assert_int_equal(s.e->err, OK);
	s.e->events_n = 0;
	bool was_open = tp_is_open(s.e->tp);
	struct buf wire;
	buf_init(&wire, 1 << 20);
	put_msg(&s, (uint8_t)n, &wire);
	struct tp_counts before;
	tp_counts(s.e->tp, &before);
	end_feed(s.e, wire.p, wire.n, PAIR_WHOLE);
	char want = expected(ph, n, is_server), saw = observed(&s, &before);
	bool ok = agrees(want, saw, ph, n) && tp_is_open(s.e->tp) == was_open;
	/* an end is told once, in words */
	if (want == 'D' && tp_unsent(s.e->tp) == 0)
		ok = false;
	if (!ok)
		print_error("%s, %s, message %u: expected %c, saw %c (%s)\n", phase_names[ph],
			is_server ? "server" : "client", n, want, saw, err_name(s.e->err));
	buf_done(&wire);
	scene_close(&s);
	return ok;
}

/* The end is an end: what stands behind the fault in the same read is never looked at, and nothing
 * that the caller does brings the engine back. */
static bool nothing_follows(enum phase ph, unsigned n, bool is_server)
{
	static const uint8_t next[] = {SSH_MSG_kexinit, SSH_MSG_newkeys, SSH_MSG_userauth_request,
		SSH_MSG_channel_open, SSH_MSG_ping, SSH_MSG_disconnect};
	struct scene s;
	scene_open(&s, ph, is_server);
	struct end *e = s.e;
	e->events_n = 0;
	struct buf wire;
	buf_init(&wire, 1 << 20);
	put_msg(&s, (uint8_t)n, &wire);
	for (size_t i = 0; i < ARRAY_N(next); i++)
		put_msg(&s, next[i], &wire);
	struct tp_counts before, after;
	tp_counts(e->tp, &before);
	end_feed(e, wire.p, wire.n, PAIR_WHOLE);
	tp_counts(e->tp, &after);
	bool ok = e->err == E_UNEXPECTED && after.packets_in == before.packets_in + 1 &&
		  e->msgs_n == 0 && end_count(e, TP_EV_CLOSED) == 0 &&
		  end_count(e, TP_EV_KEYS) == 0;
	size_t unsent = tp_unsent(e->tp);
	struct tp_event ev;
	struct slice body;
	ok = ok && tp_space(e->tp).n == 0 && tp_poll(e->tp, &ev) == e->err &&
	     tp_tick(e->tp, s.p.now_us + 1) == e->err && tp_rekey(e->tp) == e->err &&
	     tp_reserve(e->tp, SSH_MSG_ignore, 16, &body) == e->err && tp_unsent(e->tp) == unsent;
	if (!ok)
		print_error("%s, %s: something follows the refused message %u\n", phase_names[ph],
			is_server ? "server" : "client", n);
	buf_done(&wire);
	scene_close(&s);
	return ok;
}

static uint32_t ran, wrong;

static void all(bool is_server)
{
	for (enum phase ph = START; ph < PHASE_N; ph++) {
		for (unsigned n = 0; n < 256; n++) {
			ran++;
			wrong += !one(ph, n, is_server);
			if (expected(ph, n, is_server) == 'D')
				wrong += !nothing_follows(ph, n, is_server);
		}
	}
	assert_int_equal(wrong, 0);
}

static void every_message_to_a_server_has_the_verdict_of_the_rfcs(void **state)
{
	(void)state;
	all(true);
}

static void every_message_to_a_client_has_the_verdict_of_the_rfcs(void **state)
{
	(void)state;
	all(false);
}

int main(void)
{
	if (crypto_init() != OK)
		return 1;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_message_to_a_server_has_the_verdict_of_the_rfcs),
		cmocka_unit_test(every_message_to_a_client_has_the_verdict_of_the_rfcs),
	};
	int r = cmocka_run_group_tests(tests, NULL, NULL);
	printf("%u cells\n", ran);
	return r;
}
