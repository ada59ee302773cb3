/* SPDX-License-Identifier: ISC */
/* connect - a socket or a proxy, the transport engine on it, and the words when it ends */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/client/client.h"
#include "build_config.h"
#include "os/random.h"
#include "run/path.h"

#define POOL_BUDGET ((size_t)40 << 20)
#define SECOND_US   1000000

/* ---- descriptors --------------------------------------------------------------------------------
 */
static void tell_address(void *arg, const char *address, int why)
{
	const struct ssh *s = arg;
	if (why == 0)
		log_debug1("Connecting to %s [%s] port %u.", s->host, address, s->cfg.port);
	else
		log_debug1(
			"connect to address %s port %u: %s", address, s->cfg.port, strerror(why));
}

static enum dial_family family_of(const struct ssh *s)
{
	if (s->cfg.address_family == CFG_FAMILY_INET)
		return DIAL_IPV4;
	return s->cfg.address_family == CFG_FAMILY_INET6 ? DIAL_IPV6 : DIAL_ANY;
}

static void say_dial_failure(const struct ssh *s, const struct dial_failure *f)
{
	if (f->stage == DIAL_RESOLVE)
		ssh_say(LOG_L_FATAL, "ssh: Could not resolve hostname %s: %s", s->host, f->text);
	else if (f->stage == DIAL_BIND)
		ssh_say(LOG_L_FATAL, "ssh: bind to %s: %s", s->cfg.bind_address, f->text);
	else
		ssh_say(LOG_L_FATAL, "ssh: connect to host %s port %u: %s", s->host, s->cfg.port,
			f->text);
}

static err_t dial(struct ssh *s)
{
	struct dial d = {.host = s->pinned[0] != '\0' ? s->pinned : s->host,
		.port = s->cfg.port,
		.family = family_of(s),
		.bind_address = s->cfg.bind_address,
		.keepalive = s->cfg.tcp_keepalive,
		.tell = tell_address,
		.arg = s};
	struct dial_failure failure = {DIAL_CONNECT, ""};
	err_t e = E_IO;
	int fd = -1;
	if (s->cfg.connect_timeout > 0)
		d.timeout_us = (uint64_t)s->cfg.connect_timeout * SECOND_US;
	for (uint32_t i = 0; i < s->cfg.connection_attempts; i++) {
		if (i > 0) {
			log_debug1("Trying again...");
			sleep(1);
		}
		e = dial_tcp(&d, &fd, &failure);
		if (e == OK || failure.stage == DIAL_RESOLVE)
			break;
	}
	if (e != OK) {
		say_dial_failure(s, &failure);
		return e;
	}
	log_debug1("Connection established.");
	s->fd_in = s->fd_out = fd;
	(void)dial_ends(fd, &s->ends);
	s->rtt_us = path_rtt_us(fd);
	return OK;
}

static err_t start_proxy(struct ssh *s)
{
	char *command = NULL;
	TRY(setup_expand(s, s->cfg.proxy_command, TOKENS_PROXY, &command));
	struct buf line;
	buf_init(&line, 1 << 20);
	buf_printf(&line, "exec %s", command);
	buf_put_u8(&line, 0);
	err_t e = buf_err(&line);
	if (e == OK) {
		log_debug1("Executing proxy command: %s", (const char *)line.p);
		e = helper_shell(s->me.shell, (const char *)line.p, &s->proxy);
	}
	if (e == OK) {
		s->is_proxied = true;
		s->fd_in = s->proxy.from;
		s->fd_out = s->proxy.to;
	} else {
		ssh_say(LOG_L_FATAL, "Could not start the proxy command: %s", err_text(e));
	}
	buf_done(&line);
	free(command);
	return e;
}

/* ---- the engine ---------------------------------------------------------------------------------
 */
static err_t build_policy(struct ssh *s)
{
	const struct client_config *c = &s->cfg;
	buf_init(&s->cipher_list, 65536);
	buf_init(&s->hostkey_list, 65536);
	if (s->ciphers != NULL)
		buf_printf(&s->cipher_list, "%s", s->ciphers);
	else if (c->ciphers_set)
		buf_printf(&s->cipher_list, "%s", c->ciphers);
	else
		alg_client_cipher_default(&s->cipher_list);
	buf_put_u8(&s->cipher_list, 0);
	TRY(buf_err(&s->cipher_list));
	TRY(hostkey_order(s, &s->hostkey_list));
	const char *ciphers = (const char *)s->cipher_list.p;
	const char *comp = c->compression ? "zlib@openssh.com,none" : "none,zlib@openssh.com";
	s->policy = (struct alg_policy){.kex = c->kex_algorithms,
		.hostkey = (const char *)s->hostkey_list.p,
		.cipher_c2s = ciphers,
		.cipher_s2c = ciphers,
		.mac_c2s = c->macs,
		.mac_s2c = c->macs,
		.comp_c2s = comp,
		.comp_s2c = comp};
	return OK;
}

