/* SPDX-License-Identifier: ISC */
/* do_go - where we are, on both sides: cd, pwd, lcd, lpwd, lmkdir, lumask */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/sftp/sftp.h"

err_t do_cd(struct sftp *s, const struct command *c)
{
	bool is_dir = false;
	char *real = NULL;
	char *path = path_absolute(s, c->arg[0] != NULL ? c->arg[0] : s->start);
	if (path == NULL)
		return sftp_fail(s, E_MEM, "cd");
	err_t e = remote_realpath(&s->r, path, &real);
	if (e != OK) {
		(void)sftp_fail(s, e, "realpath %s", path);
		free(path);
		return e;
	}
	free(path);
	e = path_is_remote_dir(s, real, &is_dir);
	if (e != OK) {
		(void)sftp_fail(s, e, "stat remote");
	} else if (!is_dir) {
		sftp_say("Can't change directory: \"%s\" is not a directory", real);
		e = E_USAGE;
	}
	if (e != OK) {
		free(real);
		return e;
	}
	free(s->pwd);
	s->pwd = real;
	return OK;
}

err_t do_pwd(struct sftp *s, const struct command *c)
{
	(void)c;
	sftp_print("Remote working directory: %s", s->pwd);
	return OK;
}

err_t do_lcd(struct sftp *s, const struct command *c)
{
	const char *to = c->arg[0] != NULL ? c->arg[0] : getenv("HOME");
	if (to == NULL)
		to = "/";
	if (chdir(to) == 0)
		return OK;
	(void)s;
	sftp_say("Couldn't change local directory to \"%s\": %s", to, strerror(errno));
	return E_IO;
}

err_t do_lpwd(struct sftp *s, const struct command *c)
{
	char *here = getcwd(NULL, 0);
	(void)s, (void)c;
	if (here == NULL) {
		sftp_say("Couldn't get local cwd: %s", strerror(errno));
		return E_IO;
	}
	sftp_print("Local working directory: %s", here);
	free(here);
	return OK;
}

err_t do_lmkdir(struct sftp *s, const struct command *c)
{
	(void)s;
	if (mkdir(c->arg[0], 0777) == 0)
		return OK;
	sftp_say("Couldn't create local directory \"%s\": %s", c->arg[0], strerror(errno));
	return E_IO;
}

err_t do_lumask(struct sftp *s, const struct command *c)
{
	s->umask = c->number & 0777;
	(void)umask((mode_t)s->umask);
	sftp_print("Local umask: %03o", (unsigned)s->umask);
	return OK;
}
