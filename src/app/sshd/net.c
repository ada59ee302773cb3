/* SPDX-License-Identifier: ISC */
/*
 * net - the network process: transport and authentication engines, all hostile bytes before login
 *
 * It holds nothing worth having: no key, no file, no account data.  Each question of the engines
 * becomes a request to the monitor, which decides.  When the user is in, the transport's state goes
 * to the monitor and this process ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "app/sshd/sshd.h"
#include "auth/au.h"
#include "os/child.h"
#include "os/drop.h"
#include "os/ev.h"
#include "os/fdpass.h"
#include "os/random.h"
#include "os/sandbox.h"
#include "privsep/ask.h"
#include "run/pump.h"

#define POOL_BYTES (4 * CHUNK_SIZE)
#define TEXT_MAX   8192

struct net {
	struct ev *ev;
	struct tp *tp;
	struct au_server *au;
	struct pump pump;
	struct ev_timer au_timer;
	struct ev_io chan; /* readable only when the monitor has gone: replies are waited for */
	struct ps_client ps;
	const struct title *title;
	int fd_in, fd_out;
	/* from the monitor's start: owned for the life of the process */
	char *version, *sig_algs;
	char *kex, *hostkey_algs, *ciphers, *macs, *comp;
	struct buf hostkeys;
	struct tp_hostkey keys[HOST_KEYS_MAX];
	size_t keys_n;
	struct alg_policy policy;
	struct chunk_pool pool;
	struct tp_env env;
	struct au_server_env au_env;
	char *methods, *pubkey_algs;
	struct buf banner;
	/* the key that was asked about last, so that a signature by it needs no second question */
	struct buf key_id;
	uint32_t key_token;
	char user[64]; /* without its style, for the title */
	bool is_in;
	err_t why;
};

static NORETURN void give_up(void)
{
	_exit(EXIT_FATAL);
}

/* ---- log: lines are data for the monitor ---- */
static void log_sink(void *arg, enum log_level level, const char *text)
{
	struct net *n = arg;
	struct ps_rep_log rep;
	if (n->ps.err != OK)
		return;
	if (ps_ask_log(&n->ps,
		    &(struct ps_req_log){.level = (uint32_t)level, .line = cslice_str(text)},
		    &rep) != OK)
		give_up();
}

err_t net_drop(void)
{
	uint32_t uid, gid;
	drop_dumpable();
	if (geteuid() == 0) {
		drop_net_account(&uid, &gid);
		TRY(drop_into_empty_root());
		TRY(drop_identity(uid, gid));
	}
	drop_dumpable(); /* a change of identity sets it again on some systems */
	return drop_new_privs();
}

/* ---- start ---- */
static err_t take_keys(struct net *n, const struct ps_rep_start *rep)
{
	buf_init(&n->hostkeys, rep->hostkeys.n + 1);
	buf_put(&n->hostkeys, rep->hostkeys.p, rep->hostkeys.n);
	TRY(buf_err(&n->hostkeys));
	struct rd r = rd_of(buf_bytes(&n->hostkeys));
	for (uint32_t i = 0; i < rep->hostkeys_n && i < HOST_KEYS_MAX; i++) {
		struct cslice blob = rd_str(&r);
		struct tp_hostkey *k = &n->keys[n->keys_n];
		if (r.bad)
			return E_FORMAT;
		k->blob = blob;
		n->keys_n++;
	}
	return rd_end(&r);
}

