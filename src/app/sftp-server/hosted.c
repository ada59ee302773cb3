/* SPDX-License-Identifier: ISC */
/* hosted - the SFTP server inside a process that serves other things too */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/sftp-server/disk.h"
#include "app/sftp-server/hosted.h"
#include "app/sftp-server/sftp_server.h"
#include "os/logsink.h"

#define HOST_FDS 64 /* that are never files of a client */

struct hosted {
	struct hosted_env env;
	struct sftp_options o;
	struct disk disk;
	struct sf_server *s;
	struct logsink sink;
	const char *name;
	int dir;
};

/* ---- what is the process's own ---- */
static void log_begin(struct hosted *h)
{
	logsink_syslog(&h->sink, h->name, h->o.log_facility, h->o.log_level);
}

static void log_end(struct hosted *h)
{
	h->env.log_back(h->env.arg);
}

static void say(void *arg, enum log_level level, const char *text)
{
	struct hosted *h = arg;
	log_begin(h);
	log_put(level, "%s", text);
	log_end(h);
}

/* A directory that has gone meanwhile, or may not be entered any more, is still where relative
 * paths start; then they lead nowhere. */
static void take_place(struct hosted *h)
{
	struct hosted_place *p = h->env.place;
	if (p->now == h)
		return;
	if (fchdir(h->dir) != 0)
		log_debug1("start directory: %m");
	(void)umask(h->o.umask_bits >= 0 ? (mode_t)h->o.umask_bits : p->mask);
	p->now = h;
}

static void leave_place(struct hosted *h)
{
	struct hosted_place *p = h->env.place;
	if (p->now != h)
		return;
	(void)umask(p->mask);
	p->now = NULL;
}

static err_t find_place(struct hosted *h)
{
	const struct me *me = h->env.me;
	if (chdir(me->home) != 0 && (!h->env.may_lack_home || chdir("/") != 0))
		return E_NOT_FOUND;
	if (h->o.start_dir != NULL)
		TRY(sftp_enter_dir(me, h->o.start_dir));
	h->dir = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return h->dir >= 0 ? OK : E_IO;
}

/* ---- life ---- */
static err_t start(struct hosted *h)
{
	log_put(LOG_L_INFO, "session opened for local user %s from [%s]", h->env.me->name,
		h->env.from);
	TRY(find_place(h));
	disk_init(&h->disk, h->env.me->home);
	h->disk.may_not_wait = true;
	struct sf_server_env env = {.fs = &disk_face,
		.fs_arg = &h->disk,
		.policy = h->o.policy,
		.has_link_first = h->env.has_link_first,
		.handles_max = sftp_handles_max(HOST_FDS),
		.say = say,
		.say_arg = h,
		.level = h->o.log_level};
	return sf_server_new(&h->s, &env);
}

err_t hosted_new(struct hosted **out, const struct hosted_env *env)
{
	struct hosted *h = calloc(1, sizeof(*h));
	if (h == NULL)
		return E_MEM;
	const char *slash = strrchr(env->argv[0], '/');
	h->env = *env;
	h->dir = -1;
	h->name = slash != NULL ? slash + 1 : env->argv[0];
	err_t e = sftp_options_read(&h->o, env->argc, env->argv, false);
	if (e == OK && (h->o.help || h->o.login || h->o.to_stderr || h->o.query != NULL))
		e = E_USAGE;
	if (e == OK) {
		env->place->now = NULL; /* whoever was there, the directory is another's now */
		log_begin(h);
		e = start(h);
		log_end(h);
	}
	if (e != OK) {
		if (h->dir >= 0)
			(void)close(h->dir);
		free(h);
		return e;
	}
	*out = h;
	return OK;
}

err_t hosted_serve(struct hosted *h, struct sf_work *w)
{
	take_place(h);
	return sf_server_serve(h->s, w);
}

bool hosted_has_more(const struct hosted *h)
{
	return sf_server_ready(h->s).n > 0 || sf_server_is_busy(h->s);
}

void hosted_free(struct hosted *h, err_t why)
{
	if (h == NULL)
		return;
	log_begin(h);
	if (why != OK)
		log_put(LOG_L_ERROR, "bad message from %s local user %s: %s", h->env.from,
			h->env.me->name, err_text(why));
	sf_server_free(h->s);
	log_begin(h);
	log_put(LOG_L_INFO, "session closed for local user %s from [%s]", h->env.me->name,
		h->env.from);
	log_end(h);
	leave_place(h);
	(void)close(h->dir);
	free(h);
}
