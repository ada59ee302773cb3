/* SPDX-License-Identifier: ISC */
/* memfs - a file system in memory */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "memfs.h"

#define HOPS 8

/* ---- nodes and entries ------------------------------------------------------------------------
 */

static int entry_of(const struct memfs *m, int parent, const char *name, size_t n)
{
	for (size_t i = 0; i < m->entries_n; i++) {
		const struct mem_entry *e = &m->entries[i];
		if (e->parent == parent && e->n == n && memcmp(e->name, name, n) == 0)
			return (int)i;
	}
	return -1;
}

static int parent_of(const struct memfs *m, int node)
{
	for (size_t i = 0; i < m->entries_n; i++)
		if (m->entries[i].node == node)
			return m->entries[i].parent;
	return 0;
}

struct walk {
	int dir, node; /* node -1: the last part does not exist in dir */
	const char *name;
	size_t n;
	char text[SF_PATH_MAX];
};

/* Follows path; the last part only when it is wanted. */
static enum sf_code walk(struct memfs *m, const char *path, bool follow, struct walk *w)
{
	int hops = 0;
	(void)snprintf(w->text, sizeof(w->text), "%s", path);
	w->dir = w->node = 0;
	w->name = "";
	w->n = 0;
	if (path[0] == '\0')
		return SF_no_such_file;
	for (char *at = w->text;;) {
		at += strspn(at, "/");
		if (*at == '\0')
			return SF_ok;
		size_t n = strcspn(at, "/");
		if (w->node < 0 || m->nodes[w->node].kind != MEM_DIR_NODE)
			return SF_no_such_file;
		w->dir = w->node;
		w->name = at;
		w->n = n;
		bool is_last = at[n + strspn(at + n, "/")] == '\0';
		if (n == 2 && memcmp(at, "..", 2) == 0)
			w->node = parent_of(m, w->node);
		else if (n != 1 || at[0] != '.') {
			int e = entry_of(m, w->node, at, n);
			w->node = e < 0 ? -1 : m->entries[e].node;
		}
		if (w->node < 0 && !is_last)
			return SF_no_such_file;
		if (w->node > 0 && m->nodes[w->node].kind == MEM_LINK_NODE &&
			(follow || !is_last)) {
			char next[SF_PATH_MAX];
			const struct mem_node *l = &m->nodes[w->node];
			if (++hops > HOPS || l->n + strlen(at + n) >= sizeof(next))
				return SF_no_such_file;
			(void)snprintf(
				next, sizeof(next), "%.*s%s", (int)l->n, (char *)l->data, at + n);
			w->node = next[0] == '/' ? 0 : w->dir;
			memcpy(w->text, next, sizeof(next));
			at = w->text;
			continue;
		}
		at += n;
	}
}

int memfs_find(struct memfs *m, const char *path)
{
	struct walk w;
	return walk(m, path, true, &w) == SF_ok ? w.node : -1;
}

static enum sf_code add_entry(struct memfs *m, int parent, const char *name, size_t n, int node)
{
	if (m->entries_n == MEM_ENTRIES || n > SF_NAME_MAX || n == 0)
		return SF_failure;
	struct mem_entry *e = &m->entries[m->entries_n++];
	*e = (struct mem_entry){.parent = parent, .node = node, .n = n};
	memcpy(e->name, name, n);
	m->nodes[node].links++;
	return SF_ok;
}

static void drop_node(struct memfs *m, int node)
{
	struct mem_node *d = &m->nodes[node];
	for (size_t i = 0; i < MEM_OPENS; i++)
		if (m->opens[i].node == node)
			return;
	if (node != 0 && d->links == 0) {
		free(d->data);
		*d = (struct mem_node){0};
	}
}

static void drop_entry(struct memfs *m, int e)
{
	int node = m->entries[e].node;
	m->entries[e] = m->entries[--m->entries_n];
	m->nodes[node].links--;
	drop_node(m, node);
}

static int add_node(struct memfs *m, enum mem_kind kind, uint32_t mode)
{
	for (int i = 1; i < MEM_NODES; i++) {
		if (m->nodes[i].kind == MEM_NONE) {
			m->nodes[i] = (struct mem_node){.kind = kind, .mode = mode};
			return i;
		}
	}
	return -1;
}

