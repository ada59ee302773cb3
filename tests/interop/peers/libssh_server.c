/* SPDX-License-Identifier: ISC */
/*
 * libssh_server - a libssh server with the arguments of all peers here:
 * PORT HOSTKEY-FILE USER-PUBLIC-KEY USER PASSWORD REKEY-BYTES
 *
 * One process a connection, one session in it.
 */
#include <libssh/callbacks.h>
#include <libssh/libssh.h>
#include <libssh/server.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utmp.h>

enum { A_PORT = 1, A_HOSTKEY, A_PUBLIC, A_USER, A_PASSWORD, A_REKEY, A_COUNT };

struct conn {
	char **argv;
	ssh_event ev;
	ssh_channel ch;
	bool authed, with_pty;
	int master, slave;
	int in, out, err; /* our ends of the child's pipes, -1 when closed */
	pid_t child;
};

static int on_password(ssh_session s, const char *user, const char *word, void *arg)
{
	struct conn *c = arg;

	if (strcmp(user, c->argv[A_USER]) != 0 || strcmp(word, c->argv[A_PASSWORD]) != 0)
		return SSH_AUTH_DENIED;
	c->authed = true;
	return SSH_AUTH_SUCCESS;
}

static int on_key(
	ssh_session s, const char *user, struct ssh_key_struct *key, char state, void *arg)
{
	struct conn *c = arg;
	char *b64 = NULL;
	const char *want = strchr(c->argv[A_PUBLIC], ' ');
	bool same;

	if (strcmp(user, c->argv[A_USER]) != 0 || want == NULL ||
		ssh_pki_export_pubkey_base64(key, &b64) != SSH_OK)
		return SSH_AUTH_DENIED;
	same = strncmp(want + 1, b64, strlen(b64)) == 0;
	ssh_string_free_char(b64);
	if (!same)
		return SSH_AUTH_DENIED;
	if (state == SSH_PUBLICKEY_STATE_VALID)
		c->authed = true;
	return state == SSH_PUBLICKEY_STATE_VALID || state == SSH_PUBLICKEY_STATE_NONE
		       ? SSH_AUTH_SUCCESS
		       : SSH_AUTH_DENIED;
}

static int on_pty(ssh_session s, ssh_channel ch, const char *term, int cols, int rows, int px,
	int py, void *arg)
{
	struct conn *c = arg;
	struct winsize ws = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)cols};

	c->with_pty = openpty(&c->master, &c->slave, NULL, NULL, &ws) == 0;
	return c->with_pty ? SSH_OK : SSH_ERROR;
}

static int on_env(ssh_session s, ssh_channel ch, const char *name, const char *value, void *arg)
{
	return 0;
}

