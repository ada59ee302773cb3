/* SPDX-License-Identifier: ISC */
/* monitor - one connection's monitor: its loop, the exchange's signatures, the words for the log */
#include "build_config.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "app/sshd/exchange.h"
#include "app/sshd/monitor.h"
#include "key/cert.h"
#include "os/child.h"
#include "os/drop.h"
#include "os/random.h"

#define GRACE_JITTER_US 4000000u
#define SIGN_EVERY_US   5000u /* after login: one signature in this time on average, */
#define LAST_READS      256
#define SIGN_AHEAD_US   1000000u /* so many at once as fit into this */

void mon_stop(struct monitor *m, int code)
{
	m->exit_code = code;
	ev_stop(m->ev);
}

const char *mon_who(const struct monitor *m, char *room, size_t n)
{
	if (!m->is_named)
		return "";
	(void)snprintf(room, n, "%s %.200s ", m->is_valid ? "authenticating user" : "invalid user",
		m->name);
	return room;
}

const char *mon_verdict_word(err_t e)
{
	return e == OK ? "Accepted" : e == E_PARTIAL ? "Partial" : "Failed";
}

void mon_log_try(const struct monitor *m, const char *verdict, const char *method, const char *what)
{
	bool is_key = strcmp(method, "publickey") == 0;
	bool is_guess = strcmp(method, "password") == 0 || strcmp(method, MON_KBDINT_ANSWER) == 0;
	bool is_loud = strcmp(verdict, "Accepted") == 0 ||
		       (strcmp(verdict, "Postponed") != 0 &&
			       ((!m->is_valid && !is_key) || is_guess ||
				       m->ps.rules.failures >= mon_conf(m)->max_auth_tries / 2));
	/* Log scanners count these lines.  Where every client begins with "none", that is no try,
	 * and a wrong name has its own line already. */
	if (strcmp(verdict, "Failed") == 0 && strcmp(method, "none") == 0)
		is_loud = false;
	log_put(is_loud ? LOG_L_INFO : LOG_L_VERBOSE,
		"%s %s for %s%.100s from %.200s port %u ssh2%s%s", verdict, method,
		m->is_valid ? "" : "invalid user ", m->name, m->ends.remote, m->ends.remote_port,
		what != NULL ? ": " : "", what != NULL ? what : "");
}

/* ---- requests ---- */
/* The names of the list that a host key here can serve, in the list's order. */
static void put_hostkey_algs(const struct monitor *m, const char *list, struct buf *out)
{
	struct cslice rest = cslice_str(list), name;
	size_t begin = out->n;
	while (list_next(&rest, &name)) {
		bool can = false;
		for (size_t i = 0; i < m->setup->keys.n && !can; i++)
			can = key_alg_fits_key(m->setup->keys.v[i].k, name);
		if (can)
			buf_printf(out, "%s%.*s", out->n > begin ? "," : "", (int)name.n,
				(const char *)name.p);
	}
}

static err_t mon_start(void *arg, const struct ps_req_start *req, struct ps_rep_start *rep)
{
	struct monitor *m = arg;
	const struct server_config *c = mon_conf(m);
	buf_clear(&m->reply);
	for (size_t i = 0; i < m->setup->keys.n; i++)
		buf_put_string(&m->reply, buf_bytes(&m->setup->keys.v[i].blob));
	TRY(buf_err(&m->reply));
	*rep = (struct ps_rep_start){.version = cslice_str((const char *)m->version.p),
		.kex = cslice_str(c->kex_algorithms),
		.hostkey_algs = cslice_str((const char *)m->hostkey_algs.p),
		.ciphers = cslice_str(c->ciphers),
		.macs = cslice_str(c->macs),
		.compression = cslice_str(
			c->compression == CFG_COMP_NO ? "none" : "none,zlib@openssh.com"),
		.sig_algs = cslice_str(c->pubkey_algorithms),
		.log_level = (uint32_t)(log_level() + 1),
		.hostkeys_n = (uint32_t)m->setup->keys.n,
		.hostkeys = buf_bytes(&m->reply)};
	m->ps.fds[0] = m->fds.in;
	m->ps.fds[1] = m->fds.out;
	m->ps.fds_n = m->fds.in == m->fds.out ? 1 : 2;
	return OK;
}

