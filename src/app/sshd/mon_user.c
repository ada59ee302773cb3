/* SPDX-License-Identifier: ISC */
/* mon_user - who may come in: accounts, root, none, password, keyboard-interactive */
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <unistd.h>

#include "app/sshd/account.h"
#include "app/sshd/files.h"
#include "app/sshd/monitor.h"
#include "base/secret.h"
#include "os/login.h"

#define USER_MAX        256 /* no account has a longer name */
#define PASSWORD_MAX    1024
#define GROUPS_TEXT_MAX ((size_t)1 << 21)
#define BANNER_MAX      ((size_t)200 * 1024)
#define DELAY_LEAST_US  5000u
#define DELAY_MORE_US   4200u
#define LOCKED_PREFIX   '!'
#define NOLOGIN_FILE    "/etc/nologin"

/* ---- the account ---- */
static bool is_shell_good(const struct monitor *m, const struct os_user *u)
{
	struct stat st;
	if (stat(u->shell, &st) != 0) {
		log_put(LOG_L_INFO, "User %.100s not allowed because shell %.100s does not exist",
			m->name, u->shell);
		return false;
	}
	if (!S_ISREG(st.st_mode) || (st.st_mode & (S_IXUSR | S_IXOTH | S_IXGRP)) == 0) {
		log_put(LOG_L_INFO,
			"User %.100s not allowed because shell %.100s is not executable", m->name,
			u->shell);
		return false;
	}
	return true;
}

/* The name of the peer, where it is wanted and leads back to the same address. */
static void peer_name(const struct monitor *m, char *out, size_t n)
{
	struct sockaddr_storage ss;
	socklen_t ss_n = sizeof(ss);
	char name[NI_MAXHOST], back[NI_MAXHOST];
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
	(void)snprintf(out, n, "%s", m->ends.remote);
	if (!mon_conf(m)->use_dns || getpeername(m->fds.in, (struct sockaddr *)&ss, &ss_n) != 0 ||
		getnameinfo((struct sockaddr *)&ss, ss_n, name, sizeof(name), NULL, 0,
			NI_NAMEREQD) != 0 ||
		getaddrinfo(name, NULL, &hints, &list) != 0)
		return;
	for (const struct addrinfo *ai = list; ai != NULL; ai = ai->ai_next)
		if (getnameinfo(ai->ai_addr, ai->ai_addrlen, back, sizeof(back), NULL, 0,
			    NI_NUMERICHOST) == 0 &&
			strcmp(back, m->ends.remote) == 0)
			(void)snprintf(out, n, "%s", name);
	freeaddrinfo(list);
}

static bool is_account_good(const struct monitor *m, const struct os_user *u, const char *groups)
{
	char host[NI_MAXHOST];

	if (geteuid() != 0 && u->uid != geteuid()) {
		log_put(LOG_L_INFO,
			"User %.100s not allowed because this sshd runs without privilege, for uid "
			"%u only",
			m->name, (unsigned)geteuid());
		return false;
	}
	/* With PAM the lock of a password does not lock the account. */
	if (!mon_conf(m)->use_pam && u->hash[0] == LOCKED_PREFIX) {
		log_put(LOG_L_INFO, "User %.100s not allowed because account is locked", m->name);
		return false;
	}
	if (u->expiry == USER_EXPIRED) {
		log_put(LOG_L_INFO, "Account %.100s has expired", m->name);
		return false;
	}
	if (u->uid != 0 && access(NOLOGIN_FILE, F_OK) == 0)
		log_put(LOG_L_INFO, "User %.100s not allowed because %s exists", m->name,
			NOLOGIN_FILE);
	/* In another root directory the shell, if it is one, is another. */
	if (strcasecmp(mon_conf(m)->chroot_directory, "none") == 0 && !is_shell_good(m, u))
		return false;
	const struct server_config *c = mon_conf(m);
	if (c->allow_users.n + c->deny_users.n + c->allow_groups.n + c->deny_groups.n == 0)
		return true;
	peer_name(m, host, sizeof(host));
	return mon_is_listed(m, host, groups);
}