static err_t build_version(struct ssh *s)
{
	buf_init(&s->version, 255);
	buf_printf(&s->version, "%s", BOWLINE_IDENTIFICATION);
	if (!value_is_none(s->cfg.version_addendum)) {
		char *addendum = NULL;
		TRY(setup_expand(s, s->cfg.version_addendum, TOKENS_ALL, &addendum));
		buf_printf(&s->version, " %s", addendum);
		free(addendum);
	}
	buf_put_u8(&s->version, 0);
	return buf_err(&s->version);
}

static err_t make_engine(struct ssh *s)
{
	TRY(build_policy(s));
	TRY(build_version(s));
	chunk_pool_init(&s->pool, POOL_BUDGET);
	s->tp_env = (struct tp_env){.role = TP_CLIENT,
		.policy = &s->policy,
		.pool = &s->pool,
		.rng = os_rng(),
		.limits = {.rekey_bytes = s->cfg.rekey_limit.bytes,
			.rekey_us = s->cfg.rekey_limit.seconds * SECOND_US},
		.version = (const char *)s->version.p,
		.lazy_fast = true};
	return tp_new(&s->tp, &s->tp_env, ev_now(s->ev));
}

/* ---- time ---------------------------------------------------------------------------------------
 */
static void on_connect_timeout(struct ev_timer *t, uint64_t now_us)
{
	struct ssh *s = t->arg;
	char peer[96];
	(void)now_us;
	if (s->has_keys || s->is_done)
		return;
	struct cslice version = tp_peer_version(s->tp);
	connect_peer(s, peer);
	if (version.n == 0) {
		ssh_say(LOG_L_ERROR, "Connection timed out during banner exchange");
	} else {
		const struct alg_choice *c = tp_choice(s->tp);
		ssh_say(LOG_L_ERROR, "Connection timed out during key exchange (%s, %.*s)",
			c->kex != NULL ? c->kex->name : "nothing agreed yet", (int)version.n,
			(const char *)version.p);
	}
	ssh_say(LOG_L_FATAL, "Connection to %s timed out", peer);
	ssh_finish(s, SSH_EXIT_ERROR, NULL);
}

static void arm_connect_timer(struct ssh *s)
{
	s->connect_timer =
		(struct ev_timer){.at_us = UINT64_MAX, .on = on_connect_timeout, .arg = s};
	if (s->cfg.connect_timeout > 0)
		ev_timer_set(s->ev, &s->connect_timer,
			s->started_us + (uint64_t)s->cfg.connect_timeout * SECOND_US);
}

err_t connect_start(struct ssh *s)
{
	s->fd_in = s->fd_out = -1;
	s->started_us = os_monotonic_us();
	TRY(value_is_none(s->cfg.proxy_command) ? dial(s) : start_proxy(s));
	TRY(make_engine(s));
	arm_connect_timer(s);
	s->pump.ev = s->ev;
	s->pump.tp = s->tp;
	s->pump.fd_in = s->fd_in;
	s->pump.fd_out = s->fd_out;
	return pump_start(&s->pump);
}

void connect_done(struct ssh *s)
{
	pump_stop(&s->pump);
	if (s->ev != NULL && s->connect_timer.on != NULL)
		ev_timer_stop(s->ev, &s->connect_timer);
	if (s->ev != NULL && s->alive_timer.on != NULL)
		ev_timer_stop(s->ev, &s->alive_timer);
	if (s->is_proxied)
		helper_end(&s->proxy);
	else if (s->fd_in >= 0)
		close(s->fd_in);
	s->fd_in = s->fd_out = -1;
	tp_free(s->tp);
	chunk_pool_trim(&s->pool); /* the next connection has a pool of its own */
	s->tp = NULL;
	buf_done(&s->cipher_list);
	buf_done(&s->hostkey_list);
	buf_done(&s->version);
}

/* ---- words --------------------------------------------------------------------------------------
 */
void connect_peer(const struct ssh *s, char text[96])
{
	if (s->ends.peer[0] != '\0')
		(void)snprintf(text, 96, "%s port %u", s->ends.peer, s->ends.peer_port);
	else
		(void)snprintf(text, 96, "UNKNOWN port 65535");
}

static bool begins(struct cslice s, const char *with)
{
	return s.n >= strlen(with) && memcmp(s.p, with, strlen(with)) == 0;
}