static err_t take_start(struct net *n)
{
	struct ps_rep_start rep;
	TRY(ps_ask_start(&n->ps, &(struct ps_req_start){0}, &rep));
	if (n->ps.fds_n < 1)
		return E_FORMAT;
	n->fd_in = n->ps.fds[0];
	n->fd_out = n->ps.fds_n > 1 ? n->ps.fds[1] : n->ps.fds[0];
	TRY(text_dup(rep.version, &n->version));
	TRY(text_dup(rep.kex, &n->kex));
	TRY(text_dup(rep.hostkey_algs, &n->hostkey_algs));
	TRY(text_dup(rep.ciphers, &n->ciphers));
	TRY(text_dup(rep.macs, &n->macs));
	TRY(text_dup(rep.compression, &n->comp));
	TRY(text_dup(rep.sig_algs, &n->sig_algs));
	TRY(take_keys(n, &rep));
	n->policy = (struct alg_policy){.kex = n->kex,
		.hostkey = n->hostkey_algs,
		.cipher_c2s = n->ciphers,
		.cipher_s2c = n->ciphers,
		.mac_c2s = n->macs,
		.mac_s2c = n->macs,
		.comp_c2s = n->comp,
		.comp_s2c = n->comp};
	n->env = (struct tp_env){.role = TP_SERVER,
		.policy = &n->policy,
		.pool = &n->pool,
		.rng = os_rng(),
		.version = n->version,
		.sig_algs = n->sig_algs,
		.hostkeys = n->keys,
		.hostkeys_n = n->keys_n};
	log_set(log_sink, n, (enum log_level)((int)rep.log_level - 1));
	return OK;
}

/* ---- the questions of the transport ---- */
static err_t ask_sign(struct net *n, const struct tp_event *e)
{
	enum hash_id hash; /* the monitor finds it by itself */
	struct ps_req_sign_host req = {
		.index = e->index, .alg = e->alg, .transcript = tp_transcript(n->tp, &hash)};
	struct ps_rep_sign_host rep;
	TRY(ps_ask_sign_host(&n->ps, &req, &rep));
	return tp_answer(n->tp, e->ask, rep.ok ? OK : E_KEX, rep.sig);
}

static err_t ask_group(struct net *n, const struct tp_event *e)
{
	struct ps_rep_moduli rep;
	struct buf out;
	TRY(ps_ask_moduli(&n->ps, &(struct ps_req_moduli){e->min, e->want, e->max, 0}, &rep));
	buf_init(&out, 4096);
	buf_put_mpint(&out, rep.p);
	buf_put_mpint(&out, rep.g);
	err_t verdict = !rep.ok ? E_KEX : buf_err(&out);
	err_t e2 = tp_answer(
		n->tp, e->ask, verdict, verdict == OK ? buf_bytes(&out) : cslice_of(NULL, 0));
	buf_done(&out);
	return e2;
}

/* ---- the questions of authentication ---- */
/* This process is not told whether an account exists.  What is none may be a password typed too
 * early, so the name is shown once the monitor has said something that only an account gets. */
static void show_user(const struct net *n)
{
	title_set(n->title, "sshd: %s [net]", n->user);
}

static err_t ask_user(struct net *n, const struct au_event *e)
{
	struct ps_rep_pwnam rep;
	TRY(ps_ask_pwnam(
		&n->ps, &(struct ps_req_pwnam){.user = e->user, .service = e->service}, &rep));
	const uint8_t *style = e->user.n > 0 ? memchr(e->user.p, ':', e->user.n) : NULL;
	size_t user_n = style != NULL ? (size_t)(style - e->user.p) : e->user.n;
	(void)snprintf(n->user, sizeof(n->user), "%.*s", (int)user_n, (const char *)e->user.p);
	title_set(n->title, "sshd: unknown [net]");
	free(n->methods);
	free(n->pubkey_algs);
	n->methods = n->pubkey_algs = NULL;
	TRY(text_dup(rep.methods, &n->methods));
	TRY(text_dup(rep.pubkey_algs, &n->pubkey_algs));
	buf_clear(&n->banner);
	buf_put(&n->banner, rep.banner.p, rep.banner.n);
	TRY(buf_err(&n->banner));
	n->au_env.methods = n->methods;
	n->au_env.pubkey_algs = n->pubkey_algs;
	n->au_env.max_tries = rep.max_tries;
	n->au_env.fail_delay_us = rep.fail_delay_us;
	n->au_env.banner = buf_bytes(&n->banner);
	return au_server_answer(n->au, e->ask, OK, cslice_of(NULL, 0));
}