static err_t evaluate(struct monitor *m, bool is_known, const char *groups)
{
	char host[NI_MAXHOST];
	struct buf why;
	peer_name(m, host, sizeof(host));
	buf_init(&why, 64 << 10);
	struct server_situation s = {.user = m->name,
		.groups = groups,
		.address = m->ends.is_socket ? m->ends.remote : NULL,
		.host = m->ends.is_socket ? host : NULL,
		.local_address = m->ends.is_socket ? m->ends.local : NULL,
		.local_port = m->ends.local_port,
		.is_invalid_user = !is_known};
	err_t e = server_config_eval(&m->conf, m->setup->lines, &s, &conf_env_quiet, &why);
	if (e == OK)
		m->has_conf = true;
	else
		log_put(LOG_L_ERROR, "configuration for %.100s: %.*s", m->name, (int)why.n,
			why.p != NULL ? (const char *)why.p : "");
	buf_done(&why);
	return e;
}

/* Whatever goes wrong with the look-up, the user is unknown.  groups: their names, as a C string.
 */
static err_t look_up(struct monitor *m, bool *is_known, struct buf *groups)
{
	size_t n = strlen(m->name);
	err_t found =
		n > 0 && n <= USER_MAX ? account_find(m->name, &m->user, groups) : E_NOT_FOUND;
	if (found != OK && found != E_NOT_FOUND)
		log_put(LOG_L_ERROR, "account of %.100s: %s", m->name, err_text(found));
	buf_put_u8(groups, 0);
	err_t e = buf_err(groups);
	if (e == OK)
		e = evaluate(m, found == OK, (const char *)groups->p);
	*is_known = e == OK && found == OK;
	return e;
}

static uint64_t fail_delay(const struct monitor *m)
{
	uint8_t digest[HASH_MAX];
	struct cslice parts[2] = {
		cslice_of(m->setup->secret, sizeof(m->setup->secret)), cslice_str(m->name)};
	if (hash_parts(HASH_SHA256, parts, 2, digest) != OK)
		return DELAY_LEAST_US + DELAY_MORE_US;
	return DELAY_LEAST_US + be32_get(digest) % DELAY_MORE_US;
}

/* Any name the peer may say: the longest that a packet holds is no account, as any other. */
static err_t name_user(struct monitor *m, const struct ps_req_pwnam *req)
{
	TRY(text_dup(req->user, &m->asked));
	TRY(text_dup(req->service, &m->service));
	const uint8_t *colon = memchr(req->user.p, ':', req->user.n);
	size_t n = colon != NULL ? (size_t)(colon - req->user.p) : req->user.n;
	TRY(text_dup(cslice_of(req->user.p, n), &m->name));
	m->is_named = true;
	return OK;
}

/* Who is it, and may he come in at all? */
static err_t judge_user(struct monitor *m, struct cslice service)
{
	struct buf groups;
	bool is_known;
	buf_init(&groups, GROUPS_TEXT_MAX);
	err_t e = look_up(m, &is_known, &groups);
	if (e == OK && !is_known)
		log_put(LOG_L_INFO, "Invalid user %.100s from %.100s port %u", m->name,
			m->ends.remote, m->ends.remote_port);
	/* A service that there is not lets nobody in, and looks like it to nobody. */
	m->is_valid = e == OK && is_known && cslice_eq_str(service, "ssh-connection") &&
		      is_account_good(m, &m->user, (const char *)groups.p);
	buf_done(&groups);
	return e;
}

err_t mon_pwnam(void *arg, const struct ps_req_pwnam *req, struct ps_rep_pwnam *rep)
{
	struct monitor *m = arg;
	TRY(name_user(m, req));
	TRY(judge_user(m, req->service));
	/* What is no name of an account may be a password typed too early. */
	title_set(&m->setup->title, "sshd: %s [priv]", m->is_valid ? m->name : "unknown");
	buf_clear(&m->reply);
	buf_clear(&m->reply2);
	err_t e = mon_methods_start(m);
	if (e == E_DENIED)
		m->is_valid = false;
	else
		TRY(e);
	mon_methods_put(m, &m->reply);
	TRY(buf_err(&m->reply));
	if (m->conf.banner != NULL && strcmp(m->conf.banner, "none") != 0 &&
		file_read(m->conf.banner, BANNER_MAX, &m->reply2) != OK)
		buf_clear(&m->reply2); /* no banner rather than no login */
	m->ps.rules.max_tries = m->conf.max_auth_tries;
	*rep = (struct ps_rep_pwnam){.methods = buf_bytes(&m->reply),
		.pubkey_algs = cslice_str(m->conf.pubkey_algorithms),
		.max_tries = m->conf.max_auth_tries,
		.fail_delay_us = fail_delay(m),
		.banner = buf_bytes(&m->reply2)};
	return OK;
}

