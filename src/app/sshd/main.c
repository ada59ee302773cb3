/* SPDX-License-Identifier: ISC */
/* main - sshd: from the command line to the role that this process has */
#include "build_config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/sshd/sshd.h"
#include "os/child.h"
#include "os/drop.h"
#include "os/ev.h"
#include "os/fdpass.h"
#include "os/sandbox.h"
#include "os/random.h"

static struct srvlog main_log; /* borrowed by the log for the life of the process */

static void start_log(const struct sshd_options *o)
{
	main_log = (struct srvlog){
		.to_stderr = o->to_stderr || o->is_test || o->is_dump || o->is_dump_only,
		.is_quiet = o->is_quiet,
		.facility = 4, /* AUTH */
		.level = o->debug > 0 ? (enum log_level)(LOG_L_DEBUG1 + o->debug - 1) : LOG_L_INFO};
	/* Until the configuration is read, trouble goes to the one who started it. */
	if (!o->is_inetd)
		main_log.to_stderr = true;
	srvlog_start(&main_log);
}

static void set_log(const struct sshd_options *o, const struct server_config *c)
{
	main_log.to_stderr = o->to_stderr || o->is_test || o->is_dump || o->is_dump_only;
	main_log.facility = c->syslog_facility;
	if (o->debug == 0)
		main_log.level = (enum log_level)c->log_level;
	srvlog_start(&main_log);
}

static void open_log_file(const struct sshd_options *o)
{
	if (o->log_file == NULL)
		return;
	char path[4096];
	struct buf name;
	buf_init(&name, sizeof(path));
	for (const char *p = o->log_file; *p != 0; p++) {
		if (p[0] == '%' && p[1] == 'p') {
			buf_printf(&name, "%ld", (long)getpid());
			p++;
		} else if (p[0] == '%' && p[1] == 'P') {
			buf_printf(&name, "sshd");
			p++;
		} else {
			buf_put_u8(&name, (uint8_t)*p);
		}
	}
	buf_put_u8(&name, 0);
	int fd = buf_err(&name) == OK ? open((const char *)name.p,
						O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)
				      : -1;
	if (fd < 0 || dup2(fd, STDERR_FILENO) < 0) {
		(void)fprintf(
			stderr, "Couldn't open logfile %s: %s\n", o->log_file, strerror(errno));
		exit(1);
	}
	(void)close(fd);
	buf_done(&name);
}

/* ---- -T and -C ---- */
struct spec {
	char *text, *user, *address, *host, *local_address;
	uint32_t local_port;
	bool is_invalid;
};

static void parse_spec(const char *text, struct spec *out)
{
	char *rest = strdup(text), *item;
	out->text = rest;
	while (rest != NULL && (item = strsep(&rest, ",")) != NULL) {
		char *eq = strchr(item, '=');
		if (item[0] == 0)
			continue;
		if (strcmp(item, "invalid-user") == 0) {
			out->is_invalid = true;
			continue;
		}
		if (eq != NULL)
			*eq = 0;
		const char *value = eq != NULL ? eq + 1 : "";
		if (strcmp(item, "user") == 0)
			out->user = (char *)(uintptr_t)value;
		else if (strcmp(item, "addr") == 0)
			out->address = (char *)(uintptr_t)value;
		else if (strcmp(item, "host") == 0)
			out->host = (char *)(uintptr_t)value;
		else if (strcmp(item, "laddr") == 0)
			out->local_address = (char *)(uintptr_t)value;
		else if (strcmp(item, "lport") == 0 &&
			 text_u32(cslice_str(value), &out->local_port) == OK &&
			 out->local_port <= 65535)
			continue;
		else if (strcmp(item, "rdomain") != 0) {
			(void)fprintf(stderr, "Invalid test mode specification %s\n", item);
			exit(1);
		}
	}
}

static int dump(const struct sshd_options *o, const struct server_config *global)
{
	struct spec spec = {.text = NULL};
	struct server_config c;
	struct buf out, why;
	buf_init(&out, (size_t)1 << 24);
	buf_init(&why, (size_t)1 << 20);
	err_t e = OK;
	bool is_own = o->test_spec != NULL;
	if (is_own) {
		parse_spec(o->test_spec, &spec);
		struct server_situation s = {.user = spec.user,
			.groups = spec.user != NULL ? "" : NULL,
			.address = spec.address,
			.host = spec.host,
			.local_address = spec.local_address,
			.local_port = (uint16_t)spec.local_port,
			.is_invalid_user = spec.is_invalid,
			.is_test = true};
		e = server_config_eval(&c, o->lines, &s, &conf_env_quiet, &why);
	}
	if (e == OK)
		e = server_config_dump(is_own ? &c : global, &out);
	if (e == OK)
		(void)fwrite(out.p, 1, out.n, stdout);
	else
		(void)fprintf(stderr, "%.*s", (int)why.n, why.p != NULL ? (const char *)why.p : "");
	buf_done(&out);
	buf_done(&why);
	if (e == OK && is_own)
		server_config_done(&c);
	free(spec.text);
	return e == OK ? 0 : EXIT_FATAL;
}

/* ---- inetd: this process is the monitor; the network process is forked before a key is read ----
 */