static err_t ask_key(struct net *n, const struct au_event *e, bool *ok)
{
	struct ps_rep_key_allowed rep;
	TRY(ps_ask_key_allowed(
		&n->ps, &(struct ps_req_key_allowed){.alg = e->alg, .blob = e->blob}, &rep));
	buf_clear(&n->key_id);
	if (rep.ok) {
		show_user(n);
		buf_put_string(&n->key_id, e->alg);
		buf_put_string(&n->key_id, e->blob);
		n->key_token = rep.token;
	}
	*ok = rep.ok;
	return buf_err(&n->key_id);
}

static bool is_last_key(const struct net *n, const struct au_event *e)
{
	struct rd r = rd_of(buf_bytes(&n->key_id));
	struct cslice alg = rd_str(&r), blob = rd_str(&r);
	return rd_end(&r) == OK && n->key_id.n > 0 && cslice_eq(alg, e->alg) &&
	       cslice_eq(blob, e->blob);
}

static err_t answer(struct net *n, const struct au_event *e, bool ok, struct cslice left)
{
	err_t verdict = ok ? OK : left.n > 0 ? E_PARTIAL : E_DENIED;
	return au_server_answer(
		n->au, e->ask, verdict, verdict == E_PARTIAL ? left : cslice_of(NULL, 0));
}

static err_t ask_verify(struct net *n, const struct au_event *e)
{
	struct ps_rep_key_verify rep;
	bool ok = is_last_key(n, e);
	if (!ok)
		TRY(ask_key(n, e, &ok));
	if (!ok)
		return answer(n, e, false, cslice_of(NULL, 0));
	struct ps_req_key_verify req = {
		.token = n->key_token, .is_hostbound = e->is_hostbound, .sig = e->data};
	buf_clear(&n->key_id); /* a token serves once */
	TRY(ps_ask_key_verify(&n->ps, &req, &rep));
	return answer(n, e, rep.ok, rep.left);
}

/* This device has one prompt: one response, none at the start. */
static err_t ask_kbdint(struct net *n, const struct au_event *e)
{
	struct rd r = rd_of(e->data);
	struct ps_req_kbdint req = {.is_answer = e->attempt > 0, .response = {NULL, 0}};
	struct ps_rep_kbdint rep;
	if (req.is_answer) {
		req.response = rd_str(&r);
		if (rd_end(&r) != OK)
			return au_server_answer(n->au, e->ask, E_DENIED, cslice_of(NULL, 0));
	}
	TRY(ps_ask_kbdint(&n->ps, &req, &rep));
	if (!rep.asks)
		return answer(n, e, rep.ok, rep.left);
	uint8_t room[512];
	uint8_t prompts[256];
	struct wr pw = wr_of((struct slice){prompts, sizeof(prompts)});
	wr_str(&pw, rep.prompt);
	wr_u8(&pw, 0); /* no echo */
	struct ssh_info_request info = {.count = 1, .prompts = cslice_of(prompts, pw.n)};
	struct wr w = wr_of((struct slice){room, sizeof(room)});
	ssh_put_info_request(&w, &info);
	TRY(wr_end(&pw));
	TRY(wr_end(&w));
	return au_server_answer(n->au, e->ask, E_AGAIN, cslice_of(room, w.n));
}

static err_t on_auth_event(struct net *n, const struct au_event *e)
{
	bool ok = false;
	switch (e->type) {
	case AU_EV_ASK_USER:
		return ask_user(n, e);
	case AU_EV_ASK_NONE: {
		struct ps_rep_auth_none rep;
		TRY(ps_ask_auth_none(&n->ps, &(struct ps_req_auth_none){0}, &rep));
		return answer(n, e, rep.ok, rep.left);
	}
	case AU_EV_ASK_KEY:
		TRY(ask_key(n, e, &ok));
		return answer(n, e, ok, cslice_of(NULL, 0));
	case AU_EV_ASK_VERIFY:
		return ask_verify(n, e);
	case AU_EV_ASK_PASSWORD_CHECK: {
		struct ps_rep_auth_password rep;
		TRY(ps_ask_auth_password(
			&n->ps, &(struct ps_req_auth_password){.password = e->data}, &rep));
		return answer(n, e, rep.ok, rep.left);
	}
	case AU_EV_ASK_KBDINT:
		return ask_kbdint(n, e);
	case AU_EV_REFUSED:        /* the monitor has told it to the log */
	case AU_EV_KBDINT_STOPPED: /* the monitor keeps no conversation: the next answers stand
				      alone */
		return OK;
	default:
		return E_BUG;
	}
}

