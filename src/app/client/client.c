/* SPDX-License-Identifier: ISC */
/* client - the run of every client: the pump's events, from the first byte to the end */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/client/client.h"
#include "os/child.h"

#define BLOB_MAX 65536

/* Words for the user: level INFO and above. */
void ssh_say(enum log_level level, const char *fmt, ...)
{
	char text[4096];
	va_list ap;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_put(level, "%s", text);
}

void ssh_say_lines(enum log_level level, struct cslice text)
{
	while (text.n > 0) {
		const uint8_t *end = memchr(text.p, '\n', text.n);
		size_t n = end != NULL ? (size_t)(end - text.p) : text.n;
		ssh_say(level, "%.*s", (int)n, (const char *)text.p);
		n = num_min(n + 1, text.n);
		text = cslice_of(text.p + n, text.n - n);
	}
}

void ssh_finish(struct ssh *s, int status, const char *disconnect_text)
{
	if (s->is_done)
		return;
	s->is_done = true;
	s->exit_status = status;
	if (disconnect_text != NULL && tp_error(s->tp) == OK &&
		tp_disconnect(s->tp, 11, disconnect_text) ==
			OK) { /* RFC4253 11.1: BY_APPLICATION */
		pump_kick(&s->pump);
		return;
	}
	pump_stop(&s->pump);
	ev_stop(s->ev);
}

/* ---- the pump's events --------------------------------------------------------------------------
 */
static void warn_old(const struct alg_choice *c)
{
	struct buf names;
	buf_init(&names, 4096);
	alg_legacy_names(c, &names);
	if (buf_err(&names) == OK && names.n > 0) {
		ssh_say(LOG_L_INFO, "** WARNING: connection is using outdated cryptography: %.*s.",
			(int)names.n, (const char *)names.p);
		ssh_say(LOG_L_INFO,
			"** Who is on its path may be able to read or change it (WarnWeakCrypto no "
			"silences this).");
	}
	buf_done(&names);
}

static bool has_pq(struct cslice list)
{
	struct cslice name;
	while (list_next(&list, &name)) {
		const struct alg_kex *k = alg_kex_find(name);
		if (k != NULL && (k->flags & AF_PQ) != 0)
			return true;
	}
	return false;
}

/* Which side keeps it from being one. */
static const char *why_no_pq(const struct ssh *s)
{
	if (has_pq(tp_peer_offer(s->tp, ALG_KEX)))
		return "The server offers one; KexAlgorithms of this side leaves it out or puts it "
		       "last";
	if (!has_pq(cslice_str(s->cfg.kex_algorithms)))
		return "KexAlgorithms of this side has none, and neither does the server";
	return "A newer server would offer a better one";
}

static void warn_weak(const struct ssh *s)
{
	const struct alg_choice *c = tp_choice(s->tp);
	if (s->logins > 0)
		return;
	if (s->cfg.warn_weak_crypto != CFG_WEAK_NO)
		warn_old(c);
	if (s->cfg.warn_weak_crypto != CFG_WEAK_YES || (c->kex->flags & AF_PQ) != 0)
		return;
	ssh_say(LOG_L_INFO,
		"** WARNING: connection is not using a post-quantum key exchange algorithm.");
	ssh_say(LOG_L_INFO,
		"** Who records it now may read it once large quantum computers exist.");
	ssh_say(LOG_L_INFO, "** %s (WarnWeakCrypto no silences this).", why_no_pq(s));
}

static err_t on_message(struct ssh *s, struct tp_event *e)
{
	if (e->msg < SSH_MSG_global_request)
		return login_message(s, e->msg, cslice_of(e->body.p, e->body.n));
	if (s->cn == NULL)
		return E_UNEXPECTED;
	TRY(cn_msg(s->cn, e->msg, e->body));
	return s->hooks->events(s);
}

static void on_version(const struct ssh *s)
{
	struct cslice v = tp_peer_version(s->tp);
	const uint8_t *dash = v.n > 4 ? memchr(v.p + 4, '-', v.n - 4) : NULL;
	if (dash == NULL)
		return;
	size_t at = (size_t)(dash - v.p);
	log_debug1("Remote protocol version %.*s, remote software version %.*s", (int)(at - 4),
		(const char *)v.p + 4, (int)(v.n - at - 1), (const char *)dash + 1);
	log_debug1("Authenticating to %s:%u as '%s'", s->host, s->cfg.port, s->user);
}

static void say_disconnect(const struct ssh *s, const struct tp_event *e)
{
	char peer[96];
	connect_peer(s, peer);
	ssh_say(LOG_L_ERROR, "Received disconnect from %s:%u: %.*s", peer, e->reason,
		(int)num_min(e->body.n, 1024), (const char *)e->body.p);
}

static void keep_offer(struct ssh *s)
{
	struct cslice offer = tp_peer_offer(s->tp, ALG_CIPHER);
	buf_clear(&s->peer_ciphers);
	buf_put(&s->peer_ciphers, offer.p, offer.n);
}

/* Something has come: the answer to what was sent, if it can be one. */
static void count_turn(struct ssh *s)
{
	bool is_late = ev_now(s->ev) >= s->sent_us + s->rtt_us / 2;
	if (s->sent_bytes <= s->answered_bytes || !is_late)
		return;
	s->answered_bytes = s->sent_bytes;
	s->turns++;
}

