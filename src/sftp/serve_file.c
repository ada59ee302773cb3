/* SPDX-License-Identifier: ISC */
/* serve_file - OPEN, CLOSE, READ, WRITE and what else is done with an open file */
#include "sftp/server_int.h"

/* "READ,WRITE,CREATE" */
static const char *flag_words(uint32_t flags, char *text, size_t n)
{
	static const struct {
		uint32_t flag;
		const char *word;
	} words[] = {
		{SF_OPEN_READ, "READ"},
		{SF_OPEN_WRITE, "WRITE"},
		{SF_OPEN_APPEND, "APPEND"},
		{SF_OPEN_CREATE, "CREATE"},
		{SF_OPEN_TRUNC, "TRUNCATE"},
		{SF_OPEN_EXCL, "EXCL"},
	};
	struct wr w = wr_of((struct slice){(uint8_t *)text, n - 1});
	for (size_t i = 0; i < ARRAY_N(words); i++) {
		if ((flags & words[i].flag) == 0)
			continue;
		if (w.n > 0)
			wr_raw(&w, cslice_str(","));
		wr_raw(&w, cslice_str(words[i].word));
	}
	text[w.n] = '\0';
	return text;
}

void sf_on_open(struct sf_server *s, uint32_t id, const struct sf_open *m)
{
	char words[64];
	uint64_t fh;
	struct sf_held *h;
	const char *path = sf_path(s, 0, m->path);
	uint32_t mode = (m->a.flags & SF_A_MODE) != 0 ? m->a.mode & 07777 : 0666;
	sf_say(s, LOG_L_DEBUG3, "request %u: open flags %u", (unsigned)id, (unsigned)m->flags);
	sf_say(s, LOG_L_INFO, "open \"%s\" flags %s mode 0%o", path,
		flag_words(m->flags, words, sizeof(words)), (unsigned)mode);
	if (sf_policy_open(&s->env.policy, m->flags) != SF_ALLOW) {
		sf_say(s, LOG_L_VERBOSE, "Refusing open request in read-only mode");
		sf_reply_status(s, id, SF_permission_denied);
		return;
	}
	/* a file that could not be kept open must not be created or cut either */
	if (sf_handles_is_full(&s->handles)) {
		sf_reply_status(s, id, SF_failure);
		return;
	}
	enum sf_code code = s->env.fs->open(s->env.fs_arg, path, m->flags, mode, &fh);
	if (code == SF_ok && sf_handles_add(&s->handles, SF_H_FILE, fh, path, &h) != OK) {
		(void)s->env.fs->close(s->env.fs_arg, fh);
		code = SF_failure;
	}
	if (code == SF_ok)
		sf_reply_handle(s, id, h);
	else
		sf_reply_status(s, id, code);
}

enum sf_code sf_close(struct sf_server *s, struct sf_held *h, const char *how)
{
	enum sf_code code;
	if (h->kind == SF_H_DIR) {
		sf_say(s, LOG_L_INFO, "%sclosedir \"%s\"", how, h->name);
		code = s->env.fs->closedir(s->env.fs_arg, h->fh);
	} else {
		sf_say(s, LOG_L_INFO, "%sclose \"%s\" bytes read %llu written %llu", how, h->name,
			(unsigned long long)h->bytes_read, (unsigned long long)h->bytes_written);
		code = s->env.fs->close(s->env.fs_arg, h->fh);
	}
	sf_handles_drop(&s->handles, h);
	return code;
}

void sf_on_close(struct sf_server *s, uint32_t id, const struct sf_close *m)
{
	struct sf_held *h = sf_find(s, id, m->handle, SF_H_ANY, SF_no_such_file);
	if (h != NULL)
		sf_reply_status(s, id, sf_close(s, h, ""));
}

void sf_read_failed(struct sf_server *s, uint32_t id, const struct sf_held *h, enum sf_code code)
{
	if (code != SF_eof)
		sf_say(s, LOG_L_ERROR, "read \"%s\": %s", h->name, s->env.fs->why(s->env.fs_arg));
	sf_reply_status(s, id, code);
}

