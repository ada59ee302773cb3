/* SPDX-License-Identifier: ISC */
/*
 * kexinit - the two proposals and what follows from them (RFC 4253 7.1)
 *
 * Our KEXINIT goes out with the version line, before the peer's is known.  The two pseudo names
 * (ext-info, kex-strict) are in the first one only (compat 7.1).
 */
#include "base/log.h"
#include "base/text.h"
#include "transport/tp_int.h"

#define KEXINIT_MAX 65536u

bool tp_kex_is_active(const struct tp *tp)
{
	return tp->kex.is_sent || tp->kex.is_got;
}

/* ---- ours ---- */

static void put_joined(struct buf *b, const char *name, size_t n)
{
	if (b->n > 0)
		buf_put_u8(b, ',');
	buf_put(b, name, n);
}

static bool is_kex_withheld(const struct tp *tp, struct cslice name)
{
	const struct alg_kex *row = alg_kex_find(name);
	return row != NULL && row->family == KEX_X25519 &&
	       (tp->peer_flags & TP_PEER_NO_CURVE25519) != 0;
}

static void put_kex_names(const struct tp *tp, struct buf *out)
{
	struct buf b;
	buf_init(&b, KEXINIT_MAX);
	struct cslice rest = cslice_str(tp->env->policy->kex), name;
	while (list_next(&rest, &name))
		if (!is_kex_withheld(tp, name))
			put_joined(&b, (const char *)name.p, name.n);
	if (!tp->is_first_done) {
		const char *pseudo = tp->is_server ? "ext-info-s,kex-strict-s-v00@openssh.com"
						   : "ext-info-c,kex-strict-c-v00@openssh.com";
		put_joined(&b, pseudo, strlen(pseudo));
	}
	if (buf_err(&b) == OK)
		buf_put_string(out, buf_bytes(&b));
	else
		out->err = b.err;
	buf_done(&b);
}

static bool have_hostkey(const struct tp *tp, struct cslice alg, uint32_t *index)
{
	for (size_t i = 0; i < tp->env->hostkeys_n; i++) {
		if (key_alg_fits_blob(tp->env->hostkeys[i].blob, alg)) {
			*index = (uint32_t)i;
			return true;
		}
	}
	return false;
}

/* A server offers only what it has a key for. */
static void put_hostkey_names(const struct tp *tp, struct buf *out)
{
	struct buf b;
	buf_init(&b, KEXINIT_MAX);
	struct cslice rest = cslice_str(tp->env->policy->hostkey), name;
	uint32_t index;
	while (list_next(&rest, &name))
		if (!tp->is_server || have_hostkey(tp, name, &index))
			put_joined(&b, (const char *)name.p, name.n);
	if (buf_err(&b) == OK)
		buf_put_string(out, buf_bytes(&b));
	else
		out->err = b.err;
	buf_done(&b);
}

err_t tp_kexinit_send(struct tp *tp)
{
	struct buf *b = &tp->kex.my_init;
	const struct alg_policy *p = tp->env->policy;
	buf_clear(b);
	buf_put_u8(b, SSH_MSG_kexinit);
	uint8_t *cookie = buf_room(b, 16);
	if (cookie != NULL)
		rng_fill(tp->env->rng, cookie, 16);
	put_kex_names(tp, b);
	put_hostkey_names(tp, b);
	const char *const lists[] = {p->cipher_c2s, p->cipher_s2c, p->mac_c2s, p->mac_s2c,
		p->comp_c2s, p->comp_s2c, "", ""};
	for (size_t i = 0; i < ARRAY_N(lists); i++)
		buf_put_cstring(b, lists[i]);
	buf_put_u8(b, 0);  /* no guess follows */
	buf_put_u32(b, 0); /* reserved */
	TRY(buf_err(b));
	TRY(tp_out_msg(tp, SSH_MSG_kexinit, cslice_of(b->p + 1, b->n - 1)));
	tp->kex.is_sent = true;
	tp->want_rekey = false;
	log_debug1("SSH2_MSG_KEXINIT sent");
	return OK;
}

/* ---- the choice ---- */

/* RFC4253 7.1: the first name of the client's list that the server has too. */
static bool pick(struct cslice client, struct cslice server, struct cslice *out)
{
	struct cslice name;
	while (list_next(&client, &name)) {
		if (list_has(server, name)) {
			*out = name;
			return true;
		}
	}
	return false;
}

struct offer { /* both KEXINITs by side */
	const struct ssh_kexinit *c, *s;
};

static err_t no_match(struct tp *tp, enum alg_kind kind, bool s2c)
{
	static const err_t errs[] = {[ALG_KEX] = E_NO_KEX,
		[ALG_HOSTKEY] = E_NO_HOSTKEY,
		[ALG_CIPHER] = E_NO_CIPHER,
		[ALG_MAC] = E_NO_MAC,
		[ALG_COMPRESSION] = E_NO_COMPRESSION};
	tp->failed_kind = kind;
	tp->failed_s2c = s2c;
	return errs[kind];
}

