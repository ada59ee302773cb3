/* SPDX-License-Identifier: ISC */
/* mon_session - after login: the session process, and the terminals that only the monitor can make
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/sshd/monitor.h"
#include "app/sshd/session.h"
#include "base/secret.h"
#include "os/child.h"
#include "os/drop.h"
#include "os/fdpass.h"
#include "os/login.h"

err_t mon_state(void *arg, const struct ps_req_state *req, struct ps_rep_state *rep)
{
	struct monitor *m = arg;
	buf_put(&m->frozen, req->frozen.p, req->frozen.n);
	TRY(buf_err(&m->frozen));
	m->has_state = true;
	return OK;
}

/* What the session process has no use for is wiped before it is the user's: private keys, the
 * secret of the delays.  (The password's hash the monitor itself has forgotten by now.) */
static void forget_keys(struct monitor *m)
{
	for (size_t i = 0; i < m->setup->keys.n; i++) {
		struct host_key *h = &m->setup->keys.v[i];
		key_free(h->k);
		h->k = NULL;
		buf_done(&h->text);
	}
	buf_done(&m->setup->typical_hash);
	wipe(m->setup->secret, sizeof(m->setup->secret));
}

static NORETURN void be_session(struct monitor *m, int chan)
{
	static struct cslice blobs[HOST_KEYS_MAX];
	int fds[3] = {m->fds.in, m->fds.out == m->fds.in ? -1 : m->fds.out, chan};
	bool is_password = m->method != NULL && strcmp(m->method, "publickey") != 0;
	os_signals_reset();
	if (child_keep_fds(fds, 3) != OK)
		_exit(EXIT_FATAL);
	forget_keys(m);
	for (size_t i = 0; i < m->setup->keys.n; i++)
		blobs[i] = buf_bytes(&m->setup->keys.v[i].blob);
	ps_server_done(&m->ps);
	struct session_start start = {.fd_in = fds[0],
		.fd_out = fds[1] >= 0 ? fds[1] : fds[0],
		.chan = fds[2],
		.ends = m->ends,
		.user = &m->user,
		.conf = &m->conf,
		.permit = mon_permit(m),
		.has_to_change_password = is_password && m->user.expiry == USER_PASSWORD_EXPIRED,
		.frozen = buf_bytes(&m->frozen),
		.version = (const char *)m->version.p,
		.hostkey_algs = (const char *)m->hostkey_algs.p,
		.hostkeys = blobs,
		.hostkeys_n = m->setup->keys.n,
		.monitor = getppid(),
		.title = &m->setup->title};
	start.forced_command = m->granted.command;
	start.environment = m->granted.environment;
	start.environment_n = m->granted.environment_n;
	start.auth_info = m->info.path;
	session_main(&start);
}

err_t mon_session_start(struct monitor *m)
{
	int pair[2];
	TRY(fdpass_pair(pair));
	mon_info_expose(m);
	err_t e = ps_server_session(&m->ps, pair[0]);
	pid_t pid = e == OK ? fork() : -1;
	if (pid == 0)
		be_session(m, pair[1]);
	(void)close(pair[1]);
	if (e == OK && pid < 0)
		e = E_IO;
	if (e != OK) {
		(void)close(pair[0]);
		return e;
	}
	m->session = pid;
	(void)close(m->fds.chan);
	(void)close(m->fds.in);
	if (m->fds.out != m->fds.in)
		(void)close(m->fds.out);
	m->fds.in = m->fds.out = -1;
	m->fds.chan = pair[0];
	buf_done(&m->frozen);
	buf_init(&m->frozen, 0);
	return OK;
}

/* ---- terminals ---- */
static struct mon_pty *find_pty(struct monitor *m, struct cslice name)
{
	for (size_t i = 0; i < MON_PTYS_MAX; i++)
		if (cslice_eq_str(name, m->ptys[i].name))
			return &m->ptys[i];
	return NULL;
}

err_t mon_pty(void *arg, const struct ps_req_pty *req, struct ps_rep_pty *rep)
{
	struct monitor *m = arg;
	static struct login_last last; /* lives until the reply is sent */
	int master, slave;
	struct mon_pty *p = find_pty(m, cslice_of("", 0));
	if (p == NULL || !m->conf.permit_tty || !mon_permit(m).pty)
		return OK; /* ok = false */
	if (pty_open(&master, &slave, p->name) != OK) {
		p->name[0] = 0;
		return OK;
	}
	if (pty_give(p->name, m->user.uid, m->user.gid) != OK)
		log_put(LOG_L_ERROR, "%s cannot be given to %s", p->name, m->user.name);
	pty_resize(master, req->cols, req->rows, req->xpixel, req->ypixel);
	login_last_get(m->user.uid, &last);
	p->pid = m->session;
	login_begin(p->name, m->user.name, m->user.uid, m->ends.remote, p->pid);
	*rep = (struct ps_rep_pty){.ok = true,
		.tty = cslice_str(p->name),
		.last_time = last.time_s,
		.last_host = cslice_str(last.host)};
	m->ps.fds[0] = master;
	m->ps.fds[1] = slave;
	m->ps.fds_n = 2;
	m->ps.fds_given = true;
	return OK;
}

static void end_pty(struct mon_pty *p)
{
	login_end(p->name, p->pid);
	p->name[0] = 0;
}

err_t mon_pty_end(void *arg, const struct ps_req_pty_end *req, struct ps_rep_pty_end *rep)
{
	struct mon_pty *p = req->tty.n > 0 ? find_pty(arg, req->tty) : NULL;
	if (p == NULL)
		return E_FORMAT;
	end_pty(p);
	return OK;
}

void mon_ptys_end(struct monitor *m)
{
	for (size_t i = 0; i < MON_PTYS_MAX; i++)
		if (m->ptys[i].name[0] != 0)
			end_pty(&m->ptys[i]);
}