static err_t mon_moduli(void *arg, const struct ps_req_moduli *req, struct ps_rep_moduli *rep)
{
	struct monitor *m = arg;
	buf_clear(&m->reply);
	buf_clear(&m->reply2);
	if (req->max < req->want || req->want < req->min)
		return E_FORMAT;
	err_t e = moduli_choose(mon_conf(m)->moduli_file, req, &m->reply, &m->reply2);
	rep->ok = e == OK;
	if (e == OK) {
		rep->p = buf_bytes(&m->reply);
		rep->g = buf_bytes(&m->reply2);
	}
	return OK;
}

/* After login a rekey may be due at any time, but not a thousand a second: more of them wait. */
static void pace_signature(struct monitor *m)
{
	uint64_t now = os_monotonic_us();
	if (m->sign_at_us < now)
		m->sign_at_us = now;
	if (m->sign_at_us - now > SIGN_AHEAD_US) {
		struct timespec t = {.tv_nsec = SIGN_EVERY_US * 1000L};
		(void)nanosleep(&t, NULL);
	}
	m->sign_at_us += SIGN_EVERY_US;
}

static err_t mon_sign_host(
	void *arg, const struct ps_req_sign_host *req, struct ps_rep_sign_host *rep)
{
	struct monitor *m = arg;
	bool is_first = m->session_id_n == 0;
	if (req->index >= m->setup->keys.n)
		return E_FORMAT;
	const struct host_key *h = &m->setup->keys.v[req->index];
	if (!list_has(cslice_str(mon_conf(m)->hostkey_algorithms), req->alg) ||
		!key_alg_fits_key(h->k, req->alg))
		return E_NO_HOSTKEY;
	const struct exchange_rule rule = {.client_version = buf_bytes(&m->peer_version),
		.server_version = cslice_str((const char *)m->version.p),
		.hostkey = buf_bytes(&h->blob),
		.hostkey_alg = req->alg,
		.kex_algs = cslice_str(mon_conf(m)->kex_algorithms)};
	struct exchange x;
	TRY(exchange_check(req->transcript, &rule, &x));
	if (!is_first)
		pace_signature(m);
	buf_clear(&m->reply);
	TRY(host_key_sign(h, key_alg_sig(req->alg, NULL), cslice_of(x.hash, x.hash_n), &m->reply));
	if (is_first) {
		buf_put(&m->peer_version, x.client_version.p, x.client_version.n);
		TRY(buf_err(&m->peer_version));
		memcpy(m->session_id, x.hash, x.hash_n);
		m->session_id_n = x.hash_n;
		m->signed_index = req->index;
	}
	(void)snprintf(m->signed_alg, sizeof(m->signed_alg), "%.*s", (int)req->alg.n,
		(const char *)req->alg.p);
	rep->ok = true;
	rep->sig = buf_bytes(&m->reply);
	return OK;
}

/* RSA keys have several: that of the exchange where it had an RSA key, as clients expect no other.
 */
static struct cslice prove_alg(const struct monitor *m, enum key_type type)
{
	static const char *const rsa[] = {"rsa-sha2-512", "rsa-sha2-256"};
	struct cslice list = cslice_str(mon_conf(m)->hostkey_algorithms);
	struct cslice signed_by = key_alg_sig(cslice_str(m->signed_alg), NULL);
	if (signed_by.n > 0 && key_alg_fits(type, signed_by))
		return signed_by;
	for (size_t i = 0; type == KEY_RSA && i < ARRAY_N(rsa); i++)
		if (list_has(list, cslice_str(rsa[i])))
			return cslice_str(rsa[i]);
	return type == KEY_RSA ? cslice_of(NULL, 0) : cslice_str(key_type_name(type));
}

/*
 * What is signed has a form of its own, made here from what is known here: it is longer than any
 * exchange hash and begins with the name of its purpose, so it can never pass for one.
 */
