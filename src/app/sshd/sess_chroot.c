/* SPDX-License-Identifier: ISC */
/*
 * sess_chroot - ChrootDirectory: the session process moves into another root directory
 *
 * As root, before the process becomes the user's.  Every directory on the way there must be root's
 * and writable by root only, or the user could put another one into its place.  Checked is the path
 * as it was written, and, where links lead elsewhere, the one that it really is.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "app/sshd/sess.h"
#include "app/sshd/tokens.h"

static err_t check_part(const char *part, bool is_last)
{
	struct stat st;
	const char *kind = is_last ? "" : "component ";
	log_debug2("safely_chroot: checking '%s'", part);
	if (stat(part, &st) != 0) {
		log_put(LOG_L_FATAL, "safely_chroot: stat(\"%s\"): %s", part, strerror(errno));
		return E_CONFIG;
	}
	if (st.st_uid != 0 || (st.st_mode & 022) != 0) {
		log_put(LOG_L_FATAL, "bad ownership or modes for chroot directory %s\"%s\"", kind,
			part);
		return E_PERMISSION;
	}
	if (!S_ISDIR(st.st_mode)) {
		log_put(LOG_L_FATAL, "chroot path %s\"%s\" is not a directory", kind, part);
		return E_CONFIG;
	}
	return OK;
}

/* "/", "/a/", "/a/b" of "/a/b". */
static err_t check_path(const char *path)
{
	char part[PATH_MAX];
	size_t n = strlen(path);
	if (path[0] != '/') {
		log_put(LOG_L_FATAL, "chroot path does not begin at root");
		return E_CONFIG;
	}
	if (n >= sizeof(part)) {
		log_put(LOG_L_FATAL, "chroot path too long");
		return E_CONFIG;
	}
	for (size_t i = 0; i < n; i++) {
		if (path[i] != '/' && i + 1 < n)
			continue;
		(void)snprintf(part, sizeof(part), "%.*s", (int)i + 1, path);
		TRY(check_part(part, i + 1 == n));
	}
	return OK;
}

static err_t enter(const char *path)
{
	char real[PATH_MAX];
	TRY(check_path(path));
	if (chdir(path) != 0 || getcwd(real, sizeof(real)) == NULL) {
		log_put(LOG_L_FATAL, "Unable to chdir to chroot path \"%s\": %s", path,
			strerror(errno));
		return E_IO;
	}
	if (strcmp(real, path) != 0)
		TRY(check_path(real));
	if (chroot(".") != 0) {
		log_put(LOG_L_FATAL, "chroot(\"%s\"): %s", path, strerror(errno));
		return E_IO;
	}
	if (chdir("/") != 0) {
		log_put(LOG_L_FATAL, "safely_chroot: chdir(/) after chroot: %s", strerror(errno));
		return E_IO;
	}
	log_put(LOG_L_VERBOSE, "Changed root directory to \"%s\"", path);
	return OK;
}

static err_t expand(const struct os_user *u, const char *pattern, struct buf *out)
{
	if (pattern[0] == '~' && (pattern[1] == '/' || pattern[1] == '\0')) {
		buf_printf(out, "%s", u->home);
		pattern++;
	}
	err_t e = tokens_expand(u, pattern, out);
	if (e == E_CONFIG)
		log_put(LOG_L_FATAL,
			"ChrootDirectory %s: unknown key, or a name that is no part "
			"of a path",
			pattern);
	buf_put_u8(out, 0);
	return e == OK ? buf_err(out) : e;
}

err_t sess_chroot(struct server *sv)
{
	const struct session_start *st = sv->start;
	const char *pattern = st->conf->chroot_directory;
	struct buf path;
	if (strcasecmp(pattern, "none") == 0)
		return OK;
	if (geteuid() != 0) {
		log_put(LOG_L_FATAL, "server lacks privileges to chroot to ChrootDirectory");
		return E_PERMISSION;
	}
	/* What is wanted later and is not there any more then: the zone, the system's log, and
	 * whether logins are stopped. */
	tzset();
	openlog("internal-sftp", LOG_PID | LOG_NDELAY, LOG_AUTH);
	sv->is_closed = st->user->uid != 0 && access(NOLOGIN_FILE, F_OK) == 0;
	buf_init(&path, PATH_MAX);
	err_t e = expand(st->user, pattern, &path);
	if (e == OK)
		e = enter((const char *)path.p);
	buf_done(&path);
	sv->has_root = e == OK;
	return e;
}