static err_t choose_way(struct tp *tp, const struct offer *o, bool s2c, struct alg_choice *out)
{
	struct cslice name;
	if (!pick(s2c ? o->c->cipher_s2c : o->c->cipher_c2s,
		    s2c ? o->s->cipher_s2c : o->s->cipher_c2s, &name))
		return no_match(tp, ALG_CIPHER, s2c);
	const struct alg_cipher *cipher = alg_cipher_find(name);
	if (cipher == NULL)
		return no_match(tp, ALG_CIPHER, s2c);
	const struct alg_mac *mac = NULL;
	if ((cipher->flags & AF_AEAD) == 0) {
		bool is_match = pick(s2c ? o->c->mac_s2c : o->c->mac_c2s,
			s2c ? o->s->mac_s2c : o->s->mac_c2s, &name);
		mac = is_match ? alg_mac_find(name) : NULL;
		if (mac == NULL)
			return no_match(tp, ALG_MAC, s2c);
	}
	bool is_match = pick(s2c ? o->c->comp_s2c : o->c->comp_c2s,
		s2c ? o->s->comp_s2c : o->s->comp_c2s, &name);
	const struct alg_comp *comp = is_match ? alg_comp_find(name) : NULL;
	if (comp == NULL)
		return no_match(tp, ALG_COMPRESSION, s2c);
	if (s2c) {
		out->s2c.cipher = cipher;
		out->s2c.mac = mac;
		out->s2c.comp = comp;
	} else {
		out->c2s.cipher = cipher;
		out->c2s.mac = mac;
		out->c2s.comp = comp;
	}
	return OK;
}

static err_t choose(struct tp *tp, const struct offer *o, struct alg_choice *out)
{
	struct cslice name;
	out->kex = pick(o->c->kex, o->s->kex, &name) ? alg_kex_find(name) : NULL;
	if (out->kex == NULL)
		return no_match(tp, ALG_KEX, false);
	out->hostkey = pick(o->c->hostkey, o->s->hostkey, &name) ? alg_hostkey_find(name) : NULL;
	if (out->hostkey == NULL)
		return no_match(tp, ALG_HOSTKEY, false);
	if (tp->is_server && !have_hostkey(tp, name, &tp->hostkey_index))
		return no_match(tp, ALG_HOSTKEY, false);
	TRY(choose_way(tp, o, false, out));
	return choose_way(tp, o, true, out);
}

static bool same_first(struct cslice a, struct cslice b)
{
	struct cslice x, y;
	return list_next(&a, &x) && list_next(&b, &y) && cslice_eq(x, y);
}

static void log_way(const char *label, const struct alg_cipher *c, const struct alg_mac *m,
	const struct alg_comp *z)
{
	log_debug1("kex: %s cipher: %s MAC: %s compression: %s", label, c->name,
		m != NULL ? m->name : "<implicit>", z->name);
}

static void log_choice(const struct alg_choice *c)
{
	log_debug1("kex: algorithm: %s", c->kex->name);
	log_debug1("kex: host key algorithm: %s", c->hostkey->name);
	log_way("server->client", c->s2c.cipher, c->s2c.mac, c->s2c.comp);
	log_way("client->server", c->c2s.cipher, c->c2s.mac, c->c2s.comp);
}

/* ---- theirs ---- */

/* Only the first KEXINITs speak of extensions and of strictness, which needs both sides. */
static err_t take_pseudo(
	struct tp *tp, const struct ssh_kexinit *mine, const struct ssh_kexinit *theirs)
{
	static const char *const ext[] = {"ext-info-c", "ext-info-s"};
	static const char *const strict[] = {
		"kex-strict-c-v00@openssh.com", "kex-strict-s-v00@openssh.com"};
	if (tp->is_first_done)
		return OK;
	size_t me = tp->is_server, peer = !tp->is_server;
	tp->peer_wants_ext = list_has(theirs->kex, cslice_str(ext[peer]));
	tp->is_strict = list_has(mine->kex, cslice_str(strict[me])) &&
			list_has(theirs->kex, cslice_str(strict[peer]));
	if (tp->is_strict)
		log_debug1("will use strict KEX ordering");
	/* compat 7.1: then KEXINIT must have been the very first packet */
	return tp->is_strict && tp->in_way.seq != 1 ? E_UNEXPECTED : OK;
}

/* Both proposals, list by list, in the words that scripts look for. */
static void tell_proposal(const char *whose, const struct ssh_kexinit *m)
{
	const struct {
		const char *title;
		struct cslice names;
	} lists[] = {{"KEX algorithms", m->kex}, {"host key algorithms", m->hostkey},
		{"ciphers ctos", m->cipher_c2s}, {"ciphers stoc", m->cipher_s2c},
		{"MACs ctos", m->mac_c2s}, {"MACs stoc", m->mac_s2c},
		{"compression ctos", m->comp_c2s}, {"compression stoc", m->comp_s2c},
		{"languages ctos", m->lang_c2s}, {"languages stoc", m->lang_s2c}};
	log_debug2("%s KEXINIT proposal", whose);
	for (size_t i = 0; i < ARRAY_N(lists); i++)
		log_debug2("%s: %.*s", lists[i].title, (int)num_min(lists[i].names.n, KEXINIT_MAX),
			(const char *)lists[i].names.p);
	log_debug2("first_kex_follows %d", m->first_kex_packet_follows);
	log_debug2("reserved %u", m->reserved);
}