static err_t poll_auth(struct net *n)
{
	for (;;) {
		struct au_event e = {0};
		TRY(au_server_poll(n->au, &e));
		if (e.type == AU_EV_LOGGED_IN) {
			show_user(n);
			n->is_in = true;
			return OK;
		}
		if (e.type == AU_EV_NONE) {
			ev_timer_set(n->ev, &n->au_timer, au_server_deadline(n->au));
			return OK;
		}
		TRY(on_auth_event(n, &e));
	}
}

static void leave_when_in(struct net *n)
{
	if (n->is_in && !tp_is_rekeying(n->tp)) {
		pump_stop(&n->pump);
		ev_stop(n->ev);
	}
}

static void on_au_timer(struct ev_timer *t, uint64_t now_us)
{
	struct net *n = t->arg;
	err_t e = au_server_tick(n->au, now_us);
	if (e == OK)
		e = poll_auth(n);
	if (e != OK)
		tp_fail(n->tp, e);
	leave_when_in(n);
	if (!n->is_in)
		pump_kick(&n->pump);
}

/* ---- events of the transport ---- */
static err_t on_message(struct net *n, const struct tp_event *e)
{
	TRY(au_server_msg(n->au, e->msg, cslice_of(e->body.p, e->body.n), ev_now(n->ev)));
	TRY(poll_auth(n));
	leave_when_in(n);
	/* Nothing more is taken while a failure waits for its time, or once the user is in. */
	return n->is_in || au_server_busy(n->au) ? E_AGAIN : OK;
}

/* What waited for the end of a key exchange goes out with the next packets. */
static err_t before_send(void *arg)
{
	struct net *n = arg;
	if (!n->is_in)
		TRY(poll_auth(n));
	leave_when_in(n);
	return OK;
}

static err_t on_event(void *arg, struct tp_event *e)
{
	struct net *n = arg;
	switch (e->type) {
	case TP_EV_ASK_SIGN:
		return ask_sign(n, e);
	case TP_EV_ASK_GROUP:
		return ask_group(n, e);
	case TP_EV_MSG:
		return n->is_in ? E_PHASE : on_message(n, e);
	case TP_EV_CLOSED: {
		/* told at once: the text lives until the next poll only */
		struct ps_rep_ended rep;
		struct cslice text = cslice_of(e->body.p, e->body.n);
		if (text.n > 0 && memchr(text.p, 0, text.n) != NULL)
			text.n = 0;
		(void)!ps_ask_ended(&n->ps,
			&(struct ps_req_ended){
				.why = E_DISCONNECTED, .reason = e->reason, .words = text},
			&rep);
		_exit(EXIT_FATAL);
	}
	default:
		return OK;
	}
}

/* ---- the end ---- */
static void describe(struct net *n, err_t why, struct buf *out)
{
	static const struct {
		err_t why;
		enum alg_kind kind;
	} offers[] = {{E_NO_KEX, ALG_KEX}, {E_NO_HOSTKEY, ALG_HOSTKEY}, {E_NO_CIPHER, ALG_CIPHER},
		{E_NO_MAC, ALG_MAC}, {E_NO_COMPRESSION, ALG_COMPRESSION}};
	struct cslice text = {NULL, 0};
	for (size_t i = 0; i < ARRAY_N(offers); i++)
		if (offers[i].why == why)
			text = tp_peer_offer(n->tp, offers[i].kind);
	if (why == E_NOT_SSH || why == E_VERSION)
		text = tp_peer_noise(n->tp);
	vis_put(out, cslice_of(text.p, num_min(text.n, TEXT_MAX / 4)));
}