static int inetd_main(const struct sshd_options *o, struct server_config *c)
{
	int chan[2], conn[2];
	struct sandbox *sandbox;
	struct setup s = {.lines = o->lines, .global = *c, .log = main_log, .title = o->title};
	buf_init(&s.typical_hash, 1024);
	conn[0] = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	conn[1] = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	struct stat in, out;
	bool is_one = fstat(STDIN_FILENO, &in) == 0 && fstat(STDOUT_FILENO, &out) == 0 &&
		      S_ISSOCK(in.st_mode) && in.st_ino == out.st_ino && in.st_dev == out.st_dev;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (conn[0] < 0 || conn[1] < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0 ||
		dup2(null, STDOUT_FILENO) < 0 ||
		(!main_log.to_stderr && dup2(null, STDERR_FILENO) < 0))
		return EXIT_FATAL;
	(void)close(null);
	if (warm_crypto() != OK || sandbox_new(&sandbox) != OK || fdpass_pair(chan) != OK)
		return EXIT_FATAL;
	pid_t pid = fork();
	if (pid == 0) {
		int fds[1] = {chan[1]};
		if (child_keep_fds(fds, 1) != OK)
			_exit(EXIT_FATAL);
		net_main(fds[0], sandbox, false, &o->title);
	}
	(void)close(chan[1]);
	sandbox_free(sandbox);
	if (pid < 0)
		return EXIT_FATAL;
	host_keys_read(&s.keys, c);
	if (s.keys.n == 0) {
		log_put(LOG_L_INFO, "sshd: no hostkeys available -- exiting.");
		return 1;
	}
	rng_fill(os_rng(), s.secret, sizeof(s.secret));
	if (setup_warm(&s) != OK)
		return EXIT_FATAL;
	os_nodelay(conn[0]);
	struct conn_fds fds = {conn[0], is_one ? conn[0] : conn[1], chan[0], -1, -1};
	if (is_one)
		(void)close(conn[1]);
	int code = monitor_main(&s, &fds);
	host_keys_done(&s.keys);
	buf_done(&s.typical_hash);
	return code;
}

static void go_background(const struct sshd_options *o)
{
	if (o->is_foreground || o->debug > 0)
		return;
	pid_t pid = fork();
	if (pid != 0)
		_exit(pid < 0 ? EXIT_FATAL : 0);
	(void)setsid();
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null >= 0) {
		(void)dup2(null, STDIN_FILENO);
		(void)dup2(null, STDOUT_FILENO);
		if (!o->to_stderr)
			(void)dup2(null, STDERR_FILENO);
		(void)close(null);
	}
}

static int serve(const struct sshd_options *o, struct server_config *c)
{
	static struct host_keys keys;
	if (o->is_inetd)
		return inetd_main(o, c);
	host_keys_read(&keys, c);
	if (keys.n == 0) {
		(void)fprintf(stderr, "sshd: no hostkeys available -- exiting.\n");
		return 1;
	}
	if (o->is_test) {
		host_keys_done(&keys);
		return 0;
	}
	go_background(o);
	set_log(o, c);
	if (chdir("/") != 0)
		return EXIT_FATAL;
	return listener_main(o, c, &keys);
}

/* A command has someone to run as. */
static bool are_commands_whole(const struct server_config *c)
{
	const struct {
		const char *keyword, *line, *user;
	} commands[] = {
		{"AuthorizedKeysCommand", c->authorized_keys_command,
			c->authorized_keys_command_user},
		{"AuthorizedPrincipalsCommand", c->authorized_principals_command,
			c->authorized_principals_command_user},
	};
	for (size_t i = 0; i < ARRAY_N(commands); i++) {
		if (commands[i].line == NULL || commands[i].user != NULL)
			continue;
		log_put(LOG_L_FATAL, "%s set without %sUser", commands[i].keyword,
			commands[i].keyword);
		return false;
	}
	return true;
}

static int run(const struct sshd_options *o)
{
	struct server_config c;
	int code;
	if (conf_global(o, &c) != OK)
		return EXIT_FATAL;
	if (!are_commands_whole(&c)) {
		server_config_done(&c);
		return EXIT_FATAL;
	}
	if (!mon_methods_possible(&c)) {
		log_put(LOG_L_FATAL,
			"AuthenticationMethods cannot be satisfied by enabled authentication "
			"methods");
		server_config_done(&c);
		return EXIT_FATAL;
	}
	if (!o->is_inetd && conf_check_addresses(&c) != OK) {
		server_config_done(&c);
		return EXIT_FATAL;
	}
	if (o->is_inetd || o->to_stderr)
		set_log(o, &c);
	code = o->is_dump || o->is_dump_only ? dump(o, &c) : serve(o, &c);
	server_config_done(&c);
	return code;
}

int main(int argc, char **argv)
{
	struct sshd_options o;
	struct title title;
	child_open_stdio();
	if (title_take(&title, &argv) != OK)
		return EXIT_FATAL;
	options_parse(&o, argc, argv);
	o.title = title;
	if (o.is_reexec)
		/* no exit handlers: behind the sandbox they may not do what they want */
		_exit(zygote_main(o.role != NULL ? o.role : "", &title));
	open_log_file(&o);
	start_log(&o);
	drop_dumpable();
	int code = conf_read(&o) == OK ? run(&o) : o.is_config_missing ? 1 : EXIT_FATAL;
	cfg_lines_free(o.lines);
	return code;
}