static err_t mon_prove_host(
	void *arg, const struct ps_req_prove_host *req, struct ps_rep_prove_host *rep)
{
	struct monitor *m = arg;
	if (req->index >= m->setup->keys.n)
		return E_FORMAT;
	const struct host_key *h = &m->setup->keys.v[req->index];
	struct cslice alg = prove_alg(m, key_type_of(h->k));
	if (key_cert(h->k) != NULL) /* is told to nobody as a host key */
		return E_FORMAT;
	if (alg.n == 0)
		return OK; /* ok stays false */
	pace_signature(m);
	buf_clear(&m->reply);
	buf_clear(&m->reply2);
	buf_put_cstring(&m->reply2, "hostkeys-prove-00@openssh.com");
	buf_put_string(&m->reply2, cslice_of(m->session_id, m->session_id_n));
	buf_put_string(&m->reply2, buf_bytes(&h->blob));
	TRY(buf_err(&m->reply2));
	TRY(host_key_sign(h, alg, buf_bytes(&m->reply2), &m->reply));
	rep->ok = true;
	rep->sig = buf_bytes(&m->reply);
	return OK;
}

static err_t mon_log(void *arg, const struct ps_req_log *req, struct ps_rep_log *rep)
{
	const struct monitor *m = arg;
	/* Data, whatever it says: no format, one line, marked before login. */
	if (req->level > LOG_L_DEBUG3)
		return E_FORMAT;
	log_put((enum log_level)req->level, "%.*s%s", (int)num_min(req->line.n, 4096),
		(const char *)req->line.p, m->session > 0 ? "" : " [preauth]");
	return OK;
}

static void log_end(const struct monitor *m, err_t why, uint32_t reason, const char *words)
{
	char room[300];
	const char *who = mon_who(m, room, sizeof(room)), *a = m->ends.remote;
	unsigned port = m->ends.remote_port;
	switch (why) {
	case E_CLOSED:
		log_put(LOG_L_INFO, "Connection closed by %s%s port %u [preauth]", who, a, port);
		break;
	case E_IO:
		log_put(LOG_L_INFO, "Connection reset by %s%s port %u [preauth]", who, a, port);
		break;
	case E_DISCONNECTED:
		log_put(LOG_L_INFO, "Received disconnect from %s port %u:%u: %.400s [preauth]", a,
			port, reason, words);
		log_put(LOG_L_INFO, "Disconnected from %s%s port %u [preauth]", who, a, port);
		break;
	case E_NOT_SSH:
		log_put(LOG_L_ERROR,
			"kex_exchange_identification: client sent invalid protocol identifier "
			"\"%.256s\"",
			words);
		log_put(LOG_L_INFO, "banner exchange: Connection from %s port %u: invalid format",
			a, port);
		break;
	case E_VERSION:
		log_put(LOG_L_INFO, "Protocol major versions differ for %s port %u: %s vs. %.256s",
			a, port, BOWLINE_IDENTIFICATION, words);
		log_put(LOG_L_INFO,
			"banner exchange: Connection from %s port %u: could not read protocol "
			"version",
			a, port);
		break;
	case E_NO_KEX:
	case E_NO_HOSTKEY:
	case E_NO_CIPHER:
	case E_NO_MAC:
	case E_NO_COMPRESSION:
		log_put(LOG_L_INFO,
			"Unable to negotiate with %s port %u: %s. Their offer: %s [preauth]", a,
			port, err_text(why), words);
		break;
	case E_AUTH_TRIES:
		log_put(LOG_L_ERROR,
			"maximum authentication attempts exceeded for %s%.100s from %s port %u "
			"ssh2 [preauth]",
			m->is_valid ? "" : "invalid user ", m->is_named ? m->name : "", a, port);
		log_put(LOG_L_INFO, "Disconnecting %s%s port %u: %s [preauth]", who, a, port,
			err_text(why));
		break;
	default:
		log_put(LOG_L_INFO,
			"ssh_dispatch_run_fatal: Connection from %s%s port %u: %s [preauth]", who,
			a, port, err_text(why));
		break;
	}
}

static err_t mon_ended(void *arg, const struct ps_req_ended *req, struct ps_rep_ended *rep)
{
	struct monitor *m = arg;
	char words[4096];
	(void)snprintf(words, sizeof(words), "%.*s", (int)num_min(req->words.n, sizeof(words) - 1),
		(const char *)req->words.p);
	m->is_told_end = true;
	if (m->session > 0)
		return OK; /* the session says it in its own words */
	if (req->why == OK || req->why >= ERR_N)
		return E_FORMAT;
	log_end(m, (err_t)req->why, req->reason, words);
	return OK;
}

