/* SPDX-License-Identifier: ISC */
/*
 * keys - which public keys are to be copied: of a file, of the agent, or the newest default one
 *
 * Only lines that are public keys leave this machine: the text of a file is never sent as it is.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "app/common/keyfile.h"
#include "app/ssh-copy-id/ci.h"
#include "key/cert.h"

static void key_done(struct ci_key *k)
{
	free(k->line);
	free(k->shown);
	buf_done(&k->blob);
}

void ci_keys_free(struct ci_keys *k)
{
	while (k->n > 0)
		key_done(&k->v[--k->n]);
	free(k->v);
	*k = (struct ci_keys){0};
}

/* "ED25519 SHA256:... comment"; a type that is not known goes by its name. */
static err_t shown_of(struct cslice blob, struct cslice comment, char **out)
{
	struct buf text;
	struct key *k = NULL;
	buf_init(&text, CI_KEYS_MAX);
	if (key_parse_any(&k, blob) == OK) {
		buf_printf(&text, "%s ", key_shown(k));
		if (key_fingerprint(k, HASH_SHA256, &text) != OK)
			buf_printf(&text, "?");
	} else {
		vis_put(&text, key_blob_type(blob));
	}
	key_free(k);
	buf_put_u8(&text, ' ');
	vis_put(&text, comment);
	err_t e = buf_err(&text);
	if (e == OK)
		e = text_dup(buf_bytes(&text), out);
	buf_done(&text);
	return e;
}

static err_t add_line(struct ci_keys *keys, struct cslice line)
{
	struct ci_key k = {0};
	struct ak_line l;
	buf_init(&k.blob, CI_KEYS_MAX);
	err_t e = ak_line_key(line, &k.blob, &l);
	if (e == OK)
		e = text_dup(line, &k.line);
	if (e == OK)
		e = shown_of(buf_bytes(&k.blob), l.comment, &k.shown);
	if (e == OK && keys->n == keys->cap) {
		size_t cap = keys->cap > 0 ? 2 * keys->cap : 16;
		struct ci_key *v = reallocarray(keys->v, cap, sizeof(*v));
		e = v != NULL ? OK : E_MEM;
		if (v != NULL) {
			keys->v = v;
			keys->cap = cap;
		}
	}
	if (e != OK) {
		key_done(&k);
		return e;
	}
	keys->v[keys->n++] = k;
	return OK;
}

static bool is_blank(uint8_t b)
{
	return b == ' ' || b == '\t' || b == '\r';
}

err_t ci_keys_add(struct ci_keys *k, struct cslice text)
{
	static const char private[] = "PRIVATE KEY-----", putty[] = "PuTTY-User-Key-File";
	if (text.p == NULL)
		return OK;
	if (memmem(text.p, text.n, private, sizeof(private) - 1) != NULL ||
		memmem(text.p, text.n, putty, sizeof(putty) - 1) != NULL)
		return E_KEY_PUBLIC;
	while (text.n > 0) {
		const uint8_t *lf = memchr(text.p, '\n', text.n);
		size_t n = lf != NULL ? (size_t)(lf - text.p) : text.n;
		size_t eaten = lf != NULL ? n + 1 : n;
		struct cslice line = {text.p, n};
		text = cslice_of(text.p + eaten, text.n - eaten);
		while (line.n > 0 && is_blank(line.p[line.n - 1]))
			line.n--;
		while (line.n > 0 && is_blank(line.p[0]))
			line = cslice_of(line.p + 1, line.n - 1);
		err_t e = add_line(k, line);
		if (e == E_MEM || e == E_LIMIT)
			return e;
	}
	return OK;
}

/* ---- a file -------------------------------------------------------------------------------------
 */
/* The public half of a private key whose .pub is not there. */
static err_t from_private(struct ci *c, const char *path)
{
	struct key *k = NULL;
	struct buf line, comment;
	buf_init(&line, CI_KEYS_MAX);
	buf_init(&comment, KEYFILE_MAX);
	err_t e = keyfile_load_public(&k, path, &comment);
	if (e == OK)
		e = key_public_line(k, NULL, &line);
	if (e == OK && comment.n > 0) {
		buf_put_u8(&line, ' ');
		vis_put(&line, buf_bytes(&comment));
	}
	if (e == OK)
		e = ci_keys_add(&c->keys, buf_bytes(&line));
	key_free(k);
	buf_done(&comment);
	buf_done(&line);
	return e;
}