static enum sf_code resize(struct mem_node *d, size_t n)
{
	if (n > MEM_FILE)
		return SF_failure;
	if (n > d->cap) {
		size_t cap = num_max(n, d->cap * 2);
		uint8_t *p = realloc(d->data, cap);
		assert(p != NULL);
		d->data = p;
		d->cap = cap;
	}
	if (n > d->n)
		memset(d->data + d->n, 0, n - d->n);
	d->n = n;
	return SF_ok;
}

/* A new node under a path that does not exist yet. */
static enum sf_code make(
	struct memfs *m, const char *path, enum mem_kind kind, uint32_t mode, int *out)
{
	struct walk w;
	enum sf_code code = walk(m, path, false, &w);
	if (code != SF_ok)
		return code;
	if (w.node >= 0)
		return SF_failure;
	int node = add_node(m, kind, mode);
	if (node < 0)
		return SF_failure;
	code = add_entry(m, w.dir, w.name, w.n, node);
	if (code != SF_ok)
		drop_node(m, node);
	else
		*out = node;
	return code;
}

/* ---- the face ---------------------------------------------------------------------------------
 */

static bool fails(struct memfs *m, bool changes)
{
	m->calls++;
	m->changes += changes;
	return m->calls == m->fail_at;
}

#define BEGIN(changes)                                                                             \
	struct memfs *m = fs;                                                                      \
	if (fails(m, changes))                                                                     \
	return SF_failure

static struct mem_open *open_of(struct memfs *m, uint64_t fh, bool is_dir)
{
	assert(fh < MEM_OPENS && m->opens[fh].node >= 0 && m->opens[fh].is_dir == is_dir);
	return &m->opens[fh];
}

static enum sf_code hold(struct memfs *m, int node, uint32_t flags, bool is_dir, uint64_t *fh)
{
	for (size_t i = 0; i < MEM_OPENS; i++) {
		if (m->opens[i].node >= 0)
			continue;
		m->opens[i] = (struct mem_open){.node = node, .flags = flags, .is_dir = is_dir};
		m->opens_n++;
		*fh = i;
		return SF_ok;
	}
	return SF_failure;
}

static enum sf_code mem_open(
	void *fs, const char *path, uint32_t flags, uint32_t mode, uint64_t *fh)
{
	bool changes = (flags & (SF_OPEN_WRITE | SF_OPEN_CREATE | SF_OPEN_TRUNC)) != 0;
	BEGIN(changes);
	struct walk w;
	enum sf_code code = walk(m, path, true, &w);
	if (code != SF_ok)
		return code;
	if (w.node < 0 && (flags & SF_OPEN_CREATE) == 0)
		return SF_no_such_file;
	if (w.node >= 0 && (flags & SF_OPEN_EXCL) != 0 && (flags & SF_OPEN_CREATE) != 0)
		return SF_failure;
	if (w.node >= 0 && m->nodes[w.node].kind == MEM_DIR_NODE)
		return SF_failure;
	if (w.node < 0) {
		int node = add_node(m, MEM_FILE_NODE, mode);
		if (node < 0)
			return SF_failure;
		code = add_entry(m, w.dir, w.name, w.n, node);
		if (code != SF_ok) {
			drop_node(m, node);
			return code;
		}
		w.node = node;
	} else if ((flags & SF_OPEN_TRUNC) != 0) {
		m->nodes[w.node].n = 0;
	}
	return hold(m, w.node, flags, false, fh);
}

static enum sf_code let_go(struct memfs *m, uint64_t fh, bool is_dir)
{
	struct mem_open *o = open_of(m, fh, is_dir);
	int node = o->node;
	o->node = -1;
	m->opens_n--;
	drop_node(m, node);
	return SF_ok;
}

static enum sf_code mem_close(void *fs, uint64_t fh)
{
	struct memfs *m = fs;
	bool is_bad = fails(m, false);
	(void)let_go(m, fh, false);
	return is_bad ? SF_failure : SF_ok;
}

static enum sf_code mem_read(void *fs, uint64_t fh, uint64_t offset, struct slice room, size_t *n)
{
	BEGIN(false);
	const struct mem_open *o = open_of(m, fh, false);
	const struct mem_node *d = &m->nodes[o->node];
	m->largest = num_max(m->largest, room.n);
	if ((o->flags & SF_OPEN_READ) == 0 && (o->flags & SF_OPEN_WRITE) != 0)
		return SF_no_such_file;
	if (offset >= d->n)
		return SF_eof;
	*n = num_min(room.n, d->n - (size_t)offset);
	memcpy(room.p, d->data + offset, *n);
	return SF_ok;
}

