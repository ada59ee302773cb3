/* SPDX-License-Identifier: ISC */
/* do_attr - chmod, chown, chgrp of what a pattern means */
#include <stdlib.h>

#include "app/sftp/sftp.h"

enum what { MODE, OWNER, GROUP };

static err_t set(struct sftp *s, const char *path, bool is_link, const struct sf_attr *a)
{
	err_t e = remote_setstat(&s->r, path, is_link, a);
	return e == OK ? OK : sftp_fail(s, e, "remote %ssetstat \"%s\"", is_link ? "l" : "", path);
}

/* Owner and group are set together: the other one is asked for first. */
static err_t change_owner(struct sftp *s, const struct command *c, enum what what, const char *path)
{
	static const char *const tells[] = {[OWNER] = "owner", [GROUP] = "group"};
	struct sf_attr a;
	bool is_link = command_has(c, 'h');
	err_t e = remote_stat(&s->r, path, is_link, &a);
	if (e != OK)
		return sftp_fail(s, e, "stat remote");
	if ((a.flags & SF_A_OWNER) == 0) {
		sftp_say("Can't get current ownership of remote file \"%s\"", path);
		return E_USAGE;
	}
	a = (struct sf_attr){.flags = SF_A_OWNER, .uid = a.uid, .gid = a.gid};
	if (what == OWNER)
		a.uid = c->number;
	else
		a.gid = c->number;
	sftp_tell(s, "Changing %s on %s", tells[what], path);
	return set(s, path, is_link, &a);
}

static err_t change(struct sftp *s, const struct command *c, enum what what, const char *path)
{
	if (what != MODE)
		return change_owner(s, c, what, path);
	struct sf_attr a = {.flags = SF_A_MODE, .mode = c->number};
	sftp_tell(s, "Changing mode on %s", path);
	return set(s, path, command_has(c, 'h'), &a);
}

static err_t change_all(struct sftp *s, const struct command *c, enum what what)
{
	struct remote_paths found = {0};
	if (command_has(c, 'h') && !sf_client_has(s->r.sf, SF_EXT_lsetstat)) {
		sftp_say("Server does not support lsetstat@openssh.com extension");
		return E_UNSUPPORTED;
	}
	char *pattern = path_absolute_pattern(s, c->arg[0]);
	err_t e = pattern != NULL ? remote_glob(&s->r, pattern, true, &found) : E_MEM, first = OK;
	free(pattern);
	if (e != OK)
		return sftp_fail(s, e, "\"%s\"", c->arg[0]);
	for (size_t i = 0; i < found.n; i++) {
		e = change(s, c, what, found.v[i]);
		first = first != OK ? first : e;
		if (e == E_INTERRUPTED || s->r.end != OK)
			break;
	}
	remote_paths_free(&found);
	return first;
}

err_t do_chmod(struct sftp *s, const struct command *c)
{
	return change_all(s, c, MODE);
}

err_t do_chown(struct sftp *s, const struct command *c)
{
	return change_all(s, c, OWNER);
}

err_t do_chgrp(struct sftp *s, const struct command *c)
{
	return change_all(s, c, GROUP);
}
