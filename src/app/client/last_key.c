/* SPDX-License-Identifier: ISC */
/*
 * last_key - which key let this user in at this host the last time (LastKeyFile)
 *
 * It is offered next after what the user named, so that an agent with many keys does not use up the
 * tries that a server grants.  A line of the file is a hash of "user@host" and a fingerprint; the
 * last lines are the freshest.  It is an aid: nothing fails because of it.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/client/client.h"
#include "app/common/keyfile.h"
#include "key/known_hosts.h"
#include "os/file.h"
#include "os/random.h"

#define LAST_KEYS  "~/.ssh/last_keys"
#define LINES_MOST 499
#define FILE_MOST  ((size_t)256 * 1024)
#define NAME_MOST  4096

/* NULL: nothing is to be remembered, or not there: what is no file may not be taken for one. */
static char *path_of(struct ssh *s)
{
	char *path = NULL;
	struct stat st;
	const char *value = s->cfg.last_key_file;
	/* Who keeps what is known of hosts elsewhere wants nothing of them kept here. */
	if (value == NULL && !s->cfg.user_known_hosts_set)
		value = LAST_KEYS;
	if (value == NULL || value_is_none(value) ||
		setup_expand(s, value, TOKENS_ALL, &path) != OK)
		return NULL;
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
		free(path);
		return NULL;
	}
	return path;
}

static err_t name_of(const struct ssh *s, struct buf *out)
{
	buf_printf(out, "%s@", s->user);
	kh_name(s->known_name, s->known_port, out);
	return buf_err(out);
}

struct line {
	struct cslice hashed, fingerprint, text; /* text: with its end */
};

/* Takes the next line off; false at the end.  What is no line of this file has no name. */
static bool line_next(struct cslice *file, struct line *out)
{
	*out = (struct line){{NULL, 0}, {NULL, 0}, {NULL, 0}};
	if (file->n == 0)
		return false;
	const uint8_t *end = memchr(file->p, '\n', file->n);
	size_t n = end != NULL ? (size_t)(end - file->p) : file->n;
	const uint8_t *gap = memchr(file->p, ' ', n);
	if (gap != NULL && end != NULL) {
		size_t before = (size_t)(gap - file->p);
		out->hashed = cslice_of(file->p, before);
		out->fingerprint = cslice_of(gap + 1, n - before - 1);
		out->text = cslice_of(file->p, n + 1);
	}
	n += end != NULL;
	*file = cslice_of(file->p + n, file->n - n);
	return true;
}

static bool is_for(const struct line *l, struct cslice name)
{
	bool is = false;
	return l->text.n > 0 && kh_is_hashed(l->hashed) &&
	       kh_hosts_match(l->hashed, name, &is) == OK && is;
}

static bool has_fingerprint(const struct identity *id, struct cslice wanted)
{
	struct buf fp;
	buf_init(&fp, NAME_MOST);
	bool is = key_fingerprint(id->pub, HASH_SHA256, &fp) == OK &&
		  cslice_eq(buf_bytes(&fp), wanted);
	buf_done(&fp);
	return is;
}

static void move_first(struct ssh *s, struct cslice fingerprint)
{
	for (size_t i = s->ids_named; i < s->ids_n; i++) {
		struct identity id = s->ids[i];
		if (!has_fingerprint(&id, fingerprint))
			continue;
		memmove(&s->ids[s->ids_named + 1], &s->ids[s->ids_named],
			(i - s->ids_named) * sizeof(id));
		s->ids[s->ids_named] = id;
		log_debug1("%s let you in at this host the last time", id.name);
		return;
	}
}

/* The last line counts; empty = none. */
static struct cslice remembered(struct cslice file, struct cslice name)
{
	struct cslice fingerprint = {NULL, 0};
	struct line l;
	while (line_next(&file, &l))
		if (is_for(&l, name))
			fingerprint = l.fingerprint;
	return fingerprint;
}

void last_key_first(struct ssh *s)
{
	char *path = s->ids_n > s->ids_named + 1 ? path_of(s) : NULL;
	struct buf text, name;
	if (path == NULL)
		return;
	buf_init(&text, FILE_MOST);
	buf_init(&name, NAME_MOST);
	err_t e = os_file_read(path, &text, NULL);
	if (e != OK && e != E_NOT_FOUND)
		log_debug1("the last keys in %s cannot be read: %s", path, err_text(e));
	if (e == OK && name_of(s, &name) == OK)
		move_first(s, remembered(buf_bytes(&text), buf_bytes(&name)));
	buf_done(&name);
	buf_done(&text);
	free(path);
}

/* The lines of others, the freshest of them, and one of ours. */
static err_t with_ours(struct cslice file, struct cslice name, const struct key *k, struct buf *out)
{
	struct line l;
	size_t others = 0;
	for (struct cslice left = file; line_next(&left, &l);)
		others += l.text.n > 0 && !is_for(&l, name);
	while (line_next(&file, &l)) {
		if (l.text.n == 0 || is_for(&l, name))
			continue;
		if (others-- <= LINES_MOST)
			buf_put(out, l.text.p, l.text.n);
	}
	TRY(kh_hash_name(name, os_rng(), out));
	buf_put_u8(out, ' ');
	TRY(key_fingerprint(k, HASH_SHA256, out));
	buf_put_u8(out, '\n');
	return buf_err(out);
}

static err_t save(const struct ssh *s, const char *path, const struct identity *id)
{
	struct buf text, name, out;
	int lock = os_file_lock(path);
	buf_init(&text, FILE_MOST);
	buf_init(&name, NAME_MOST);
	buf_init(&out, 2 * FILE_MOST);
	err_t e = os_file_read(path, &text, NULL);
	if (e == E_NOT_FOUND || e == E_LIMIT) {
		buf_clear(&text);
		e = OK;
	}
	if (e == OK)
		e = name_of(s, &name);
	bool is_news =
		e == OK && !has_fingerprint(id, remembered(buf_bytes(&text), buf_bytes(&name)));
	if (is_news)
		e = with_ours(buf_bytes(&text), buf_bytes(&name), id->pub, &out);
	if (is_news && e == OK)
		e = keyfile_replace(path, buf_bytes(&out), 0600);
	buf_done(&out);
	buf_done(&name);
	buf_done(&text);
	if (lock >= 0)
		(void)close(lock);
	return e;
}

/* What is offered first anyway need not be remembered.  What was named may not be named the next
 * time, and then be one of many in the agent. */
static bool is_worth_it(const struct ssh *s, size_t i)
{
	const struct identity *id = &s->ids[i];
	if (i < s->ids_named)
		return (id->is_agent || id->is_in_agent) && s->found.agent_n > 1;
	return i > s->ids_named;
}

void last_key_save(struct ssh *s)
{
	for (size_t i = 0; i < s->ids_n; i++) {
		if (au_client_fate(s->au, i) != AU_KEY_TAKEN)
			continue;
		char *path = is_worth_it(s, i) ? path_of(s) : NULL;
		err_t e = path != NULL ? save(s, path, &s->ids[i]) : OK;
		if (e != OK)
			log_debug1("the last key is not remembered in %s: %s", path, err_text(e));
		free(path);
		return;
	}
}