static enum sf_code mem_write(void *fs, uint64_t fh, uint64_t offset, struct cslice data)
{
	BEGIN(true);
	const struct mem_open *o = open_of(m, fh, false);
	struct mem_node *d = &m->nodes[o->node];
	m->largest = num_max(m->largest, data.n);
	if ((o->flags & SF_OPEN_WRITE) == 0)
		return SF_no_such_file;
	if ((o->flags & SF_OPEN_APPEND) != 0)
		offset = d->n;
	if (offset > MEM_FILE || data.n > MEM_FILE - offset)
		return SF_failure;
	enum sf_code code = resize(d, num_max(d->n, (size_t)offset + data.n));
	if (code == SF_ok)
		memcpy(d->data + offset, data.p, data.n);
	return code;
}

static enum sf_code mem_sync(void *fs, uint64_t fh)
{
	BEGIN(true);
	(void)open_of(m, fh, false);
	return SF_ok;
}

static enum sf_code node_at(struct memfs *m, const struct sf_where *at, struct mem_node **out)
{
	struct walk w = {.node = -1};
	if (at->path == NULL)
		w.node = open_of(m, at->fh, false)->node;
	else if (walk(m, at->path, !at->is_link, &w) != SF_ok || w.node < 0)
		return SF_no_such_file;
	*out = &m->nodes[w.node];
	return SF_ok;
}

static struct sf_attr attr_of(const struct mem_node *d)
{
	static const uint32_t types[] = {0, 0100000, 0040000, 0120000};
	return (struct sf_attr){.flags = SF_A_SIZE | SF_A_OWNER | SF_A_MODE | SF_A_TIMES,
		.size = d->n,
		.uid = d->uid,
		.gid = d->gid,
		.mode = types[d->kind] | d->mode,
		.atime = d->atime,
		.mtime = d->mtime};
}

static enum sf_code mem_stat(void *fs, const struct sf_where *at, struct sf_attr *out)
{
	BEGIN(false);
	struct mem_node *d;
	enum sf_code code = node_at(m, at, &d);
	if (code == SF_ok)
		*out = attr_of(d);
	return code;
}

static enum sf_code mem_set_size(void *fs, const struct sf_where *at, uint64_t size)
{
	BEGIN(true);
	struct mem_node *d;
	enum sf_code code = node_at(m, at, &d);
	if (code != SF_ok)
		return code;
	return d->kind == MEM_FILE_NODE && size <= MEM_FILE ? resize(d, (size_t)size) : SF_failure;
}

static enum sf_code mem_set_mode(void *fs, const struct sf_where *at, uint32_t mode)
{
	BEGIN(true);
	struct mem_node *d;
	enum sf_code code = node_at(m, at, &d);
	if (code == SF_ok)
		d->mode = mode;
	return code;
}

static enum sf_code mem_set_times(
	void *fs, const struct sf_where *at, uint32_t atime, uint32_t mtime)
{
	BEGIN(true);
	struct mem_node *d;
	enum sf_code code = node_at(m, at, &d);
	if (code == SF_ok)
		d->atime = atime, d->mtime = mtime;
	return code;
}

static enum sf_code mem_set_owner(void *fs, const struct sf_where *at, uint32_t uid, uint32_t gid)
{
	BEGIN(true);
	struct mem_node *d;
	enum sf_code code = node_at(m, at, &d);
	if (code == SF_ok)
		d->uid = uid, d->gid = gid;
	return code;
}

static enum sf_code mem_statvfs(void *fs, const struct sf_where *at, struct sf_vfs *out)
{
	BEGIN(false);
	struct mem_node *d;
	enum sf_code code = node_at(m, at, &d);
	if (code == SF_ok)
		*out = (struct sf_vfs){.bsize = 512, .frsize = 1, .namemax = SF_NAME_MAX};
	return code;
}

static enum sf_code mem_opendir(void *fs, const char *path, uint64_t *fh)
{
	BEGIN(false);
	int node = memfs_find(m, path);
	if (node < 0 || m->nodes[node].kind != MEM_DIR_NODE)
		return SF_no_such_file;
	return hold(m, node, 0, true, fh);
}

