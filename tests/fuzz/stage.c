/* SPDX-License-Identifier: ISC */
/* stage - one transport engine with a world around it, whose promises are checked at every step */
#include <sanitizer/asan_interface.h>

#include "crypto/crypto.h"
#include "stage.h"

/* Without the groups and sizes that take more than a few ms. */
static const char kex_names[] =
	"curve25519-sha256,mlkem768x25519-sha256,sntrup761x25519-sha512,"
	"sntrup761x25519-sha512@openssh.com,curve25519-sha256@libssh.org,ecdh-sha2-nistp256,"
	"ecdh-sha2-nistp384,ecdh-sha2-nistp521,mlkem768nistp256-sha256,"
	"diffie-hellman-group-exchange-sha256,diffie-hellman-group14-sha256,"
	"diffie-hellman-group1-sha1";
static const char hostkey_names[] =
	"ssh-ed25519,ecdsa-sha2-nistp256,rsa-sha2-512,rsa-sha2-256,ssh-rsa";
static const char cipher_names[] =
	"aes128-gcm@openssh.com,chacha20-poly1305@openssh.com,aes128-ctr,"
	"aes192-ctr,aes256-ctr,aes256-gcm@openssh.com";
static const char mac_names[] =
	"hmac-sha2-256-etm@openssh.com,umac-64-etm@openssh.com,umac-128-etm@openssh.com,"
	"hmac-sha2-512-etm@openssh.com,hmac-sha1-etm@openssh.com,umac-64@openssh.com,umac-128@"
	"openssh.com,hmac-sha2-256,hmac-sha2-512,hmac-sha1";
static const char comp_names[] = "none,zlib@openssh.com";

static const struct {
	const char *cipher, *mac, *comp;
} suites[STAGE_SUITES] = {
	{"aes128-gcm@openssh.com", "hmac-sha1", "none"},
	{"chacha20-poly1305@openssh.com", "hmac-sha1", "none"},
	{"aes128-ctr", "hmac-sha2-256-etm@openssh.com", "none"},
	{"aes256-ctr", "hmac-sha1", "none"},
	{"aes192-ctr", "umac-64@openssh.com", "none"},
	{"aes128-ctr", "umac-128-etm@openssh.com", "zlib@openssh.com"},
	{"aes128-gcm@openssh.com", "hmac-sha1", "zlib@openssh.com"},
	{"aes256-ctr", "hmac-sha2-512", "zlib@openssh.com"},
	{"aes128-cbc", "hmac-sha2-256", "none"},
	{"3des-cbc", "hmac-sha1-96-etm@openssh.com", "none"},
	{"arcfour", "hmac-md5", "none"},
	{"blowfish-cbc", "hmac-ripemd160", "none"},
	{"cast128-cbc", "umac-64-etm@openssh.com", "zlib@openssh.com"},
	{"arcfour256", "hmac-sha1", "zlib@openssh.com"},
	{"aes256-cbc", "hmac-md5-96", "zlib@openssh.com"},
	{"aes192-cbc", "hmac-sha2-512-etm@openssh.com", "none"},
};

static struct key *hostkey;
static struct buf hostkey_blob, frozen[2][STAGE_SUITES], group;
static struct tp_hostkey hostkeys[1];
static struct chunk_pool pool;

struct cslice stage_frozen(enum tp_role role, unsigned int suite)
{
	return buf_bytes(&frozen[role][suite % STAGE_SUITES]);
}

/* ---- life ---- */

void stage_init(struct stage *s, enum tp_role role)
{
	*s = (struct stage){.now_us = STAGE_NOW_US};
	rng_seeded_init(&s->rng, STAGE_SEED + (uint64_t)role);
	s->policy = (struct alg_policy){kex_names, hostkey_names, cipher_names, cipher_names,
		mac_names, mac_names, comp_names, comp_names};
	s->env = (struct tp_env){.role = role,
		.policy = &s->policy,
		.pool = &pool,
		.rng = &s->rng.rng,
		.version = role == TP_SERVER ? STAGE_S_NAME : STAGE_C_NAME,
		.hostkeys = hostkeys,
		.hostkeys_n = role == TP_SERVER ? 1 : 0};
	s->seal.pktc = &pktc_none;
}

void stage_start_fresh(struct stage *s)
{
	PROMISE(tp_new(&s->tp, &s->env, s->now_us) == OK);
}