/* What a peer's first bytes say about it; NULL = nothing known. */
static const char *guess_peer(struct cslice noise)
{
	static const char http[] = "a web server (HTTP) listens there";
	if (noise.n >= 2 && (noise.p[0] == 0x16 || noise.p[0] == 0x15) && noise.p[1] == 0x03)
		return "it speaks TLS: a web or mail server listens there, or the port needs a TLS "
		       "tunnel";
	if (begins(noise, "HTTP/") || begins(noise, "<html") || begins(noise, "<!DOCTYPE") ||
		begins(noise, "<HTML"))
		return http;
	if (begins(noise, "220 ") || begins(noise, "220-"))
		return "a mail or FTP server listens there";
	if (begins(noise, "RFB "))
		return "a VNC server listens there";
	if (begins(noise, "SSH-1"))
		return "it speaks the protocol version 1 only, which is broken and not built";
	return NULL;
}

static void say_not_ssh(const struct ssh *s, const char *peer)
{
	struct cslice noise = tp_peer_noise(s->tp);
	const char *guess = guess_peer(noise);
	size_t n = 0;
	while (n < noise.n && n < 120 && noise.p[n] != '\r' && noise.p[n] != '\n')
		n++;
	ssh_say(LOG_L_ERROR, "kex_exchange_identification: %s does not speak SSH%s%s", peer,
		guess != NULL ? ": " : "", guess != NULL ? guess : "");
	if (n > 0)
		ssh_say(LOG_L_ERROR, "Bad remote protocol version identification: '%.*s'", (int)n,
			(const char *)noise.p);
}

static void say_closed(const struct ssh *s, const char *peer)
{
	bool is_reset = s->pump.sys_errno == ECONNRESET;
	if (s->is_logged_in) {
		if (s->pump.sys_errno != 0 && s->pump.sys_errno != EPIPE)
			ssh_say(LOG_L_ERROR, "Read from remote host %s: %s", s->host,
				strerror(s->pump.sys_errno));
		ssh_say(LOG_L_INFO, "Connection to %s closed by remote host.", s->host);
		return;
	}
	if (tp_peer_version(s->tp).n == 0) {
		ssh_say(LOG_L_ERROR, "kex_exchange_identification: %s",
			is_reset ? "read: Connection reset by peer"
				 : "Connection closed by remote host");
		if (s->is_proxied)
			ssh_say(LOG_L_INFO, "The proxy command ended before the server said "
					    "anything: run it by hand to "
					    "see why.");
		else
			ssh_say(LOG_L_INFO,
				"The port is open, but nothing was said on it: the server may "
				"limit or refuse "
				"connections from here, or something else than SSH listens there.");
	}
	ssh_say(LOG_L_FATAL, "Connection %s by %s", is_reset ? "reset" : "closed", peer);
}

static void say_no_match(const struct ssh *s, err_t why, const char *peer)
{
	static const struct {
		err_t e;
		enum alg_kind kind;
	} rows[] = {{E_NO_KEX, ALG_KEX}, {E_NO_HOSTKEY, ALG_HOSTKEY}, {E_NO_CIPHER, ALG_CIPHER},
		{E_NO_MAC, ALG_MAC}, {E_NO_COMPRESSION, ALG_COMPRESSION}};
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		if (rows[i].e != why)
			continue;
		struct cslice offer = tp_peer_offer(s->tp, rows[i].kind);
		ssh_say(LOG_L_FATAL, "Unable to negotiate with %s: %s. Their offer: %.*s", peer,
			err_text(why), (int)offer.n, (const char *)offer.p);
	}
}

void connect_say_end(struct ssh *s, err_t why)
{
	char peer[96];
	connect_peer(s, peer);
	switch (why) {
	case E_CLOSED:
		say_closed(s, peer);
		break;
	case E_DISCONNECTED: /* told when the message came */
		ssh_say(LOG_L_FATAL, "Disconnected from %s", peer);
		break;
	case E_VERSION:
		ssh_say(LOG_L_ERROR, "Protocol major versions differ: 2 is needed");
		/* fall through */
	case E_NOT_SSH:
		say_not_ssh(s, peer);
		break;
	case E_NO_KEX:
	case E_NO_HOSTKEY:
	case E_NO_CIPHER:
	case E_NO_MAC:
	case E_NO_COMPRESSION:
		say_no_match(s, why, peer);
		break;
	case E_HOSTKEY:
		ssh_say(LOG_L_FATAL, "%s", err_text(why));
		break;
	case E_LENGTH: /* two lines that are known by their words */
		ssh_say(LOG_L_ERROR, "Bad packet length.");
		ssh_say(LOG_L_FATAL,
			"ssh_dispatch_run_fatal: Connection to %s: Connection corrupted", peer);
		break;
	case E_MAC:
		ssh_say(LOG_L_ERROR, "Corrupted MAC on input.");
		ssh_say(LOG_L_FATAL, "ssh_dispatch_run_fatal: Connection to %s: %s", peer,
			err_text(why));
		break;
	default:
		ssh_say(LOG_L_FATAL, "ssh_dispatch_run_fatal: Connection to %s: %s", peer,
			err_text(why));
		break;
	}
}