static enum sf_code mem_readdir(void *fs, uint64_t fh, struct sf_dirent *out)
{
	BEGIN(false);
	struct mem_open *o = open_of(m, fh, true);
	for (; o->at < m->entries_n; o->at++) {
		const struct mem_entry *e = &m->entries[o->at];
		if (e->parent != o->node)
			continue;
		*out = (struct sf_dirent){.name = cslice_of(e->name, e->n),
			.a = attr_of(&m->nodes[e->node]),
			.links = m->nodes[e->node].links};
		o->at++;
		return SF_ok;
	}
	return SF_eof;
}

static enum sf_code mem_closedir(void *fs, uint64_t fh)
{
	struct memfs *m = fs;
	bool is_bad = fails(m, false);
	(void)let_go(m, fh, true);
	return is_bad ? SF_failure : SF_ok;
}

static bool is_empty(const struct memfs *m, int dir)
{
	for (size_t i = 0; i < m->entries_n; i++)
		if (m->entries[i].parent == dir)
			return false;
	return true;
}

static enum sf_code unmake(struct memfs *m, const char *path, bool is_dir)
{
	struct walk w;
	enum sf_code code = walk(m, path, false, &w);
	if (code != SF_ok || w.node < 0)
		return SF_no_such_file;
	int e = entry_of(m, w.dir, w.name, w.n);
	bool fits = (m->nodes[w.node].kind == MEM_DIR_NODE) == is_dir;
	if (e < 0 || !fits || (is_dir && !is_empty(m, w.node)))
		return SF_failure;
	drop_entry(m, e);
	return SF_ok;
}

static enum sf_code mem_remove(void *fs, const char *path)
{
	BEGIN(true);
	return unmake(m, path, false);
}

static enum sf_code mem_rmdir(void *fs, const char *path)
{
	BEGIN(true);
	return unmake(m, path, true);
}

static enum sf_code mem_mkdir(void *fs, const char *path, uint32_t mode)
{
	int node;
	BEGIN(true);
	return make(m, path, MEM_DIR_NODE, mode, &node);
}

static enum sf_code mem_rename(void *fs, const char *from, const char *to, bool may_replace)
{
	BEGIN(true);
	struct walk a, b;
	if (walk(m, from, false, &a) != SF_ok || walk(m, to, false, &b) != SF_ok || a.node < 0)
		return SF_no_such_file;
	int e = entry_of(m, a.dir, a.name, a.n), node = a.node;
	for (int up = b.dir; up != 0 && e >= 0; up = parent_of(m, up))
		if (up == node) /* into itself */
			return SF_failure;
	if (e < 0 || (b.node >= 0 && (!may_replace || b.node == node ||
					     m->nodes[b.node].kind == MEM_DIR_NODE)))
		return SF_failure;
	enum sf_code code = b.node >= 0 ? SF_ok : add_entry(m, b.dir, b.name, b.n, node);
	if (b.node >= 0) {
		int old = entry_of(m, b.dir, b.name, b.n), gone = b.node;
		m->entries[old].node = node;
		m->nodes[node].links++;
		m->nodes[gone].links--;
		drop_node(m, gone);
	}
	if (code == SF_ok)
		drop_entry(m, entry_of(m, a.dir, a.name, a.n));
	return code;
}

static enum sf_code mem_link(void *fs, const char *from, const char *to)
{
	BEGIN(true);
	struct walk a, b;
	if (walk(m, from, false, &a) != SF_ok || walk(m, to, false, &b) != SF_ok || a.node < 0)
		return SF_no_such_file;
	if (b.node >= 0 || m->nodes[a.node].kind == MEM_DIR_NODE)
		return SF_failure;
	return add_entry(m, b.dir, b.name, b.n, a.node);
}

static enum sf_code mem_symlink(void *fs, const char *target, const char *path)
{
	int node;
	BEGIN(true);
	enum sf_code code = make(m, path, MEM_LINK_NODE, 0777, &node);
	if (code == SF_ok && target[0] != '\0') {
		(void)resize(&m->nodes[node], strlen(target));
		memcpy(m->nodes[node].data, target, strlen(target));
	}
	return code;
}