static void count_sent(struct ssh *s)
{
	struct tp_counts n;
	tp_counts(s->tp, &n);
	if (n.bytes_out == s->sent_bytes)
		return;
	s->sent_bytes = n.bytes_out;
	s->sent_us = ev_now(s->ev);
}

static err_t on_tp_event(void *arg, struct tp_event *e)
{
	struct ssh *s = arg;
	if (!s->is_logged_in)
		count_turn(s);
	switch (e->type) {
	case TP_EV_PRE_VERSION:
		log_debug1("banner line before the version: %.*s", (int)num_min(e->body.n, 1024),
			(const char *)e->body.p);
		return OK;
	case TP_EV_VERSION:
		on_version(s);
		return OK;
	case TP_EV_NEGOTIATED:
		if (!s->has_keys) {
			warn_weak(s);
			keep_offer(s);
		}
		return OK;
	case TP_EV_ASK_HOSTKEY: {
		err_t verdict = hostkey_check(s, e);
		return tp_answer(s->tp, e->ask, verdict, cslice_of(NULL, 0));
	}
	case TP_EV_KEYS:
		s->has_keys = true;
		return OK;
	case TP_EV_MSG:
		return on_message(s, e);
	case TP_EV_DEBUG:
		log_debug1("Remote: %.*s", (int)num_min(e->body.n, 1024), (const char *)e->body.p);
		return OK;
	case TP_EV_CLOSED:
		s->hooks->words(s);
		say_disconnect(s, e);
		if (s->is_login_started && !s->is_logged_in)
			login_say_cut(s, cslice_of(e->body.p, e->body.n));
		return OK;
	default:
		return OK;
	}
}

/* Every event of this turn has been handed out: an EXT_INFO that came with the keys is known. */
static err_t before_send(void *arg)
{
	struct ssh *s = arg;
	if (s->has_keys && !s->is_login_started)
		TRY(login_start(s));
	if (s->is_login_started && !s->is_logged_in)
		TRY(login_poll(s));
	if (!s->is_logged_in)
		count_sent(s);
	if (s->is_done)
		return OK;
	return s->cn != NULL ? s->hooks->poll(s) : OK;
}

static void on_closed(void *arg, err_t why)
{
	struct ssh *s = arg;
	s->why = why;
	s->hooks->closed(s);
}

/* ---- the run ------------------------------------------------------------------------------------
 */
err_t ssh_catch_signals(struct ssh *s, const int *signos, size_t n, ev_signal_fn *fn)
{
	return ev_signals(s->ev, signos, n, fn, s);
}

err_t ssh_connect(struct ssh *s)
{
	s->pump.arg = s;
	s->pump.on_event = on_tp_event;
	s->pump.before_send = before_send;
	s->pump.on_closed = on_closed;
	if (s->shared_ev != NULL)
		s->ev = s->shared_ev;
	else
		TRY(ev_new(&s->ev));
	TRY(connect_start(s));
	if (s->logins == 0)
		identities_load(s); /* while the server's first bytes are under way */
	return OK;
}

static void end_connection(struct ssh *s)
{
	forward_done(s);
	update_again(s);
	cn_free(s->cn);
	au_client_free(s->au);
	connect_done(s);
	buf_done(&s->methods);
	if (s->ev != s->shared_ev)
		ev_free(s->ev);
	s->cn = NULL;
	s->au = NULL;
	s->ev = NULL;
}

void ssh_again(struct ssh *s)
{
	end_connection(s);
	s->has_keys = s->is_login_started = s->is_logged_in = s->is_refused = s->is_done = false;
	s->is_proxied = false;
	s->why = OK;
	s->asked_us = s->sent_bytes = s->sent_us = s->answered_bytes = 0;
	s->turns = s->rtt_us = 0;
	s->alive_missed = 0;
	for (size_t i = 0; i < s->ids_n; i++)
		s->ids[i].fate = NULL;
	s->logins++;
}

void ssh_done(struct ssh *s)
{
	end_connection(s);
	identities_done(s);
	hostkey_done(s);
	update_done(s);
	buf_done(&s->accepted);
	buf_done(&s->peer_ciphers);
	if (s->has_cfg)
		client_config_done(&s->cfg);
	ssh_args_done(&s->args);
	me_done(&s->me);
	buf_done(&s->known_shown);
	free(s->host);
	free(s->user);
}

err_t ssh_begin(struct ssh *s)
{
	buf_init(&s->accepted, BLOB_MAX);
	buf_init(&s->peer_ciphers, BLOB_MAX);
	s->fd_in = s->fd_out = s->agent.fd = -1;
	child_open_stdio();
	os_sigpipe_ignore(); /* a proxy command may be dead before our first byte */
	logsink_start(&s->log, LOG_L_INFO);
	err_t e = crypto_init();
	if (e != OK) {
		fprintf(stderr, "%s: the cryptographic library cannot be used\r\n", s->program);
		return e;
	}
	e = me_load(&s->me);
	if (e != OK)
		fprintf(stderr, "%s: the user id %u has no account\r\n", s->program,
			(unsigned)getuid());
	return e;
}
