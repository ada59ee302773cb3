/* SPDX-License-Identifier: ISC */
/*
 * remote_ops - one request at a time, waited for
 *
 * A wait may be interrupted while its answer is still to come: so a call lives on the heap and is
 * freed by whoever comes last, the answer or the waiting function.
 */
#include <stdlib.h>

#include "base/text.h"
#include "transfer/remote_int.h"

#define NAMES_AT_ONCE 512

struct call {
	struct sf_ask ask;
	struct remote *r;
	bool is_done, is_left; /* left: nobody waits any more */
	err_t e;
	uint64_t begin_us; /* 0 = others are under way too: says nothing about the path */
	/* the answer, as the kind of request has it */
	struct sf_attr attr;
	struct buf bytes; /* a handle, the first name, the body of an extended reply */
};

static void call_free(struct call *c)
{
	buf_done(&c->bytes);
	free(c);
}

static err_t take(struct call *c, const struct sf_reply *reply)
{
	struct cslice rest = reply->name.entries;
	struct sf_entry first;
	switch (reply->type) {
	case SF_MSG_status:
		return remote_status(c->r, reply);
	case SF_MSG_attrs:
		c->attr = reply->attr;
		c->attr.extended = cslice_of(NULL, 0);
		c->attr.extended_n = 0;
		c->attr.flags &= ~SF_A_EXTENDED;
		return OK;
	case SF_MSG_handle:
		buf_put(&c->bytes, reply->handle.p, reply->handle.n);
		return buf_err(&c->bytes);
	case SF_MSG_name:
		if (reply->name.count != 1) /* 6.10, 6.11: one */
			return E_FORMAT;
		TRY(sf_next_entry(&rest, &first));
		buf_put(&c->bytes, first.filename.p, first.filename.n);
		return buf_err(&c->bytes);
	case SF_MSG_data: /* on_data has it */
		return buf_err(&c->bytes);
	case SF_MSG_extended_reply:
		buf_put(&c->bytes, reply->body.p, reply->body.n);
		return buf_err(&c->bytes);
	default:
		return E_UNEXPECTED;
	}
}

static void on_reply(struct sf_ask *a, const struct sf_reply *reply)
{
	struct call *c = a->arg;
	struct remote *r = c->r;
	if (c->is_left) {
		call_free(c);
		return;
	}
	if (c->begin_us != 0 && reply->err == OK)
		remote_rate_sample(r, os_monotonic_us() - c->begin_us);
	c->e = reply->err != OK ? reply->err : take(c, reply);
	c->is_done = true;
	remote_wake(r);
}

static void on_data(struct sf_ask *a, uint32_t at, struct span piece)
{
	struct call *c = a->arg;
	(void)at; /* in order */
	if (!c->is_left)
		buf_put(&c->bytes, piece.p, piece.n);
}

/* NULL: no memory. */
static struct call *call_new(struct remote *r)
{
	struct call *c = calloc(1, sizeof(*c));
	if (c == NULL)
		return NULL;
	c->ask = (struct sf_ask){.on = on_reply, .on_data = on_data, .arg = c};
	c->r = r;
	c->begin_us = sf_client_pending(r->sf) == 0 ? os_monotonic_us() : 0;
	buf_init(&c->bytes, SF_FRAME_MAX);
	return c;
}

/* asked: what sf_ask_... said.  Takes the call; *out, when wished and all went well, is it. */
static err_t call_wait(struct call *c, err_t asked, struct call **out)
{
	if (c == NULL)
		return E_MEM;
	if (asked != OK) {
		call_free(c);
		return asked;
	}
	struct remote *r = c->r;
	err_t e = remote_run_until(r, &c->is_done);
	if (!c->is_done) {
		c->is_left = true;
		return e != OK ? e : E_BUG;
	}
	e = c->e;
	if (e == OK && out != NULL)
		*out = c;
	else
		call_free(c);
	if (e == E_FORMAT || e == E_UNEXPECTED) /* not a refusal: it cannot be trusted further */
		remote_lost(r, e);
	return e;
}