static const struct ps_handlers handlers = {
	.start = mon_start,
	.moduli = mon_moduli,
	.sign_host = mon_sign_host,
	.pwnam = mon_pwnam,
	.auth_none = mon_auth_none,
	.auth_password = mon_auth_password,
	.key_allowed = mon_key_allowed,
	.key_verify = mon_key_verify,
	.kbdint = mon_kbdint,
	.state = mon_state,
	.log = mon_log,
	.ended = mon_ended,
	.pty = mon_pty,
	.pty_end = mon_pty_end,
	.prove_host = mon_prove_host,
};

/* ---- loop ---- */
static void tell_logged_in(struct monitor *m)
{
	const int fds[] = {m->fds.status, m->fds.told};
	for (size_t i = 0; i < ARRAY_N(fds); i++) {
		if (fds[i] < 0)
			continue;
		ssize_t n = write(fds[i], "1", 1);
		(void)n; /* the listener may have gone */
		(void)close(fds[i]);
	}
	m->fds.status = m->fds.told = -1;
}

static void start_session(struct monitor *m)
{
	ev_timer_stop(m->ev, &m->grace);
	ev_io_remove(m->ev, &m->chan);
	user_forget_hash(&m->user);
	tell_logged_in(m);
	err_t e = mon_session_start(m);
	if (e == OK) {
		m->chan = (struct ev_io){
			.fd = m->fds.chan, .want = EV_IN, .on = m->chan.on, .arg = m};
		e = ev_io_add(m->ev, &m->chan);
	}
	if (e != OK) {
		log_put(LOG_L_ERROR, "session process: %s", err_text(e));
		mon_stop(m, EXIT_FATAL);
		return;
	}
	child_give_memory_back();
}

static void on_chan(struct ev_io *io, unsigned happened)
{
	struct monitor *m = io->arg;
	err_t e = ps_server_read(&m->ps);
	if (m->session == 0 && m->has_state && (e == OK || e == E_CLOSED)) {
		start_session(m);
		return;
	}
	if (e == OK || e == E_AGAIN)
		return;
	ev_io_remove(m->ev, &m->chan);
	if (e != E_CLOSED)
		log_put(LOG_L_ERROR, "monitor: request refused for %s port %u: %s", m->ends.remote,
			m->ends.remote_port, err_text(e));
	if (m->session > 0) {
		/* its end comes as a signal; a broken request is answered with death */
		if (e != E_CLOSED)
			(void)kill(m->session, SIGKILL);
		return;
	}
	if (e == E_CLOSED && !m->is_told_end)
		log_put(LOG_L_ERROR, "network process for %s port %u has ended early",
			m->ends.remote, m->ends.remote_port);
	mon_stop(m, EXIT_FATAL);
}

static void on_grace(struct ev_timer *t, uint64_t now_us)
{
	struct monitor *m = t->arg;
	log_put(LOG_L_INFO, "Timeout before authentication for %s port %u, pid = %ld",
		m->ends.remote, m->ends.remote_port, (long)getpid());
	/* Whatever has become of the network process, the peer is rid of. */
	(void)shutdown(m->fds.in, SHUT_RDWR);
	mon_stop(m, EXIT_GRACE);
}

/* What the session process said before it ended, or before a signal ends all, is in the log. */
static void hear_last_words(struct monitor *m)
{
	if (m->session <= 0)
		return;
	for (size_t i = 0; i < LAST_READS && ps_server_read(&m->ps) == OK; i++)
		;
}

static void reap(struct monitor *m)
{
	int status;
	pid_t pid;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid != m->session)
			continue;
		hear_last_words(m);
		/* After login a user may kill or crash the session process at will: that is the
		 * end of this connection and no sign of an attack on others. */
		if (WIFSIGNALED(status))
			log_put(LOG_L_ERROR,
				"session of user %s from %s port %u ended by signal %d", m->name,
				m->ends.remote, m->ends.remote_port, WTERMSIG(status));
		mon_stop(m, WIFEXITED(status) && WEXITSTATUS(status) != EXIT_CRASH
				    ? WEXITSTATUS(status)
				    : EXIT_FATAL);
	}
}

