/* SPDX-License-Identifier: ISC */
/* serve_path - requests about names: making, removing, renaming, linking, resolving */
#include "sftp/server_int.h"

void sf_on_remove(struct sf_server *s, uint32_t id, const struct sf_remove *m)
{
	const char *path = sf_path(s, 0, m->path);
	sf_say(s, LOG_L_INFO, "remove name \"%s\"", path);
	sf_reply_status(s, id, s->env.fs->remove(s->env.fs_arg, path));
}

void sf_on_mkdir(struct sf_server *s, uint32_t id, const struct sf_mkdir *m)
{
	const char *path = sf_path(s, 0, m->path);
	uint32_t mode = (m->a.flags & SF_A_MODE) != 0 ? m->a.mode & 07777 : 0777;
	sf_say(s, LOG_L_INFO, "mkdir name \"%s\" mode 0%o", path, (unsigned)mode);
	sf_reply_status(s, id, s->env.fs->mkdir(s->env.fs_arg, path, mode));
}

void sf_on_rmdir(struct sf_server *s, uint32_t id, const struct sf_rmdir *m)
{
	const char *path = sf_path(s, 0, m->path);
	sf_say(s, LOG_L_INFO, "rmdir name \"%s\"", path);
	sf_reply_status(s, id, s->env.fs->rmdir(s->env.fs_arg, path));
}

void sf_on_rename(struct sf_server *s, uint32_t id, const struct sf_rename *m)
{
	const char *from = sf_path(s, 0, m->from), *to = sf_path(s, 1, m->to);
	sf_say(s, LOG_L_INFO, "rename old \"%s\" new \"%s\"", from, to);
	sf_reply_status(s, id, s->env.fs->rename(s->env.fs_arg, from, to, false));
}

void sf_on_posix_rename(struct sf_server *s, uint32_t id, const struct sf_posix_rename *m)
{
	const char *from = sf_path(s, 0, m->from), *to = sf_path(s, 1, m->to);
	sf_say(s, LOG_L_INFO, "posix-rename old \"%s\" new \"%s\"", from, to);
	sf_reply_status(s, id, s->env.fs->rename(s->env.fs_arg, from, to, true));
}

void sf_on_hardlink(struct sf_server *s, uint32_t id, const struct sf_hardlink *m)
{
	const char *from = sf_path(s, 0, m->from), *to = sf_path(s, 1, m->to);
	sf_say(s, LOG_L_INFO, "hardlink old \"%s\" new \"%s\"", from, to);
	sf_reply_status(s, id, s->env.fs->link(s->env.fs_arg, from, to));
}

void sf_on_symlink(struct sf_server *s, uint32_t id, const struct sf_symlink *m)
{
	bool is_swapped = s->env.has_link_first;
	const char *target = sf_path(s, 0, is_swapped ? m->path : m->target),
		   *path = sf_path(s, 1, is_swapped ? m->target : m->path);
	sf_say(s, LOG_L_INFO, "symlink old \"%s\" new \"%s\"", target, path);
	sf_reply_status(s, id, s->env.fs->symlink(s->env.fs_arg, target, path));
}

static void reply_found(
	struct sf_server *s, uint32_t id, enum sf_code code, const char *found, size_t n)
{
	if (code == SF_ok)
		sf_reply_path(s, id, cslice_of(found, n));
	else
		sf_reply_status(s, id, code);
}

void sf_on_readlink(struct sf_server *s, uint32_t id, const struct sf_readlink *m)
{
	const char *path = sf_path(s, 0, m->path);
	size_t n = 0;
	struct slice room = {(uint8_t *)s->path[1], SF_PATH_MAX};
	sf_say(s, LOG_L_VERBOSE, "readlink \"%s\"", path);
	enum sf_code code = s->env.fs->readlink(s->env.fs_arg, path, room, &n);
	reply_found(s, id, code, s->path[1], n);
}

static void reply_real(struct sf_server *s, uint32_t id, const char *path)
{
	char found[SF_PATH_MAX];
	size_t n = 0;
	struct slice room = {(uint8_t *)found, sizeof(found)};
	enum sf_code code = s->env.fs->realpath(s->env.fs_arg, path, room, &n);
	reply_found(s, id, code, found, n);
}

void sf_on_realpath(struct sf_server *s, uint32_t id, const struct sf_realpath *m)
{
	const char *path = sf_path(s, 0, m->path.n > 0 ? m->path : cslice_str("."));
	sf_say(s, LOG_L_VERBOSE, "realpath \"%s\"", path);
	reply_real(s, id, path);
}

/* "~" and "~/x" are where the server started, "~user/x" is that user's home. */
void sf_on_expand_path(struct sf_server *s, uint32_t id, const struct sf_expand_path *m)
{
	const char *path = sf_path(s, 0, m->path.n > 0 ? m->path : cslice_str("."));
	char *full = s->path[1];
	struct wr w = wr_of((struct slice){(uint8_t *)full, SF_PATH_MAX - 1});
	if (path[0] == '~' && path[1] != '\0' && path[1] != '/') {
		size_t n = strcspn(path, "/"), home_n = 0;
		struct slice room = {(uint8_t *)full, SF_PATH_MAX - 1};
		char *end = s->path[0] + n, kept = *end;
		*end = '\0';
		if (s->env.fs->home(s->env.fs_arg, path + 1, room, &home_n) != SF_ok) {
			sf_reply_status_text(s, id, SF_no_such_file, "no such user");
			return;
		}
		*end = kept;
		w.n = home_n;
		wr_raw(&w, cslice_str(end));
	} else if (path[0] == '~') {
		wr_raw(&w, cslice_str("."));
		wr_raw(&w, cslice_str(path + 1));
	} else {
		wr_raw(&w, cslice_str(path));
	}
	if (wr_end(&w) != OK) {
		sf_reply_status(s, id, SF_bad_message);
		return;
	}
	full[w.n] = '\0';
	sf_say(s, LOG_L_VERBOSE, "expand \"%s\"", full);
	reply_real(s, id, full);
}

void sf_on_home_directory(struct sf_server *s, uint32_t id, const struct sf_home_directory *m)
{
	const char *user = sf_path(s, 0, m->user);
	size_t n = 0;
	struct slice room = {(uint8_t *)s->path[1], SF_PATH_MAX - 1};
	enum sf_code code = s->env.fs->home(s->env.fs_arg, user, room, &n);
	if (code == SF_ok)
		sf_say(s, LOG_L_VERBOSE, "home-directory \"%.*s\"", (int)n, s->path[1]);
	reply_found(s, id, code == SF_ok ? SF_ok : SF_failure, s->path[1], n);
}