static enum sf_code mem_readlink(void *fs, const char *path, struct slice room, size_t *n)
{
	BEGIN(false);
	struct walk w;
	if (walk(m, path, false, &w) != SF_ok || w.node < 0)
		return SF_no_such_file;
	const struct mem_node *d = &m->nodes[w.node];
	if (d->kind != MEM_LINK_NODE)
		return SF_bad_message;
	*n = num_min(d->n, room.n);
	if (*n > 0)
		memcpy(room.p, d->data, *n);
	return SF_ok;
}

static enum sf_code mem_realpath(void *fs, const char *path, struct slice room, size_t *n)
{
	BEGIN(false);
	int got = snprintf((char *)room.p, room.n, "%s%s", path[0] == '/' ? "" : "/",
		strcmp(path, ".") == 0 ? "" : path);
	*n = num_min((size_t)got, room.n - 1);
	return SF_ok;
}

static enum sf_code mem_home(void *fs, const char *user, struct slice room, size_t *n)
{
	BEGIN(false);
	if (strcmp(user, "") != 0 && strcmp(user, "me") != 0)
		return SF_no_such_file;
	*n = num_min(room.n, 8);
	memcpy(room.p, "/home/me", *n);
	return SF_ok;
}

static bool mem_is_same(void *fs, uint64_t a, uint64_t b)
{
	struct memfs *m = fs;
	return open_of(m, a, false)->node == open_of(m, b, false)->node;
}

static const char *mem_user(void *fs, uint32_t uid)
{
	(void)fs;
	return uid == 0 ? "root" : NULL;
}

static uint64_t mem_now(void *fs)
{
	(void)fs;
	return 1000000000;
}

static void mem_local_time(void *fs, uint64_t t, struct sf_civil *out)
{
	(void)fs;
	*out = (struct sf_civil){
		.year = 2001, .month = 8, .day = 9, .hour = 1, .minute = (uint32_t)(t % 60)};
}

static const char *mem_why(void *fs)
{
	(void)fs;
	return "because";
}

/* clang-format off */
const struct sf_fs memfs_face = {
	.open = mem_open, .close = mem_close, .read = mem_read, .write = mem_write, .sync = mem_sync,
	.stat = mem_stat, .set_size = mem_set_size, .set_mode = mem_set_mode, .set_times = mem_set_times,
	.set_owner = mem_set_owner, .statvfs = mem_statvfs,
	.opendir = mem_opendir, .readdir = mem_readdir, .closedir = mem_closedir,
	.remove = mem_remove, .mkdir = mem_mkdir, .rmdir = mem_rmdir, .rename = mem_rename, .link = mem_link,
	.symlink = mem_symlink, .readlink = mem_readlink, .realpath = mem_realpath, .home = mem_home,
	.is_same = mem_is_same, .user_name = mem_user, .group_name = mem_user, .now = mem_now,
	.local_time = mem_local_time, .why = mem_why,
};
/* clang-format on */

void memfs_put(struct memfs *m, const char *path, const void *p, size_t n)
{
	int node;
	enum sf_code code = make(m, path, MEM_FILE_NODE, 0644, &node);
	assert(code == SF_ok);
	code = resize(&m->nodes[node], n);
	assert(code == SF_ok);
	if (n > 0)
		memcpy(m->nodes[node].data, p, n);
}

void memfs_init(struct memfs *m)
{
	int dir;
	*m = (struct memfs){.nodes = {{.kind = MEM_DIR_NODE, .mode = 0755, .links = 1}}};
	m->entries = calloc(MEM_ENTRIES, sizeof(*m->entries));
	assert(m->entries != NULL);
	for (size_t i = 0; i < MEM_OPENS; i++)
		m->opens[i].node = -1;
	memfs_put(m, "/file", "hello", 5);
	enum sf_code code = make(m, "/dir", MEM_DIR_NODE, 0755, &dir);
	assert(code == SF_ok);
	memfs_put(m, "/dir/inner", "", 0);
	code = mem_symlink(m, "file", "/link");
	assert(code == SF_ok);
	code = mem_symlink(m, "nothing", "/dangling");
	assert(code == SF_ok);
	m->calls = m->changes = 0;
}

void memfs_done(struct memfs *m)
{
	for (size_t i = 0; i < MEM_NODES; i++)
		free(m->nodes[i].data);
	free(m->entries);
}