static err_t from_text(struct ci *c, const char *path, struct cslice text)
{
	err_t e = ci_keys_add(&c->keys, text);
	if (e == E_KEY_PUBLIC)
		(void)ci_fail("'%s' holds a private key: nothing of it is sent.  Its public half "
			      "is made by: ssh-keygen -y -f '%s'",
			path, path);
	else if (e == OK && c->keys.n == 0)
		(void)ci_fail("'%s' holds no public key", path);
	else if (e != OK)
		(void)ci_fail("'%s': %s", path, err_text(e));
	return e == OK && c->keys.n == 0 ? E_KEY_FORMAT : e;
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);
	return n >= m && strcmp(s + n - m, end) == 0;
}

static err_t from_file(struct ci *c, const char *name)
{
	char *path = NULL;
	struct buf text;
	bool is_public = ends_with(name, ".pub");
	if (asprintf(&path, "%s%s", name, is_public ? "" : ".pub") < 0)
		return E_MEM;
	buf_init(&text, KEYFILE_MAX);
	errno = 0;
	err_t e = keyfile_read(path, &text);
	if (e == OK) {
		ci_say("INFO", "Source of key(s) to be installed: \"%s\"", path);
		e = from_text(c, path, buf_bytes(&text));
	} else if (e == E_NOT_FOUND && !is_public && from_private(c, name) == OK) {
		ci_say("INFO", "Source of key(s) to be installed: the public half of \"%s\"", name);
		e = OK;
	} else {
		(void)ci_fail("failed to open ID file '%s': %s", path, keyfile_reason(e));
	}
	buf_done(&text);
	free(path);
	return e;
}

/* ---- by itself ----------------------------------------------------------------------------------
 */
static bool is_default_name(const char *name)
{
	return strncmp(name, "id", 2) == 0 && ends_with(name, ".pub") &&
	       !ends_with(name, "-cert.pub");
}

/* The newest ~/.ssh/id*.pub that is no certificate; NULL = none. */
static char *newest_default(const struct ci *c)
{
	char *best = NULL, *dir = NULL;
	struct timespec newest = {0};
	if (asprintf(&dir, "%s/.ssh", c->me.home) < 0)
		return NULL;
	DIR *d = opendir(dir);
	for (struct dirent *e = d != NULL ? readdir(d) : NULL; e != NULL; e = readdir(d)) {
		struct stat st;
		char *path = NULL;
		if (!is_default_name(e->d_name) || fstatat(dirfd(d), e->d_name, &st, 0) != 0 ||
			!S_ISREG(st.st_mode))
			continue;
		bool is_newer =
			best == NULL || st.st_mtim.tv_sec > newest.tv_sec ||
			(st.st_mtim.tv_sec == newest.tv_sec && st.st_mtim.tv_nsec > newest.tv_nsec);
		if (!is_newer || asprintf(&path, "%s/%s", dir, e->d_name) < 0)
			continue;
		free(best);
		best = path;
		newest = st.st_mtim;
	}
	if (d != NULL)
		(void)closedir(d);
	free(dir);
	return best;
}

static err_t from_default(struct ci *c)
{
	char *path = newest_default(c);
	if (path == NULL) {
		(void)ci_fail(c->wants_default ? "no ID file found"
					       : "No identities found: no key in an agent, and no "
						 "~/.ssh/id*.pub (ssh-keygen makes a pair)");
		return E_NOT_FOUND;
	}
	err_t e = from_file(c, path);
	free(path);
	return e;
}

static void on_agent_key(void *arg, struct cslice blob, struct cslice comment)
{
	struct ci *c = arg;
	struct buf line;
	struct key *k = NULL;
	/* A certificate is of no use in authorized_keys: its key is. */
	if (key_parse_any(&k, blob) == OK && key_cert(k) == NULL) {
		buf_init(&line, CI_KEYS_MAX);
		err_t e = key_public_line(k, NULL, &line);
		buf_put_u8(&line, ' ');
		vis_put(&line, comment);
		if (e == OK && buf_err(&line) == OK)
			e = ci_keys_add(&c->keys, buf_bytes(&line));
		if (e != OK)
			log_debug1("a key of the agent is left out: %s", err_text(e));
		buf_done(&line);
	}
	key_free(k);
}

static void from_agent(struct ci *c)
{
	struct agent_client agent = {.fd = -1};
	const char *path = getenv("SSH_AUTH_SOCK");
	if (path == NULL || path[0] == '\0' || agent_connect(&agent, path) != OK)
		return;
	err_t e = agent_list_blobs(&agent, on_agent_key, c);
	if (e != OK)
		ci_say("WARNING", "the agent does not tell its keys: %s", err_text(e));
	else if (c->keys.n > 0)
		ci_say("INFO", "Source of key(s) to be installed: the agent");
	agent_close(&agent);
}

err_t ci_keys_load(struct ci *c)
{
	if (c->identity != NULL)
		return from_file(c, c->identity);
	if (!c->wants_default)
		from_agent(c);
	return c->keys.n > 0 ? OK : from_default(c);
}