void stage_start_keyed(struct stage *s, unsigned int suite)
{
	struct cslice frozen_one = stage_frozen(s->env.role, suite);
	PROMISE(tp_thaw(&s->tp, &s->env, frozen_one, s->now_us) == OK);
	s->has_version = s->is_negotiated = s->is_keyed = true;
}

void stage_fresh(struct stage *s, enum tp_role role)
{
	stage_init(s, role);
	stage_start_fresh(s);
}

void stage_keyed(struct stage *s, enum tp_role role, unsigned int suite)
{
	stage_init(s, role);
	stage_start_keyed(s, suite);
}

void stage_open_lent(struct stage *s)
{
	if (s->closed.n > 0)
		ASAN_UNPOISON_MEMORY_REGION(s->closed.p, s->closed.n);
	s->closed = s->lent = (struct span){NULL, NULL, 0};
}

/* What an event lent is over with the next poll: from then on nobody may look at it, until the
 * engine receives into that place again.  A span that somebody keeps, or inflated bytes, are left
 * alone. */
static void close_lent(struct stage *s)
{
	struct span lent = s->lent;
	if (lent.c == NULL)
		return;
	stage_open_lent(s);
	if (lent.n == 0 || lent.c->refs > 2 || s->tp->in_way.z_on)
		return;
	ASAN_POISON_MEMORY_REGION(lent.p, lent.n);
	s->closed = lent;
}

void stage_done(struct stage *s)
{
	stage_open_lent(s);
	tp_free(s->tp);
	tp_way_done(&s->seal);
	compress_free(s->seal_z);
	PROMISE(pool.used == 0); /* nothing is kept */
}

/* ---- what is promised ---- */

void stage_check_end(struct stage *s)
{
	struct tp *tp = s->tp;
	err_t e = tp_error(tp);
	if (e == OK)
		return;
	struct tp_event ev;
	struct slice room;
	struct buf out;
	size_t unsent = tp_unsent(tp);
	buf_init(&out, 1 << 16);
	PROMISE(tp_space(tp).n == 0);
	PROMISE(tp_fed(tp, 0, s->now_us) == e);
	PROMISE(tp_fed_eof(tp) == e);
	PROMISE(tp_reserve(tp, SSH_MSG_ignore, 4, &room) == e);
	PROMISE(tp_answer(tp, s->ask.ask, OK, cslice_of(NULL, 0)) == e);
	PROMISE(tp_tick(tp, s->now_us + 1000000) == e);
	PROMISE(tp_rekey(tp) == e);
	PROMISE(tp_disconnect(tp, 11, "no") == e);
	PROMISE(tp_freeze(tp, &out) == e && out.n == 0);
	PROMISE(tp_poll(tp, &ev) == e);
	PROMISE(tp_deadline(tp) == UINT64_MAX);
	PROMISE(tp_error(tp) == e && tp_unsent(tp) == unsent);
	buf_done(&out);
}

/* Written from the RFCs, not from the phase table: what a layer may ever be told. */
static void check_msg(const struct stage *s, const struct tp_event *ev)
{
	bool is_server = s->env.role == TP_SERVER;
	PROMISE(s->is_keyed);
	if (tp_is_open(s->tp)) {
		PROMISE(ev->msg >= 80 && ev->msg <= 100);
		return;
	}
	PROMISE(!s->tp->kex.is_got); /* doc/decisions/003: later it is borne with */
	switch (ev->msg) {
	case 5:
	case 50:
	case 61:
		PROMISE(is_server);
		break;
	default:
		PROMISE(!is_server &&
			(ev->msg == 6 || (ev->msg >= 51 && ev->msg <= 53) || ev->msg == 60));
	}
}