#define ASK(r, call, name, ...)                                                                    \
	((call) == NULL ? E_MEM                                                                    \
			: sf_ask_##name((r)->sf, &(call)->ask, &(struct sf_##name){__VA_ARGS__}))

/* The answer is a status. */
#define DO(r, name, ...)                                                                           \
	do {                                                                                       \
		struct call *call_ = call_new(r);                                                  \
		return call_wait(call_, ASK(r, call_, name, __VA_ARGS__), NULL);                   \
	} while (0)

/* The answer stays in call `c`, which is the caller's then. */
#define GET(c, r, name, ...)                                                                       \
	do {                                                                                       \
		struct call *call_ = call_new(r);                                                  \
		TRY(call_wait(call_, ASK(r, call_, name, __VA_ARGS__), &(c)));                     \
	} while (0)

/* ---- attributes -------------------------------------------------------------------------------
 */
err_t remote_stat(struct remote *r, const char *path, bool is_link, struct sf_attr *out)
{
	struct call *c = NULL;
	struct cslice p = cslice_str(path);
	if (is_link)
		GET(c, r, lstat, .path = p);
	else
		GET(c, r, stat, .path = p);
	*out = c->attr;
	call_free(c);
	return OK;
}

err_t remote_setstat(struct remote *r, const char *path, bool is_link, const struct sf_attr *a)
{
	struct cslice p = cslice_str(path);
	if (is_link)
		DO(r, lsetstat, .path = p, .a = *a);
	DO(r, setstat, .path = p, .a = *a);
}

static err_t get_vfs(struct cslice body, struct sf_vfs *out)
{
	return sf_get_vfs(body, out);
}

err_t remote_statvfs(struct remote *r, const char *path, struct sf_vfs *out)
{
	struct call *c = NULL;
	GET(c, r, statvfs, .path = cslice_str(path));
	err_t e = get_vfs(buf_bytes(&c->bytes), out);
	call_free(c);
	return e;
}

/* ---- names ------------------------------------------------------------------------------------
 */
/* Takes the call; gives its name. */
static err_t give_name(struct call *c, char **out)
{
	err_t e = text_dup(buf_bytes(&c->bytes), out);
	call_free(c);
	return e;
}

err_t remote_realpath(struct remote *r, const char *path, char **out)
{
	struct call *c = NULL;
	GET(c, r, realpath, .path = cslice_str(path));
	return give_name(c, out);
}

err_t remote_readlink(struct remote *r, const char *path, char **out)
{
	struct call *c = NULL;
	GET(c, r, readlink, .path = cslice_str(path));
	return give_name(c, out);
}

static err_t copy_text(const char *text, char **out)
{
	char *copy = strdup(text);
	if (copy == NULL)
		return E_MEM;
	*out = copy;
	return OK;
}

err_t remote_expand(struct remote *r, const char *path, char **out)
{
	struct call *c = NULL;
	if (path[0] == '\0')
		return copy_text(".", out);
	if (path[0] != '~')
		return copy_text(path, out);
	if (path[1] == '\0' || path[1] == '/') { /* it starts there */
		path++;
		while (path[0] == '/')
			path++;
		return copy_text(path[0] != '\0' ? path : ".", out);
	}
	GET(c, r, expand_path, .path = cslice_str(path));
	return give_name(c, out);
}

/* ---- changes ----------------------------------------------------------------------------------
 */
err_t remote_mkdir(struct remote *r, const char *path, uint32_t mode)
{
	struct sf_attr a = {.flags = SF_A_MODE, .mode = mode & 07777};
	DO(r, mkdir, .path = cslice_str(path), .a = a);
}

err_t remote_rmdir(struct remote *r, const char *path)
{
	DO(r, rmdir, .path = cslice_str(path));
}

err_t remote_remove(struct remote *r, const char *path)
{
	DO(r, remove, .path = cslice_str(path));
}

err_t remote_rename(struct remote *r, const char *from, const char *to, bool is_plain)
{
	struct cslice a = cslice_str(from), b = cslice_str(to);
	if (!is_plain && sf_client_has(r->sf, SF_EXT_posix_rename))
		DO(r, posix_rename, .from = a, .to = b);
	DO(r, rename, .from = a, .to = b);
}

err_t remote_symlink(struct remote *r, const char *target, const char *path)
{
	DO(r, symlink, .target = cslice_str(target), .path = cslice_str(path));
}

err_t remote_hardlink(struct remote *r, const char *from, const char *to)
{
	DO(r, hardlink, .from = cslice_str(from), .to = cslice_str(to));
}

/* ---- copy-data --------------------------------------------------------------------------------
 */
static void on_closed(struct sf_ask *a, const struct sf_reply *reply)
{
	(void)reply;
	free(a);
}

void remote_close(struct remote *r, struct cslice handle)
{
	struct sf_ask *a = calloc(1, sizeof(*a));
	if (a == NULL)
		return;
	a->on = on_closed;
	if (sf_ask_close(r->sf, a, &(struct sf_close){.handle = handle}) != OK)
		free(a);
	else
		remote_push(r);
}

static err_t open_file(struct remote *r, const char *path, uint32_t flags, const struct sf_attr *a,
	struct call **out)
{
	struct call *c = NULL;
	GET(c, r, open, .path = cslice_str(path), .flags = flags, .a = *a);
	*out = c;
	return OK;
}

static err_t copy_bytes(struct remote *r, const struct call *from, const struct call *to)
{
	DO(r, copy_data, .from = buf_bytes(&from->bytes), .to = buf_bytes(&to->bytes));
}

static err_t size_of(struct remote *r, const struct call *file, uint64_t *size)
{
	struct call *c = NULL;
	GET(c, r, fstat, .handle = buf_bytes(&file->bytes));
	if ((c->attr.flags & SF_A_SIZE) != 0)
		*size = c->attr.size;
	call_free(c);
	return OK;
}

static err_t set_size(struct remote *r, const struct call *file, uint64_t size)
{
	struct sf_attr a = {.flags = SF_A_SIZE, .size = size};
	DO(r, fsetstat, .handle = buf_bytes(&file->bytes), .a = a);
}

/* The target is not emptied first: it may be the source.  What it had more is cut off last. */
static err_t copy_open(struct remote *r, const struct call *from, const struct call *to)
{
	uint64_t had = 0, has = 0;
	TRY(size_of(r, to, &had));
	TRY(copy_bytes(r, from, to));
	if (had == 0)
		return OK;
	TRY(size_of(r, from, &has));
	return had > has ? set_size(r, to, has) : OK;
}

#define S_TYPE    0170000u
#define S_REGULAR 0100000u

err_t remote_copy(struct remote *r, const char *from, const char *to)
{
	struct call *source = NULL, *target = NULL;
	struct sf_attr a = {0};
	if (!sf_client_has(r->sf, SF_EXT_copy_data))
		return E_UNSUPPORTED;
	TRY(remote_stat(r, from, false, &a));
	if ((a.flags & SF_A_MODE) != 0 && (a.mode & S_TYPE) != S_REGULAR) {
		r->code = SF_failure;
		memcpy(r->why, "not a regular file", sizeof("not a regular file"));
		return E_STATUS;
	}
	struct sf_attr fresh = {.flags = SF_A_MODE, .mode = a.mode & 0777};
	if ((a.flags & SF_A_MODE) == 0)
		fresh.flags = 0;
	TRY(open_file(r, from, SF_OPEN_READ, &(struct sf_attr){0}, &source));
	err_t e = open_file(r, to, SF_OPEN_WRITE | SF_OPEN_CREATE, &fresh, &target);
	if (e == OK) {
		e = copy_open(r, source, target);
		remote_close(r, buf_bytes(&target->bytes));
		call_free(target);
	}
	remote_close(r, buf_bytes(&source->bytes));
	call_free(source);
	return e;
}

/* ---- small files ------------------------------------------------------------------------------
 */
static err_t read_part(struct remote *r, const struct call *file, uint64_t at, struct buf *out)
{
	struct call *c = NULL;
	GET(c, r, read, .handle = buf_bytes(&file->bytes), .offset = at, .n = r->read_max);
	buf_put(out, c->bytes.p, c->bytes.n);
	err_t e = c->bytes.n > 0 ? buf_err(out) : E_FORMAT;
	call_free(c);
	return e;
}

err_t remote_read_file(struct remote *r, const char *path, struct buf *out)
{
	struct call *file = NULL;
	size_t start = out->n;
	TRY(open_file(r, path, SF_OPEN_READ, &(struct sf_attr){0}, &file));
	err_t e = OK;
	while (e == OK)
		e = read_part(r, file, out->n - start, out);
	if (e == E_STATUS && r->code == SF_eof)
		e = OK;
	remote_close(r, buf_bytes(&file->bytes));
	call_free(file);
	return e;
}

static err_t write_part(struct remote *r, const struct call *file, uint64_t at, struct cslice bytes)
{
	DO(r, write, .handle = buf_bytes(&file->bytes), .offset = at, .data = bytes);
}

static err_t sync_file(struct remote *r, const struct call *file)
{
	if (!sf_client_has(r->sf, SF_EXT_fsync))
		return OK;
	DO(r, fsync, .handle = buf_bytes(&file->bytes));
}

static err_t close_file(struct remote *r, const struct call *file)
{
	DO(r, close, .handle = buf_bytes(&file->bytes));
}

err_t remote_write_file(struct remote *r, const struct remote_put *p, bool *is_open)
{
	struct call *file = NULL;
	struct sf_attr a = {.flags = SF_A_MODE, .mode = p->mode};
	if (is_open != NULL)
		*is_open = false;
	if ((p->flags & SF_OPEN_CREATE) == 0)
		a.flags = 0;
	TRY(open_file(r, p->path, p->flags, &a, &file));
	if (is_open != NULL)
		*is_open = true;
	err_t e = OK;
	for (size_t at = 0; e == OK && at < p->bytes.n;) {
		size_t n = num_min(p->bytes.n - at, r->write_max);
		e = write_part(r, file, p->offset + at, cslice_of(p->bytes.p + at, n));
		at += n;
	}
	if (e == OK)
		e = sync_file(r, file);
	if (e == OK)
		e = close_file(r, file);
	else
		remote_close(r, buf_bytes(&file->bytes));
	call_free(file);
	return e;
}

/* ---- users and groups -------------------------------------------------------------------------
 */
static err_t take_names(struct cslice body, bool is_group, size_t n, char **out)
{
	struct sf_id_names m;
	TRY(sf_get_id_names(body, &m));
	struct rd in = rd_of(is_group ? m.groups : m.users);
	for (size_t i = 0; i < n; i++) {
		struct cslice name = rd_str(&in);
		if (in.bad)
			return E_FORMAT;
		TRY(text_dup(name, &out[i]));
	}
	return OK;
}

static err_t some_names(struct remote *r, const uint32_t *ids, size_t n, bool is_group, char **out)
{
	struct call *c = NULL;
	uint8_t wire[4 * NAMES_AT_ONCE];
	for (size_t i = 0; i < n; i++)
		be32_put(wire + 4 * i, ids[i]);
	struct cslice some = cslice_of(wire, 4 * n), none = cslice_of(wire, 0);
	GET(c, r, users_groups_by_id, .uids = is_group ? none : some,
		.gids = is_group ? some : none);
	err_t e = take_names(buf_bytes(&c->bytes), is_group, n, out);
	call_free(c);
	return e;
}

err_t remote_names(struct remote *r, const uint32_t *ids, size_t n, bool is_group, char **out)
{
	for (size_t i = 0; i < n; i++)
		out[i] = NULL;
	err_t e = OK;
	for (size_t at = 0; e == OK && at < n; at += NAMES_AT_ONCE)
		e = some_names(r, ids + at, num_min(n - at, NAMES_AT_ONCE), is_group, out + at);
	for (size_t i = 0; e != OK && i < n; i++) {
		free(out[i]);
		out[i] = NULL;
	}
	return e;
}
