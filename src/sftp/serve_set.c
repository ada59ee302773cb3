/* SPDX-License-Identifier: ISC */
/* serve_set - attributes of files: asked for and set */
#include "sftp/server_int.h"

static void reply_stat(struct sf_server *s, uint32_t id, const struct sf_where *at)
{
	struct sf_attr a = {0};
	enum sf_code code = s->env.fs->stat(s->env.fs_arg, at, &a);
	if (code == SF_ok)
		sf_reply_attrs(s, id, &a);
	else
		sf_reply_status(s, id, code);
}

void sf_on_stat(struct sf_server *s, uint32_t id, const struct sf_stat *m)
{
	struct sf_where at = {.path = sf_path(s, 0, m->path)};
	sf_say(s, LOG_L_VERBOSE, "stat name \"%s\"", at.path);
	reply_stat(s, id, &at);
}

void sf_on_lstat(struct sf_server *s, uint32_t id, const struct sf_lstat *m)
{
	struct sf_where at = {.path = sf_path(s, 0, m->path), .is_link = true};
	sf_say(s, LOG_L_VERBOSE, "lstat name \"%s\"", at.path);
	reply_stat(s, id, &at);
}

void sf_on_fstat(struct sf_server *s, uint32_t id, const struct sf_fstat *m)
{
	struct sf_held *h = sf_find(s, id, m->handle, SF_H_FILE, SF_failure);
	if (h == NULL)
		return;
	sf_say(s, LOG_L_DEBUG1, "fstat \"%s\" (handle %u)", h->name, (unsigned)h->at);
	reply_stat(s, id, &(struct sf_where){.fh = h->fh});
}

static void say_time(const struct sf_server *s, const char *name, uint32_t t)
{
	struct sf_civil c = {0};
	s->env.fs->local_time(s->env.fs_arg, t, &c);
	sf_say(s, LOG_L_INFO, "set \"%s\" modtime %04u%02u%02u-%02u:%02u:%02u", name,
		(unsigned)c.year, (unsigned)c.month + 1, (unsigned)c.day, (unsigned)c.hour,
		(unsigned)c.minute, (unsigned)c.second);
}

/* In OpenSSH's order; what fails does not keep the rest from being tried, the last failure counts.
 */
enum sf_code sf_set(
	struct sf_server *s, const struct sf_where *at, const char *name, const struct sf_attr *a)
{
	const struct sf_fs *fs = s->env.fs;
	enum sf_code codes[4] = {SF_ok, SF_ok, SF_ok, SF_ok}, code = SF_ok;
	if ((a->flags & SF_A_SIZE) != 0) {
		sf_say(s, LOG_L_INFO, "set \"%s\" size %llu", name, (unsigned long long)a->size);
		codes[0] = fs->set_size(s->env.fs_arg, at, a->size);
	}
	if ((a->flags & SF_A_MODE) != 0) {
		sf_say(s, LOG_L_INFO, "set \"%s\" mode %04o", name, (unsigned)a->mode);
		codes[1] = fs->set_mode(s->env.fs_arg, at, a->mode & 07777);
	}
	if ((a->flags & SF_A_TIMES) != 0) {
		if (s->env.level >= LOG_L_INFO)
			say_time(s, name, a->mtime);
		codes[2] = fs->set_times(s->env.fs_arg, at, a->atime, a->mtime);
	}
	if ((a->flags & SF_A_OWNER) != 0) {
		sf_say(s, LOG_L_INFO, "set \"%s\" owner %u group %u", name, (unsigned)a->uid,
			(unsigned)a->gid);
		codes[3] = fs->set_owner(s->env.fs_arg, at, a->uid, a->gid);
	}
	for (size_t i = 0; i < ARRAY_N(codes); i++)
		code = codes[i] != SF_ok ? codes[i] : code;
	return code;
}

void sf_on_setstat(struct sf_server *s, uint32_t id, const struct sf_setstat *m)
{
	struct sf_where at = {.path = sf_path(s, 0, m->path)};
	sf_reply_status(s, id, sf_set(s, &at, at.path, &m->a));
}

void sf_on_fsetstat(struct sf_server *s, uint32_t id, const struct sf_fsetstat *m)
{
	struct sf_held *h = sf_find(s, id, m->handle, SF_H_FILE, SF_failure);
	if (h == NULL)
		return;
	struct sf_where at = {.fh = h->fh};
	sf_reply_status(s, id, sf_set(s, &at, h->name, &m->a));
}

void sf_on_lsetstat(struct sf_server *s, uint32_t id, const struct sf_lsetstat *m)
{
	struct sf_where at = {.path = sf_path(s, 0, m->path), .is_link = true};
	if ((m->a.flags & SF_A_SIZE) != 0) /* a link has none to be set */
		sf_reply_status(s, id, SF_bad_message);
	else
		sf_reply_status(s, id, sf_set(s, &at, at.path, &m->a));
}

static void reply_vfs(struct sf_server *s, uint32_t id, const struct sf_where *at)
{
	struct sf_vfs v = {0};
	enum sf_code code = s->env.fs->statvfs(s->env.fs_arg, at, &v);
	if (code != SF_ok) {
		sf_reply_status(s, id, code);
		return;
	}
	struct wr w = sf_reply_begin(s, SF_MSG_extended_reply);
	wr_u32(&w, id);
	sf_put_vfs(&w, &v);
	sf_reply_end(s, &w);
}

void sf_on_statvfs(struct sf_server *s, uint32_t id, const struct sf_statvfs *m)
{
	struct sf_where at = {.path = sf_path(s, 0, m->path)};
	sf_say(s, LOG_L_INFO, "statvfs \"%s\"", at.path);
	reply_vfs(s, id, &at);
}

void sf_on_fstatvfs(struct sf_server *s, uint32_t id, const struct sf_fstatvfs *m)
{
	struct sf_held *h = sf_find(s, id, m->handle, SF_H_FILE, SF_failure);
	if (h != NULL)
		reply_vfs(s, id, &(struct sf_where){.fh = h->fh});
}
