/* SPDX-License-Identifier: ISC */
/* serve_dir - directories, names of owners, and what the server can bear */
#include "sftp/server_int.h"

/* Clients need not take packets of more than 34,000 bytes (section 3). */
#define DIR_REPLY_MAX ((size_t)32 * 1024)
#define ENTRY_MAX     (8 + SF_NAME_MAX + SF_LONGNAME_MAX + 64)

void sf_on_opendir(struct sf_server *s, uint32_t id, const struct sf_opendir *m)
{
	uint64_t fh;
	struct sf_held *h;
	const char *path = sf_path(s, 0, m->path);
	sf_say(s, LOG_L_INFO, "opendir \"%s\"", path);
	enum sf_code code = s->env.fs->opendir(s->env.fs_arg, path, &fh);
	if (code == SF_ok && sf_handles_add(&s->handles, SF_H_DIR, fh, path, &h) != OK) {
		(void)s->env.fs->closedir(s->env.fs_arg, fh);
		code = SF_failure;
	}
	if (code == SF_ok)
		sf_reply_handle(s, id, h);
	else
		sf_reply_status(s, id, code);
}

void sf_on_readdir(struct sf_server *s, uint32_t id, const struct sf_readdir *m)
{
	struct sf_held *h = sf_find(s, id, m->handle, SF_H_DIR, SF_failure);
	if (h == NULL)
		return;
	sf_say(s, LOG_L_DEBUG1, "readdir \"%s\" (handle %u)", h->name, (unsigned)h->at);
	uint8_t longname[SF_LONGNAME_MAX];
	uint32_t count = 0;
	enum sf_code code = SF_ok;
	struct wr w = sf_reply_begin(s, SF_MSG_name);
	wr_u32(&w, id);
	wr_u32(&w, 0);
	while (w.n + ENTRY_MAX <= DIR_REPLY_MAX) {
		struct sf_dirent d = {0};
		code = s->env.fs->readdir(s->env.fs_arg, h->fh, &d);
		if (code != SF_ok)
			break;
		size_t n = sf_longname(s, &d, (struct slice){longname, sizeof(longname)});
		struct sf_entry e = {
			.filename = d.name, .longname = cslice_of(longname, n), .a = d.a};
		sf_put_entry(&w, &e);
		count++;
	}
	if (count == 0) {
		sf_reply_status(s, id, code);
		return;
	}
	be32_put(w.p + 5, count);
	sf_reply_end(s, &w);
}

void sf_on_limits(struct sf_server *s, uint32_t id, const struct sf_limits *m)
{
	(void)m;
	struct sf_limit_values v = {.packet = SF_FRAME_MAX,
		.read = SF_DATA_MAX,
		.write = SF_DATA_MAX,
		.handles = s->handles.max};
	struct wr w = sf_reply_begin(s, SF_MSG_extended_reply);
	wr_u32(&w, id);
	sf_put_limit_values(&w, &v);
	sf_reply_end(s, &w);
}

/* A string of strings: a name each id, empty where it has none. */
static void put_names(struct sf_server *s, struct wr *w, struct cslice ids,
	const char *(*name_of)(void *fs, uint32_t id))
{
	size_t at = w->n;
	wr_u32(w, 0);
	for (struct rd r = rd_of(ids); r.n >= 4 && !w->bad;) {
		const char *name = name_of(s->env.fs_arg, rd_u32(&r));
		wr_str(w, cslice_str(name != NULL ? name : ""));
	}
	if (!w->bad)
		be32_put(w->p + at, (uint32_t)(w->n - at - 4));
}

void sf_on_users_groups_by_id(
	struct sf_server *s, uint32_t id, const struct sf_users_groups_by_id *m)
{
	sf_say(s, LOG_L_VERBOSE, "users-groups-by-id: %zu users, %zu groups", m->uids.n / 4,
		m->gids.n / 4);
	if (m->uids.n % 4 != 0 || m->gids.n % 4 != 0) {
		sf_reply_status(s, id, SF_bad_message);
		return;
	}
	struct wr w = sf_reply_begin(s, SF_MSG_extended_reply);
	wr_u32(&w, id);
	put_names(s, &w, m->uids, s->env.fs->user_name);
	put_names(s, &w, m->gids, s->env.fs->group_name);
	if (wr_end(&w) != OK) /* more names than a reply has room for */
		sf_reply_status(s, id, SF_failure);
	else
		sf_reply_end(s, &w);
}
