/* SPDX-License-Identifier: ISC */
/* run - from the command line to the served client: log, umask, start directory */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/common/me.h"
#include "app/sftp-server/sftp_server.h"
#include "base/buf.h"
#include "os/child.h"
#include "os/drop.h"
#include "os/logsink.h"

#define EXIT_FATAL 255

static int list_requests(const char *what)
{
	if (strcmp(what, "requests") != 0) {
		fprintf(stderr, "Invalid query type\n");
		return EXIT_FATAL;
	}
	for (size_t i = 0; i < SF_REQ_N; i++)
		printf("%s\n", sf_req_name((enum sf_req)i));
	return fflush(stdout) == 0 ? 0 : EXIT_FATAL;
}

/* -d: %% %d (home) %u (name) %U (id), and ~ at its start. */
static err_t expand_dir(const struct me *me, const char *dir, struct buf *out)
{
	if (dir[0] == '~' && (dir[1] == '/' || dir[1] == '\0')) {
		buf_printf(out, "%s", me->home);
		dir++;
	}
	for (; *dir != '\0'; dir++) {
		if (*dir != '%') {
			buf_put_u8(out, (uint8_t)*dir);
			continue;
		}
		dir++;
		if (*dir == '%')
			buf_put_u8(out, '%');
		else if (*dir == 'd')
			buf_printf(out, "%s", me->home);
		else if (*dir == 'u')
			buf_printf(out, "%s", me->name);
		else if (*dir == 'U')
			buf_printf(out, "%u", (unsigned)me->uid);
		else
			return E_USAGE;
	}
	buf_put_u8(out, '\0');
	return buf_err(out);
}

err_t sftp_enter_dir(const struct me *me, const char *dir)
{
	struct buf path;
	buf_init(&path, SF_FRAME_MAX);
	err_t e = expand_dir(me, dir, &path);
	if (e != OK)
		log_put(LOG_L_FATAL, "-d %s: unknown %% token, or too long", dir);
	else if (chdir((const char *)path.p) != 0)
		log_put(LOG_L_ERROR, "chdir to \"%s\" failed: %s", (const char *)path.p,
			strerror(errno));
	buf_done(&path);
	return e;
}

static int serve(const struct sftp_options *o, const struct me *me, const int fds[2])
{
	char from[64];
	const char *connection = getenv("SSH_CONNECTION");
	size_t n = connection != NULL ? strcspn(connection, " ") : 0;
	(void)snprintf(from, sizeof(from), "%.*s", (int)num_min(n, sizeof(from) - 1),
		connection != NULL ? connection : "");
	if (connection == NULL)
		(void)snprintf(from, sizeof(from), "UNKNOWN");
	if (o->umask_bits >= 0)
		(void)umask((mode_t)o->umask_bits);
	log_put(LOG_L_INFO, "session opened for local user %s from [%s]", me->name, from);
	if (o->start_dir != NULL && sftp_enter_dir(me, o->start_dir) != OK)
		return EXIT_FATAL;
	err_t e = sftp_serve(&o->policy, me->home, fds[0], fds[1]);
	if (e != OK)
		log_put(LOG_L_ERROR, "bad message from %s local user %s: %s", from, me->name,
			err_text(e));
	log_put(LOG_L_INFO, "session closed for local user %s from [%s]", me->name, from);
	return e == OK ? 0 : EXIT_FATAL;
}

int sftp_server_main(int argc, char **argv, const struct me *me, const int fds[2])
{
	struct sftp_options o;
	struct me found = {0};
	static struct logsink sink; /* the log's for as long as the process lives */
	child_ignore_pipe();
	/* nobody whose files are served may change this process through /proc */
	drop_dumpable();
	if (sftp_options_read(&o, argc, argv, true) != OK)
		return EXIT_FATAL;
	if (o.help) {
		sftp_usage(argv[0]);
		return 1;
	}
	if (o.query != NULL)
		return list_requests(o.query);
	logsink_start(&sink, o.log_level);
	const char *slash = strrchr(argv[0], '/');
	if (!o.to_stderr)
		logsink_syslog(
			&sink, slash != NULL ? slash + 1 : argv[0], o.log_facility, o.log_level);
	if (me == NULL && me_load(&found) != OK) {
		fprintf(stderr, "No user found for uid %lu\n", (unsigned long)getuid());
		return EXIT_FATAL;
	}
	int status = serve(&o, me != NULL ? me : &found, fds);
	me_done(&found);
	return status;
}