static void child_run(struct conn *c, const char *command, int in[2], int out[2], int err[2])
{
	if (c->with_pty) {
		(void)close(c->master);
		(void)login_tty(c->slave);
	} else {
		(void)dup2(in[0], 0);
		(void)dup2(out[1], 1);
		(void)dup2(err[1], 2);
	}
	closefrom(3);
	(void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

static int on_exec(ssh_session s, ssh_channel ch, const char *command, void *arg)
{
	struct conn *c = arg;
	int in[2], out[2], err[2];

	if (c->child != 0 || pipe(in) != 0 || pipe(out) != 0 || pipe(err) != 0)
		return 1;
	c->child = fork();
	if (c->child == 0)
		child_run(c, command, in, out, err);
	(void)close(in[0]);
	(void)close(out[1]);
	(void)close(err[1]);
	if (c->with_pty) {
		(void)close(c->slave);
		c->in = c->out = c->master;
		c->err = -1;
	} else {
		c->in = in[1];
		c->out = out[0];
		c->err = err[0];
	}
	return 0;
}

static int on_data(ssh_session s, ssh_channel ch, void *data, uint32_t n, int is_stderr, void *arg)
{
	struct conn *c = arg;
	uint32_t at = 0;

	if (c->child == 0)
		return 0;
	while (at < n && c->in >= 0) {
		ssize_t did = write(c->in, (char *)data + at, n - at);

		if (did <= 0)
			break;
		at += (uint32_t)did;
	}
	return (int)n;
}

static void on_eof(ssh_session s, ssh_channel ch, void *arg)
{
	struct conn *c = arg;

	if (!c->with_pty && c->in >= 0) {
		(void)close(c->in);
		c->in = -1;
	}
}

static struct ssh_channel_callbacks_struct channel_cb = {
	.channel_pty_request_function = on_pty,
	.channel_env_request_function = on_env,
	.channel_exec_request_function = on_exec,
	.channel_data_function = on_data,
	.channel_eof_function = on_eof,
};

static ssh_channel on_open(ssh_session s, void *arg)
{
	struct conn *c = arg;

	if (c->ch != NULL || !c->authed)
		return NULL;
	c->ch = ssh_channel_new(s);
	channel_cb.userdata = c;
	ssh_callbacks_init(&channel_cb);
	(void)ssh_set_channel_callbacks(c->ch, &channel_cb);
	return c->ch;
}

/* one block of the child's output; -1 stands for "no more" */
static void forward(struct conn *c, int *fd, bool is_stderr)
{
	struct pollfd p = {.fd = *fd, .events = POLLIN};
	char block[32768];
	ssize_t n;

	if (*fd < 0 || ssh_channel_window_size(c->ch) == 0 || poll(&p, 1, 0) <= 0)
		return;
	n = read(*fd, block, sizeof block);
	if (n <= 0) {
		*fd = -1;
		return;
	}
	if (is_stderr)
		(void)ssh_channel_write_stderr(c->ch, block, (uint32_t)n);
	else
		(void)ssh_channel_write(c->ch, block, (uint32_t)n);
}

static int wake(socket_t fd, int events, void *arg)
{
	return 0;
}

static void session_loop(ssh_session s, struct conn *c)
{
	bool watching = false;
	int status = 0;

	while (c->ch == NULL || c->child == 0 || c->out >= 0 || c->err >= 0) {
		if (!watching && c->child != 0) {
			(void)ssh_event_add_fd(c->ev, c->out, POLLIN, wake, c);
			watching = true;
		}
		if (ssh_event_dopoll(c->ev, 50) == SSH_ERROR)
			break;
		if (c->child != 0) {
			int out = c->out;

			forward(c, &c->out, false);
			forward(c, &c->err, true);
			if (c->out < 0 && watching && out >= 0)
				(void)ssh_event_remove_fd(c->ev, out);
		}
	}
	if (c->child == 0)
		return;
	(void)waitpid(c->child, &status, 0);
	(void)ssh_channel_send_eof(c->ch);
	if (WIFSIGNALED(status))
		(void)ssh_channel_request_send_exit_signal(
			c->ch, WTERMSIG(status) == SIGTERM ? "TERM" : "KILL", 0, "", "");
	else
		(void)ssh_channel_request_send_exit_status(c->ch, WEXITSTATUS(status));
	(void)ssh_channel_close(c->ch);
	for (int i = 0; i < 200 && ssh_event_dopoll(c->ev, 50) != SSH_ERROR; i++)
		if ((ssh_get_status(s) & (SSH_CLOSED | SSH_CLOSED_ERROR)) != 0)
			break;
}

static void serve(ssh_session s, char **argv)
{
	struct conn c = {.argv = argv, .in = -1, .out = -1, .err = -1};
	struct ssh_server_callbacks_struct cb = {
		.userdata = &c,
		.auth_password_function = on_password,
		.auth_pubkey_function = on_key,
		.channel_open_request_session_function = on_open,
	};
	uint64_t rekey = strtoull(argv[A_REKEY], NULL, 10);

	ssh_callbacks_init(&cb);
	(void)ssh_set_server_callbacks(s, &cb);
	ssh_set_auth_methods(s, SSH_AUTH_METHOD_PASSWORD | SSH_AUTH_METHOD_PUBLICKEY);
	if (rekey > 0)
		(void)ssh_options_set(s, SSH_OPTIONS_REKEY_DATA, &rekey);
	if (ssh_handle_key_exchange(s) != SSH_OK) {
		(void)fprintf(stderr, "kex: %s\n", ssh_get_error(s));
		return;
	}
	c.ev = ssh_event_new();
	(void)ssh_event_add_session(c.ev, s);
	session_loop(s, &c);
	ssh_disconnect(s);
}

int main(int argc, char **argv)
{
	ssh_bind b = ssh_bind_new();
	bool no = false;
	int port;

	if (argc != A_COUNT || b == NULL || ssh_init() != SSH_OK)
		return 2;
	port = atoi(argv[A_PORT]);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)ssh_bind_options_set(b, SSH_BIND_OPTIONS_PROCESS_CONFIG, &no);
	(void)ssh_bind_options_set(b, SSH_BIND_OPTIONS_BINDADDR, "127.0.0.1");
	(void)ssh_bind_options_set(b, SSH_BIND_OPTIONS_BINDPORT, &port);
	(void)ssh_bind_options_set(b, SSH_BIND_OPTIONS_HOSTKEY, argv[A_HOSTKEY]);
	if (ssh_bind_listen(b) != SSH_OK) {
		(void)fprintf(stderr, "%s\n", ssh_get_error(b));
		return 1;
	}
	for (;;) {
		ssh_session s = ssh_new();

		if (s == NULL || ssh_bind_accept(b, s) != SSH_OK) {
			(void)fprintf(stderr, "%s\n", ssh_get_error(b));
			return 1;
		}
		if (fork() == 0) {
			(void)signal(SIGCHLD, SIG_DFL);
			ssh_bind_free(b);
			serve(s, argv);
			_exit(0);
		}
		ssh_free(s);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
}