static void on_closed(void *arg, err_t why)
{
	struct net *n = arg;
	struct ps_rep_ended rep;
	struct buf words;
	buf_init(&words, TEXT_MAX);
	describe(n, why, &words);
	(void)!ps_ask_ended(&n->ps,
		&(struct ps_req_ended){.why = (uint32_t)why, .words = buf_bytes(&words)}, &rep);
	_exit(EXIT_FATAL);
}

/* What is sealed goes out first: the frozen engine starts with nothing to send. */
static err_t drain(struct net *n)
{
	int flags = fcntl(n->fd_out, F_GETFL);
	if (flags < 0 || fcntl(n->fd_out, F_SETFL, flags & ~O_NONBLOCK) < 0)
		return E_IO;
	for (;;) {
		struct iovec iov[16];
		size_t count = tp_ready(n->tp, iov, ARRAY_N(iov));
		if (count == 0)
			return OK;
		ssize_t done = writev(n->fd_out, iov, (int)count);
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return E_CLOSED;
		tp_sent(n->tp, (size_t)done);
	}
}

static err_t hand_over(struct net *n)
{
	struct buf frozen;
	struct ps_rep_state rep;
	TRY(drain(n));
	buf_init(&frozen, PS_BIG_MAX - 64);
	err_t e = tp_freeze(n->tp, &frozen);
	if (e == OK)
		e = ps_ask_state(
			&n->ps, &(struct ps_req_state){.frozen = buf_bytes(&frozen)}, &rep);
	buf_done(&frozen);
	return e;
}

static void on_chan(struct ev_io *io, unsigned happened)
{
	_exit(EXIT_FATAL);
}

static err_t run(struct net *n)
{
	n->chan = (struct ev_io){.fd = n->ps.fd, .want = EV_IN, .on = on_chan, .arg = n};
	TRY(ev_io_add(n->ev, &n->chan));
	n->au_env.tp = n->tp;
	n->au_env.methods = "publickey"; /* until the user is known */
	n->au_env.pubkey_algs = n->hostkey_algs;
	n->au_env.max_tries = 1;
	TRY(au_server_new(&n->au, &n->au_env));
	n->au_timer = (struct ev_timer){.at_us = UINT64_MAX, .on = on_au_timer, .arg = n};
	n->pump = (struct pump){.ev = n->ev,
		.tp = n->tp,
		.fd_in = n->fd_in,
		.fd_out = n->fd_out,
		.arg = n,
		.on_event = on_event,
		.before_send = before_send,
		.on_closed = on_closed};
	TRY(pump_start(&n->pump));
	return ev_run(n->ev);
}

static err_t start(struct net *n, const struct sandbox *sandbox)
{
	TRY(ev_new(&n->ev));
	TRY(take_start(n));
	chunk_pool_init(&n->pool, POOL_BYTES);
	buf_init(&n->banner, 256 << 10);
	buf_init(&n->key_id, 64 << 10);
	TRY(tp_new(&n->tp, &n->env, os_monotonic_us()));
	return sandbox_enter(sandbox);
}

void net_main(int chan, const struct sandbox *sandbox, bool is_dropped, const struct title *title)
{
	struct net *n = calloc(1, sizeof(*n));
	if (n == NULL)
		give_up();
	n->title = title;
	ps_client_init(&n->ps, chan);
	child_set_name("sshd-auth");
	title_set(title, "sshd: [net]");
	drop_dumpable();
	if (!is_dropped && net_drop() != OK)
		give_up();
	err_t e = start(n, sandbox);
	if (e == OK)
		e = run(n);
	if (e == OK && n->is_in)
		e = hand_over(n);
	if (e != OK) {
		log_put(LOG_L_ERROR, "network process: %s", err_text(e));
		_exit(EXIT_FATAL);
	}
	_exit(0);
}