err_t mon_may_enter(struct monitor *m, const char *method, const struct ak_result *permit)
{
	if (!m->is_valid)
		return E_DENIED;
	if (m->user.uid != 0)
		return OK;
	bool is_key = strcmp(method, "publickey") == 0;
	switch (m->conf.permit_root_login) {
	case CFG_ROOT_YES:
		return OK;
	case CFG_ROOT_PROHIBIT_PASSWORD:
		if (is_key)
			return OK;
		break;
	case CFG_ROOT_FORCED_COMMANDS:
		if (is_key && permit != NULL && permit->command != NULL) {
			log_put(LOG_L_INFO, "Root login accepted for forced command.");
			return OK;
		}
		break;
	default:
		break;
	}
	log_put(LOG_L_INFO, "ROOT LOGIN REFUSED FROM %.200s port %u", m->ends.remote,
		m->ends.remote_port);
	return E_DENIED;
}

/* ---- methods ---- */
struct proof {
	const char *method, *said; /* said: its name in the log */
	err_t verdict;
};

static err_t decide(struct monitor *m, struct proof p, struct cslice *left)
{
	err_t e = p.verdict == OK ? mon_may_enter(m, p.method, NULL) : E_DENIED;
	if (e == OK)
		e = mon_methods_passed(m, p.method, left);
	if (e == OK || e == E_PARTIAL)
		mon_info_add(&m->info, p.said, cslice_of(NULL, 0));
	if (e == OK)
		m->method = p.method;
	else if (e != E_PARTIAL && strcmp(p.method, "none") != 0)
		login_failed(m->name, m->ends.remote, getpid());
	mon_log_try(m, mon_verdict_word(e), p.said, NULL);
	return e;
}

static bool may_be_empty(const struct monitor *m)
{
	return m->is_valid && m->user.hash[0] == 0 && m->conf.permit_empty_passwords &&
	       m->conf.password_auth;
}

err_t mon_auth_none(void *arg, const struct ps_req_auth_none *req, struct ps_rep_auth_none *rep)
{
	struct monitor *m = arg;
	return decide(
		m, (struct proof){"none", "none", may_be_empty(m) ? OK : E_DENIED}, &rep->left);
}

/* The same work for every account, known or not. */
static err_t check_password(const struct monitor *m, struct cslice password)
{
	const char *typical = (const char *)m->setup->typical_hash.p;
	const char *hash = m->is_valid ? m->user.hash : "*";
	struct cslice tried = password.n <= PASSWORD_MAX ? password : cslice_of("", 0);
	err_t e = user_password_check(hash, typical, tried);
	if (password.n == 0)
		return may_be_empty(m) ? OK : E_DENIED;
	if (password.n > PASSWORD_MAX || !m->is_valid)
		return E_DENIED;
	return e == OK ? OK : E_DENIED;
}

err_t mon_auth_password(
	void *arg, const struct ps_req_auth_password *req, struct ps_rep_auth_password *rep)
{
	struct monitor *m = arg;
	err_t e = check_password(m, req->password);
	struct proof p = {"password", "password", m->conf.password_auth ? e : E_DENIED};
	return decide(m, p, &rep->left);
}

err_t mon_kbdint(void *arg, const struct ps_req_kbdint *req, struct ps_rep_kbdint *rep)
{
	static const char method[] = "keyboard-interactive";
	struct monitor *m = arg;
	if (!m->conf.kbdint_auth || !m->conf.password_auth)
		return decide(m, (struct proof){method, method, E_DENIED}, &rep->left);
	if (!req->is_answer) {
		rep->asks = true;
		rep->prompt = cslice_str("Password: ");
		mon_log_try(m, "Postponed", method, NULL);
		return E_AGAIN;
	}
	struct proof p = {method, MON_KBDINT_ANSWER, check_password(m, req->response)};
	return decide(m, p, &rep->left);
}
