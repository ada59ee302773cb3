/* SPDX-License-Identifier: ISC */
/* do_names - remote names: mkdir, rmdir, rm, rename, ln, symlink, cp */
#include <stdlib.h>

#include "app/sftp/sftp.h"

#define NOT_SUPPORTED "Server does not support %s extension"

/* remote_glob of a pattern that may be relative; what fails has been told. */
static err_t expand(struct sftp *s, const char *pattern, struct remote_paths *out)
{
	char *whole = path_absolute_pattern(s, pattern);
	err_t e = whole != NULL ? remote_glob(&s->r, whole, true, out) : E_MEM;
	if (e != OK)
		(void)sftp_fail(s, e, "\"%s\"", pattern);
	free(whole);
	return e;
}

err_t do_mkdir(struct sftp *s, const struct command *c)
{
	char *path = path_absolute(s, c->arg[0]);
	err_t e = path != NULL ? remote_mkdir(&s->r, path, 0777) : E_MEM;
	if (e != OK)
		(void)sftp_fail(s, e, "remote mkdir \"%s\"", path != NULL ? path : c->arg[0]);
	free(path);
	return e;
}

err_t do_rmdir(struct sftp *s, const struct command *c)
{
	char *path = path_absolute(s, c->arg[0]);
	err_t e = path != NULL ? remote_rmdir(&s->r, path) : E_MEM;
	if (e != OK)
		(void)sftp_fail(s, e, "remote rmdir \"%s\"", path != NULL ? path : c->arg[0]);
	free(path);
	return e;
}

err_t do_rm(struct sftp *s, const struct command *c)
{
	struct remote_paths found = {0};
	err_t first = OK;
	TRY(expand(s, c->arg[0], &found));
	for (size_t i = 0; i < found.n; i++) {
		sftp_tell(s, "Removing %s", found.v[i]);
		err_t e = remote_remove(&s->r, found.v[i]);
		if (e == OK)
			continue;
		(void)sftp_fail(s, e, "remote delete %s", found.v[i]);
		first = first != OK ? first : e;
		if (e != E_STATUS)
			break;
	}
	remote_paths_free(&found);
	return first;
}

struct two {
	char *from, *to;
};

static err_t two_paths(struct sftp *s, const struct command *c, struct two *out)
{
	*out = (struct two){path_absolute(s, c->arg[0]), path_absolute(s, c->arg[1])};
	return out->from != NULL && out->to != NULL ? OK : E_MEM;
}

static void two_free(struct two *t)
{
	free(t->from);
	free(t->to);
}

err_t do_rename(struct sftp *s, const struct command *c)
{
	struct two t;
	err_t e = two_paths(s, c, &t);
	if (e == OK)
		e = remote_rename(&s->r, t.from, t.to, command_has(c, 'l'));
	if (e != OK)
		(void)sftp_fail(s, e, "remote rename \"%s\" to \"%s\"",
			t.from != NULL ? t.from : "", t.to != NULL ? t.to : "");
	two_free(&t);
	return e;
}

static err_t hard_link(struct sftp *s, const struct command *c)
{
	struct two t;
	err_t e = two_paths(s, c, &t);
	if (e == OK)
		e = remote_hardlink(&s->r, t.from, t.to);
	if (e == E_UNSUPPORTED)
		sftp_say(NOT_SUPPORTED, "hardlink@openssh.com");
	else if (e != OK)
		(void)sftp_fail(s, e, "remote link \"%s\" to \"%s\"", t.from != NULL ? t.from : "",
			t.to != NULL ? t.to : "");
	two_free(&t);
	return e;
}

/* What a link holds is no path of ours: it stays as it was typed. */
err_t do_symlink(struct sftp *s, const struct command *c)
{
	char *path = path_absolute(s, c->arg[1]);
	err_t e = path != NULL ? remote_symlink(&s->r, c->arg[0], path) : E_MEM;
	if (e != OK)
		(void)sftp_fail(s, e, "remote symlink file \"%s\" to \"%s\"", c->arg[0],
			path != NULL ? path : "");
	free(path);
	return e;
}

err_t do_ln(struct sftp *s, const struct command *c)
{
	return command_has(c, 's') ? do_symlink(s, c) : hard_link(s, c);
}

/* The server would open a directory and say no more than "Failure". */
static err_t copy_regular(struct sftp *s, const struct two *t)
{
	struct sf_attr a;
	err_t e = remote_stat(&s->r, t->from, false, &a);
	if (e != OK)
		return sftp_fail(s, e, "stat remote");
	if ((a.flags & SF_A_MODE) != 0 && (a.mode & 0170000) != 0100000) {
		sftp_say("Cannot copy non-regular file: %s", t->from);
		return E_USAGE;
	}
	e = remote_copy(&s->r, t->from, t->to);
	return e != OK ? sftp_fail(s, e, "remote copy \"%s\" to \"%s\"", t->from, t->to) : OK;
}

err_t do_cp(struct sftp *s, const struct command *c)
{
	struct two t;
	if (!sf_client_has(s->r.sf, SF_EXT_copy_data)) {
		sftp_say(NOT_SUPPORTED, "copy-data");
		return E_UNSUPPORTED;
	}
	err_t e = two_paths(s, c, &t);
	e = e == OK ? copy_regular(s, &t) : sftp_fail(s, e, "copy");
	two_free(&t);
	return e;
}