enum sf_code sf_file_read(
	struct sf_server *s, struct sf_held *h, uint64_t offset, struct sf_part room, size_t *n)
{
	const struct sf_fs *fs = s->env.fs;
	struct vec at = *room.at;
	size_t got = 0;
	if (fs->readv != NULL)
		return fs->readv(s->env.fs_arg, h->fh, offset, &room, n);
	while (got < room.n) {
		struct slice part = vec_front(&at, room.n - got);
		size_t part_n = 0;
		enum sf_code code = fs->read(s->env.fs_arg, h->fh, offset + got, part, &part_n);
		if (code != SF_ok && got == 0)
			return code;
		got += part_n;
		if (code != SF_ok || part_n < part.n)
			break; /* what failed behind them is met by the next READ */
		vec_skip(&at, part_n);
	}
	*n = got;
	return SF_ok;
}

void sf_on_read(struct sf_server *s, uint32_t id, const struct sf_read *m)
{
	struct sf_held *h = sf_find(s, id, m->handle, SF_H_FILE, SF_failure);
	if (h == NULL)
		return;
	sf_say(s, LOG_L_DEBUG1, "request %u: read \"%s\" (handle %u) off %llu len %u", (unsigned)id,
		h->name, (unsigned)h->at, (unsigned long long)m->offset, (unsigned)m->n);
	if (sf_reply_read(s, h, m))
		return;
	/* the head with an empty string, then the file's bytes behind it, then the string's length
	 */
	struct sf_data reply = {.id = id};
	struct wr w = sf_reply_begin(s, SF_MSG_data);
	sf_put_data(&w, &reply);
	size_t n = 0;
	struct slice room = {w.p + w.n, num_min(m->n, SF_DATA_MAX)};
	enum sf_code code = SF_ok;
	if (room.n > 0)
		code = s->env.fs->read(s->env.fs_arg, h->fh, m->offset, room, &n);
	if (code != SF_ok) {
		sf_read_failed(s, id, h, code);
		return;
	}
	be32_put(room.p - 4, (uint32_t)n);
	w.n += n;
	h->bytes_read += n;
	sf_reply_end(s, &w);
}

static enum sf_code file_write(
	struct sf_server *s, struct sf_held *h, uint64_t offset, struct sf_part data)
{
	const struct sf_fs *fs = s->env.fs;
	struct vec at = *data.at;
	enum sf_code code = SF_ok;
	if (fs->writev != NULL)
		return fs->writev(s->env.fs_arg, h->fh, offset, &data);
	while (data.n > 0 && code == SF_ok) {
		struct slice part = vec_front(&at, data.n);
		code = fs->write(s->env.fs_arg, h->fh, offset, slice_const(part));
		offset += part.n;
		data.n -= part.n;
		vec_skip(&at, part.n);
	}
	return code;
}

void sf_write_data(struct sf_server *s, uint32_t id, const struct sf_write *m, struct sf_part data)
{
	struct sf_held *h = sf_find(s, id, m->handle, SF_H_FILE, SF_failure);
	if (h == NULL)
		return;
	sf_say(s, LOG_L_DEBUG1, "request %u: write \"%s\" (handle %u) off %llu len %zu",
		(unsigned)id, h->name, (unsigned)h->at, (unsigned long long)m->offset, data.n);
	enum sf_code code = data.n > 0 ? file_write(s, h, m->offset, data) : SF_ok;
	if (code == SF_ok)
		h->bytes_written += data.n;
	else
		sf_say(s, LOG_L_ERROR, "write \"%s\": %s", h->name, s->env.fs->why(s->env.fs_arg));
	sf_reply_status(s, id, code);
}

void sf_on_write(struct sf_server *s, uint32_t id, const struct sf_write *m)
{
	/* writing changes no byte of it */
	const struct iovec one = {(void *)(uintptr_t)m->data.p, m->data.n};
	struct vec data = vec_of(&one, 1);
	sf_write_data(s, id, m, (struct sf_part){&data, m->data.n});
}

void sf_on_fsync(struct sf_server *s, uint32_t id, const struct sf_fsync *m)
{
	struct sf_held *h = sf_find(s, id, m->handle, SF_H_FILE, SF_no_such_file);
	if (h == NULL)
		return;
	sf_say(s, LOG_L_VERBOSE, "fsync \"%s\"", h->name);
	sf_reply_status(s, id, s->env.fs->sync(s->env.fs_arg, h->fh));
}