/* The order of events is a small automaton; every byte that is lent is there to be read. */
static void check_event(struct stage *s, const struct tp_event *ev)
{
	volatile uint8_t sum = 0;
	for (size_t i = 0; i < ev->body.n; i++)
		sum = (uint8_t)(sum + ev->body.p[i]);
	PROMISE(!s->is_closed);
	switch (ev->type) {
	case TP_EV_PRE_VERSION:
		PROMISE(s->env.role == TP_CLIENT && !s->has_version);
		break;
	case TP_EV_VERSION:
		PROMISE(!s->has_version);
		s->has_version = true;
		break;
	case TP_EV_NEGOTIATED:
		PROMISE(s->has_version);
		s->is_negotiated = true;
		break;
	case TP_EV_ASK_HOSTKEY:
	case TP_EV_ASK_SIGN:
	case TP_EV_ASK_GROUP:
		PROMISE(s->is_negotiated && !s->is_asked && ev->ask != 0);
		PROMISE((s->env.role == TP_CLIENT) == (ev->type == TP_EV_ASK_HOSTKEY));
		PROMISE(ev->type != TP_EV_ASK_GROUP ||
			(ev->min <= ev->want && ev->want <= ev->max));
		break;
	case TP_EV_KEYS:
		PROMISE(s->is_negotiated && ev->first == !s->is_keyed);
		PROMISE(!s->is_refused);
		s->is_keyed = true;
		s->keys_n++;
		break;
	case TP_EV_EXT_INFO:
		PROMISE(s->is_keyed);
		break;
	case TP_EV_MSG:
		check_msg(s, ev);
		break;
	case TP_EV_DEBUG:
		PROMISE(s->has_version);
		break;
	default:
		PROMISE(ev->type == TP_EV_CLOSED && s->has_version);
		PROMISE(tp_error(s->tp) == E_DISCONNECTED);
		s->is_closed = true;
	}
}

/* ---- questions ---- */

err_t stage_verdict(uint8_t byte)
{
	static const err_t verdicts[] = {
		OK, E_DENIED, E_PARTIAL, E_AGAIN, E_CANCELLED, E_MEM, E_HOSTKEY, OK};
	return verdicts[byte % ARRAY_N(verdicts)];
}

void stage_answer(struct stage *s, err_t verdict, struct cslice data)
{
	if (!s->is_asked)
		return;
	s->is_asked = false;
	s->is_refused = s->is_refused || verdict != OK;
	err_t before = tp_error(s->tp), e = tp_answer(s->tp, s->ask.ask, verdict, data);
	PROMISE(e == tp_error(s->tp) && (before == OK || e == before));
	PROMISE(verdict == OK || e != OK);
	if (e != OK)
		s->err = e;
}

/* The signature means nothing: who would look at it is the fuzzer. */
static void answer_at_once(struct stage *s)
{
	static const uint8_t signature[83] = {0, 0, 0, 11, 's', 's', 'h', '-', 'e', 'd', '2', '5',
		'5', '1', '9', 0, 0, 0, 64, 1, 2, 3};
	struct cslice data = cslice_of(NULL, 0);
	struct buf sig;
	buf_init(&sig, 4096);
	if (s->ask.type == TP_EV_ASK_SIGN && s->is_honest) {
		PROMISE(key_sign(hostkey, s->ask.alg, cslice_of(s->ask.body.p, s->ask.body.n),
				&sig) == OK);
		data = buf_bytes(&sig);
	} else if (s->ask.type == TP_EV_ASK_SIGN) {
		data = cslice_of(signature, sizeof(signature));
	} else if (s->ask.type == TP_EV_ASK_GROUP) {
		data = buf_bytes(&group);
	}
	stage_answer(s, s->verdict, data);
	buf_done(&sig);
}

/* ---- moving ---- */

void stage_drain(struct stage *s, size_t most)
{
	struct iovec iov[4];
	size_t n;
	while (most > 0 && (n = tp_ready(s->tp, iov, ARRAY_N(iov))) > 0) {
		size_t bytes = 0;
		for (size_t i = 0; i < n && bytes < most; i++) {
			size_t take = num_min(iov[i].iov_len, most - bytes);
			if (s->sent != NULL)
				s->sent(s, cslice_of(iov[i].iov_base, take));
			bytes += take;
		}
		PROMISE(bytes > 0 && bytes <= tp_unsent(s->tp));
		tp_sent(s->tp, bytes);
		most -= bytes;
	}
}

bool stage_poll(struct stage *s)
{
	struct tp_event ev;
	if (s->busy != NULL && s->busy(s))
		return false;
	close_lent(s);
	err_t before = tp_error(s->tp), e = tp_poll(s->tp, &ev);
	PROMISE(before == OK || e == before);
	PROMISE(pool.used <= STAGE_CHUNKS * CHUNK_SIZE);
	if (e != OK) {
		PROMISE(tp_error(s->tp) == e);
		s->err = e;
		return false;
	}
	if (ev.type == TP_EV_NONE)
		return false;
	check_event(s, &ev);
	s->lent = ev.body;
	if (ev.ask != 0) {
		s->ask = ev;
		s->is_asked = true;
		if (!s->is_late)
			answer_at_once(s);
	} else if (s->event != NULL && ev.type != TP_EV_CLOSED) {
		s->event(s, &ev);
	}
	return true;
}