static void on_signal(void *arg, int signo)
{
	struct monitor *m = arg;
	if (signo == SIGCHLD) {
		reap(m);
		return;
	}
	hear_last_words(m);
	log_debug1("monitor: ended by signal %d", signo);
	if (m->session > 0)
		(void)kill(m->session, signo);
	mon_stop(m, EXIT_FATAL);
}

/* What is fixed for the connection, and part of every exchange hash. */
static err_t put_fixed(struct monitor *m)
{
	const struct server_config *c = mon_conf(m);
	bool has_more = c->version_addendum != NULL && c->version_addendum[0] != 0 &&
			strcmp(c->version_addendum, "none") != 0;
	buf_printf(&m->version, "%s%s%s", BOWLINE_IDENTIFICATION, has_more ? " " : "",
		has_more ? c->version_addendum : "");
	buf_put_u8(&m->version, 0);
	put_hostkey_algs(m, c->hostkey_algorithms, &m->hostkey_algs);
	buf_put_u8(&m->hostkey_algs, 0);
	TRY(buf_err(&m->version));
	return buf_err(&m->hostkey_algs);
}

static err_t prepare(struct monitor *m)
{
	static const int signals[] = {SIGCHLD, SIGTERM, SIGINT, SIGHUP};
	int64_t grace = m->setup->global.login_grace;
	TRY(put_fixed(m));
	child_ignore_pipe();
	TRY(ev_new(&m->ev));
	TRY(ev_signals(m->ev, signals, ARRAY_N(signals), on_signal, m));
	m->chan = (struct ev_io){.fd = m->fds.chan, .want = EV_IN, .on = on_chan, .arg = m};
	TRY(ev_io_add(m->ev, &m->chan));
	m->grace = (struct ev_timer){.at_us = UINT64_MAX, .on = on_grace, .arg = m};
	if (grace > 0)
		ev_timer_set(m->ev, &m->grace,
			os_monotonic_us() + (uint64_t)grace * 1000000 +
				rng_below(os_rng(), GRACE_JITTER_US));
	return OK;
}

static void monitor_free(struct monitor *m)
{
	ps_server_done(&m->ps);
	mon_key_clear(&m->key);
	mon_methods_done(&m->methods);
	mon_info_done(&m->info);
	ak_done(&m->granted);
	user_done(&m->user);
	if (m->has_conf)
		server_config_done(&m->conf);
	buf_done(&m->frozen);
	buf_done(&m->hostkey_algs);
	buf_done(&m->version);
	buf_done(&m->peer_version);
	buf_done(&m->reply2);
	buf_done(&m->reply);
	free(m->service);
	free(m->name);
	free(m->asked);
	ev_free(m->ev);
	free(m);
}

int monitor_main(struct setup *s, const struct conn_fds *fds)
{
	struct monitor *m = calloc(1, sizeof(*m));
	if (m == NULL)
		return EXIT_FATAL;
	child_set_name("sshd-session");
	title_set(&s->title, "sshd: [accepted]");
	drop_dumpable();
	m->setup = s;
	m->fds = *fds;
	m->exit_code = EXIT_FATAL;
	buf_init(&m->reply, 256 << 10);
	buf_init(&m->reply2, 256 << 10);
	buf_init(&m->version, 1024);
	buf_init(&m->peer_version, EXCHANGE_VERSION_MAX);
	buf_init(&m->hostkey_algs, 8192);
	buf_init(&m->frozen, PS_BIG_MAX);
	mon_key_init(&m->key);
	mon_info_init(&m->info);
	ps_server_init(&m->ps, fds->chan, &handlers, m);
	os_ends_of(fds->in, &m->ends);
	log_put(LOG_L_VERBOSE, "Connection from %s port %u on %s port %u", m->ends.remote,
		m->ends.remote_port, m->ends.local, m->ends.local_port);
	err_t e = prepare(m);
	if (e == OK)
		e = ev_run(m->ev);
	if (e != OK)
		log_put(LOG_L_ERROR, "monitor: %s", err_text(e));
	mon_ptys_end(m);
	mon_info_remove(m);
	int code = m->exit_code;
	monitor_free(m);
	return code;
}
