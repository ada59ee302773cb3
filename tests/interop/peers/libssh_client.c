/* SPDX-License-Identifier: ISC */
/*
 * libssh_client - a libssh client with the arguments of all peers here:
 * PORT USER key:FILE|password:WORD HOSTKEY PTY REKEY-BYTES COMMAND
 */
#include <libssh/callbacks.h>
#include <libssh/libssh.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { A_PORT = 1, A_USER, A_LOGIN, A_HOSTKEY, A_PTY, A_REKEY, A_COMMAND, A_COUNT };

static char exit_signal[32];

static void fail(ssh_session s, const char *what)
{
	(void)fprintf(stderr, "%s: %s\n", what, ssh_get_error(s));
	exit(1);
}

static void on_signal(ssh_session s, ssh_channel ch, const char *name, int core, const char *text,
	const char *lang, void *arg)
{
	(void)snprintf(exit_signal, sizeof exit_signal, "%s", name);
}

static void check_host(ssh_session s, const char *line)
{
	ssh_key key;
	char *b64 = NULL;
	const char *want = strchr(line, ' ');

	if (ssh_get_server_publickey(s, &key) != SSH_OK ||
		ssh_pki_export_pubkey_base64(key, &b64) != SSH_OK)
		fail(s, "host key");
	if (want == NULL || strncmp(want + 1, b64, strlen(b64)) != 0) {
		(void)fprintf(stderr, "another host key\n");
		exit(1);
	}
	ssh_string_free_char(b64);
	ssh_key_free(key);
}

static void login(ssh_session s, const char *how)
{
	ssh_key key = NULL;

	if (strncmp(how, "key:", 4) == 0) {
		if (ssh_pki_import_privkey_file(how + 4, NULL, NULL, NULL, &key) != SSH_OK)
			fail(s, how + 4);
		if (ssh_userauth_publickey(s, NULL, key) != SSH_AUTH_SUCCESS)
			fail(s, "publickey");
		ssh_key_free(key);
	} else if (ssh_userauth_password(s, NULL, strchr(how, ':') + 1) != SSH_AUTH_SUCCESS) {
		fail(s, "password");
	}
}

static void write_all(int fd, const char *p, int n)
{
	while (n > 0) {
		ssize_t did = write(fd, p, (size_t)n);

		if (did <= 0)
			return;
		p += did;
		n -= (int)did;
	}
}

/* what has come for us, both streams; true when there was something */
static bool drain(ssh_channel ch)
{
	static char block[65536];
	bool some = false;

	for (int e = 0; e < 2; e++) {
		int n = ssh_channel_read_nonblocking(ch, block, sizeof block, e);

		if (n > 0) {
			write_all(e == 0 ? 1 : 2, block, n);
			some = true;
		}
	}
	return some;
}

/* one block of our input, when the far side has room for it; false at its end */
static bool send_some(ssh_session s, ssh_channel ch)
{
	static char block[32768];
	uint32_t room = ssh_channel_window_size(ch);
	ssize_t n;

	if (room == 0)
		return true;
	n = read(0, block, room < sizeof block ? room : sizeof block);
	if (n <= 0) {
		(void)ssh_channel_send_eof(ch);
		return false;
	}
	if (ssh_channel_write(ch, block, (uint32_t)n) != n)
		fail(s, "write");
	return true;
}

static void run(ssh_session s, ssh_channel ch)
{
	bool sending = true;

	while (!ssh_channel_is_closed(ch)) {
		bool some = drain(ch);
		struct pollfd p[2] = {
			{.fd = ssh_get_fd(s), .events = POLLIN},
			{.fd = sending && ssh_channel_window_size(ch) > 0 ? 0 : -1,
				.events = POLLIN},
		};

		if (ssh_channel_is_eof(ch) && !some && ssh_channel_get_exit_status(ch) >= 0)
			break;
		if (poll(p, 2, some ? 0 : 200) > 0 && p[1].revents != 0)
			sending = send_some(s, ch);
	}
	while (drain(ch))
		;
}

static void report(ssh_channel ch)
{
	if (exit_signal[0] != '\0')
		(void)fprintf(stderr, "\npeer: signal %s\n", exit_signal);
	else
		(void)fprintf(stderr, "\npeer: status %d\n", ssh_channel_get_exit_status(ch));
}

int main(int argc, char **argv)
{
	ssh_session s = ssh_new();
	struct ssh_channel_callbacks_struct cb = {.channel_exit_signal_function = on_signal};
	bool no = false;
	int port;
	uint64_t rekey;
	ssh_channel ch;

	if (argc != A_COUNT || s == NULL)
		return 2;
	port = atoi(argv[A_PORT]);
	rekey = strtoull(argv[A_REKEY], NULL, 10);
	(void)ssh_options_set(s, SSH_OPTIONS_PROCESS_CONFIG, &no);
	(void)ssh_options_set(s, SSH_OPTIONS_HOST, "127.0.0.1");
	(void)ssh_options_set(s, SSH_OPTIONS_PORT, &port);
	(void)ssh_options_set(s, SSH_OPTIONS_USER, argv[A_USER]);
	if (rekey > 0)
		(void)ssh_options_set(s, SSH_OPTIONS_REKEY_DATA, &rekey);
	if (ssh_connect(s) != SSH_OK)
		fail(s, "connect");
	check_host(s, argv[A_HOSTKEY]);
	login(s, argv[A_LOGIN]);
	ch = ssh_channel_new(s);
	ssh_callbacks_init(&cb);
	(void)ssh_set_channel_callbacks(ch, &cb);
	if (ssh_channel_open_session(ch) != SSH_OK)
		fail(s, "session");
	if (argv[A_PTY][0] == '1' && ssh_channel_request_pty_size(ch, "xterm", 80, 24) != SSH_OK)
		fail(s, "pty");
	if (ssh_channel_request_exec(ch, argv[A_COMMAND]) != SSH_OK)
		fail(s, "exec");
	run(s, ch);
	report(ch);
	ssh_disconnect(s);
	return 0;
}