void stage_pump(struct stage *s)
{
	bool more = true;
	if (s->settle != NULL) /* events of a tick or an answer are taken before the next message */
		s->settle(s);
	while (more) {
		bool was_busy = s->busy != NULL && s->busy(s);
		more = stage_poll(s);
		if (s->settle != NULL)
			s->settle(s);
		more = more || (was_busy && !s->busy(s));
		if (!s->is_stalled)
			stage_drain(s, SIZE_MAX);
	}
	if (tp_error(s->tp) != OK)
		stage_check_end(s);
}

void stage_feed(struct stage *s, struct cslice bytes)
{
	while (bytes.n > 0) {
		stage_open_lent(s);
		struct slice room = tp_space(s->tp);
		if (room.n == 0) {
			stage_pump(s);
			stage_open_lent(s);
			room = tp_space(s->tp);
		}
		size_t n = num_min(room.n, bytes.n);
		if (s->piece > 0)
			n = num_min(n, s->piece);
		if (n == 0)
			return; /* it waits for an answer, for memory, or it is over */
		memcpy(room.p, bytes.p, n);
		bytes = cslice_of(bytes.p + n, bytes.n - n);
		PROMISE(tp_fed(s->tp, n, s->now_us) == OK);
		if (!s->is_gathered)
			stage_pump(s);
	}
}

void stage_tick(struct stage *s, uint64_t us)
{
	stage_open_lent(s);
	s->now_us += us;
	err_t before = tp_error(s->tp), e = tp_tick(s->tp, s->now_us);
	PROMISE(e == tp_error(s->tp) && (before == OK || e == before));
	stage_pump(s);
}

/* ---- what the peer says ---- */

/* The peer's keys are the engine's own; its place in the stream is known when nothing waits. */
static bool seal_sync(struct stage *s)
{
	const struct tp_way *in = &s->tp->in_way;
	struct tp_way *seal = &s->seal;
	if (s->tp->in.at != s->tp->in.end || s->tp->in.discard != 0)
		return seal->pktc != &pktc_none || !in->is_keyed;
	bool is_same = seal->mat.cipher == in->mat.cipher && seal->mat.mac_row == in->mat.mac_row &&
		       memcmp(seal->mat.key.b, in->mat.key.b, in->mat.key.n) == 0;
	if (!is_same) {
		tp_way_done(seal);
		seal->mat = in->mat;
		if (in->is_keyed)
			PROMISE(tp_way_init(seal, PKTC_SEAL, false) == OK);
	}
	if (in->z == NULL) {
		compress_free(s->seal_z);
		s->seal_z = NULL;
	}
	seal->seq = in->seq;
	seal->packets = in->packets;
	seal->blocks = in->blocks;
	seal->z_on = in->z_on;
	return true;
}

static void seal_and_feed(struct stage *s, struct cslice payload, size_t pad, int8_t more)
{
	static uint8_t pkt[TP_PACKET_MAX + 1024];
	const struct pktc *p = s->seal.pktc;
	size_t n = TP_PAYLOAD_AT + payload.n + pad;
	if (n > TP_PACKET_MAX)
		return;
	be32_put(pkt, (uint32_t)(n - 4) + (uint32_t)more);
	pkt[4] = (uint8_t)pad;
	if (payload.n > 0)
		memcpy(pkt + TP_PAYLOAD_AT, payload.p, payload.n);
	memset(pkt + TP_PAYLOAD_AT + payload.n, 0, pad);
	/* a protection takes whole blocks; what is odd is odd behind a right length */
	if ((n - p->clear_len) % p->block == 0)
		p->seal(s->seal.ctx, (struct pktc_at){s->seal.seq, s->seal.packets, s->seal.blocks},
			pkt, n);
	tp_way_count(&s->seal, n);
	stage_feed(s, cslice_of(pkt, n + p->tag));
}