static err_t negotiate(struct tp *tp)
{
	struct ssh_kexinit mine, theirs;
	struct cslice a = buf_bytes(&tp->kex.my_init), b = buf_bytes(&tp->kex.peer_init);
	TRY(ssh_get_kexinit(cslice_of(a.p + 1, a.n - 1), &mine));
	TRY(ssh_get_kexinit(cslice_of(b.p + 1, b.n - 1), &theirs));
	tell_proposal(tp->is_server ? "local server" : "local client", &mine);
	tell_proposal(tp->is_server ? "peer client" : "peer server", &theirs);
	TRY(take_pseudo(tp, &mine, &theirs));
	struct offer o = {tp->is_server ? &theirs : &mine, tp->is_server ? &mine : &theirs};
	struct alg_choice choice = {0};
	TRY(choose(tp, &o, &choice));
	tp->choice = choice;
	tp->kex.skip_guess =
		theirs.first_kex_packet_follows &&
		!(same_first(mine.kex, theirs.kex) && same_first(mine.hostkey, theirs.hostkey));
	return OK;
}

err_t tp_kexinit_got(struct tp *tp, struct cslice payload)
{
	struct ssh_kexinit m;
	TRY(ssh_get_kexinit(cslice_of(payload.p + 1, payload.n - 1), &m));
	log_debug1("SSH2_MSG_KEXINIT received");
	struct buf *b = &tp->kex.peer_init;
	buf_clear(b);
	buf_put(b, payload.p, payload.n);
	TRY(buf_err(b));
	tp->kex.is_got = true;
	if (!tp->kex.is_sent)
		TRY(tp_kexinit_send(tp));
	TRY(negotiate(tp));
	log_choice(&tp->choice);
	tp_event_add(tp, &(struct tp_event){.type = TP_EV_NEGOTIATED});
	return tp->is_server ? tp_server_start(tp) : tp_client_start(tp);
}

err_t tp_kex_message(struct tp *tp, uint8_t msg, struct cslice body)
{
	return tp->is_server ? tp_server_message(tp, msg, body) : tp_client_message(tp, msg, body);
}

/* ---- the end of an exchange ---- */

void tp_kex_wipe(struct tp *tp)
{
	kex_free(tp->kex.k);
	tp->kex.k = NULL;
	buf_done(&tp->kex.k_encoded);
	buf_done(&tp->kex.transcript);
}

static void drop_all(struct tp *tp)
{
	struct tp_kex *x = &tp->kex;
	tp_kex_wipe(tp);
	struct buf *const bufs[] = {&x->my_init, &x->qc, &x->qs, &x->hostkey, &x->gex_p, &x->gex_g};
	for (size_t i = 0; i < ARRAY_N(bufs); i++)
		buf_done(bufs[i]);
	wipe(x->h, sizeof(x->h));
	x->h_n = 0;
}

void tp_kex_clear(struct tp *tp)
{
	struct tp_kex *x = &tp->kex;
	drop_all(tp);
	x->is_sent = x->is_got = x->is_out_done = x->skip_guess = x->gex_old = false;
	x->step = TP_STEP_NONE;
}

void tp_kex_init(struct tp *tp)
{
	struct tp_kex *x = &tp->kex;
	struct buf *const bufs[] = {&x->my_init, &x->peer_init, &x->qc, &x->qs, &x->k_encoded,
		&x->hostkey, &x->gex_p, &x->gex_g};
	for (size_t i = 0; i < ARRAY_N(bufs); i++)
		buf_init(bufs[i], TP_PACKET_MAX);
	buf_init(&x->transcript, TP_TRANSCRIPT_MAX);
}

void tp_kex_done(struct tp *tp)
{
	drop_all(tp);
	buf_done(&tp->kex.peer_init);
}

struct cslice tp_peer_offer(const struct tp *tp, enum alg_kind kind)
{
	const struct buf *b = &tp->kex.peer_init;
	struct ssh_kexinit m;
	if (b->n == 0 || ssh_get_kexinit(cslice_of(b->p + 1, b->n - 1), &m) != OK)
		return (struct cslice){NULL, 0};
	bool s2c = tp->failed_s2c;
	switch (kind) {
	case ALG_KEX:
		return m.kex;
	case ALG_HOSTKEY:
		return m.hostkey;
	case ALG_CIPHER:
		return s2c ? m.cipher_s2c : m.cipher_c2s;
	case ALG_MAC:
		return s2c ? m.mac_s2c : m.mac_c2s;
	case ALG_COMPRESSION:
		return s2c ? m.comp_s2c : m.comp_c2s;
	default:
		return (struct cslice){NULL, 0};
	}
}