void stage_say(struct stage *s, struct cslice payload, bool is_packed)
{
	struct buf z;
	if (payload.n == 0 || tp_error(s->tp) != OK || !seal_sync(s))
		return;
	buf_init(&z, TP_PACKET_MAX);
	if (s->seal.z_on && !is_packed) {
		if (s->seal_z == NULL)
			PROMISE(compress_new(&s->seal_z, true) == OK);
		PROMISE(compress_run(s->seal_z, payload, &z, TP_PACKET_MAX) == OK);
		payload = buf_bytes(&z);
	}
	const struct pktc *p = s->seal.pktc;
	size_t unit = TP_PAYLOAD_AT - p->clear_len + payload.n;
	size_t pad = p->block - unit % p->block;
	while (pad < 4 || p->clear_len + unit + pad < 16)
		pad += p->block;
	seal_and_feed(s, payload, pad, 0);
	buf_done(&z);
}

void stage_say_odd(struct stage *s, struct cslice payload, uint8_t pad, int8_t more)
{
	if (tp_error(s->tp) != OK || !seal_sync(s))
		return;
	seal_and_feed(s, payload, pad, more);
}

bool stage_step(struct stage *s, const struct script_step *step)
{
	struct cslice d = step->data;
	switch (step->kind) {
	case SCRIPT_MSG:
	case SCRIPT_PACKED:
		stage_say(s, d, step->kind == SCRIPT_PACKED);
		return true;
	case SCRIPT_RAW:
		stage_feed(s, d);
		return true;
	case SCRIPT_TICK:
		stage_tick(s, (uint64_t)fuzz_u32(&d) * 1000);
		return true;
	case SCRIPT_ODD: {
		uint8_t pad = fuzz_u8(&d);
		int8_t more = (int8_t)fuzz_u8(&d);
		stage_say_odd(s, d, pad, more);
		return true;
	}
	case SCRIPT_DRAIN:
		stage_drain(s, fuzz_u16(&d));
		stage_pump(s);
		return true;
	default:
		return false;
	}
}

/* ---- the handshake that is made once ---- */

static bool carry(struct stage *from, struct stage *to)
{
	struct iovec iov;
	bool moved = false;
	while (tp_ready(from->tp, &iov, 1) > 0) {
		stage_feed(to, cslice_of(iov.iov_base, iov.iov_len));
		tp_sent(from->tp, iov.iov_len);
		moved = true;
	}
	stage_pump(to);
	return moved;
}

static void make_frozen(unsigned int suite)
{
	struct stage c, s;
	stage_init(&c, TP_CLIENT);
	stage_init(&s, TP_SERVER);
	c.policy.kex = "curve25519-sha256";
	c.policy.cipher_c2s = c.policy.cipher_s2c = suites[suite].cipher;
	c.policy.mac_c2s = c.policy.mac_s2c = suites[suite].mac;
	c.policy.comp_c2s = c.policy.comp_s2c = suites[suite].comp;
	s.policy = c.policy; /* what is old is not among what the stage offers by itself */
	PROMISE(tp_new(&c.tp, &c.env, c.now_us) == OK && tp_new(&s.tp, &s.env, s.now_us) == OK);
	s.is_honest = s.is_stalled = c.is_stalled = true;
	bool moved = true;
	while (moved) {
		moved = carry(&c, &s);
		moved |= carry(&s, &c);
	}
	PROMISE(c.is_keyed && s.is_keyed);
	struct stage *const ends[] = {[TP_CLIENT] = &c, [TP_SERVER] = &s};
	for (size_t role = 0; role < 2; role++) {
		buf_init(&frozen[role][suite], 1 << 16);
		PROMISE(tp_freeze(ends[role]->tp, &frozen[role][suite]) == OK);
		tp_free(ends[role]->tp);
	}
}

void stage_global(void)
{
	struct rng_seeded rng;
	struct dh *dh;
	PROMISE(crypto_init() == OK);
	rng_seeded_init(&rng, 1);
	chunk_pool_init(&pool, 16 * CHUNK_SIZE);
	buf_init(&hostkey_blob, 4096);
	buf_init(&group, 4096);
	PROMISE(key_generate(&hostkey, KEY_ED25519, 0, &rng.rng) == OK);
	PROMISE(key_blob(hostkey, &hostkey_blob) == OK);
	hostkeys[0] = (struct tp_hostkey){buf_bytes(&hostkey_blob)};
	PROMISE(dh_new_group(&dh, DH_GROUP14, 256, &rng.rng) == OK);
	buf_put_mpint(&group, dh_p(dh));
	buf_put_mpint(&group, dh_g(dh));
	dh_free(dh);
	for (unsigned int i = 0; i < STAGE_SUITES; i++)
		make_frozen(i);
}
