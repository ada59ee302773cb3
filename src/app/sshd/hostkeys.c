/* SPDX-License-Identifier: ISC */
/* hostkeys - the server's private keys: read, checked, handed over, wiped */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "app/sshd/files.h"
#include "app/sshd/sshd.h"
#include "base/secret.h"
#include "os/random.h"
#include "wire/codec.h"

#define KEY_FILE_MAX ((size_t)256 * 1024)

static void one_done(struct host_key *h)
{
	key_free(h->k);
	buf_done(&h->text);
	buf_done(&h->blob);
	free(h->path);
	*h = (struct host_key){.path = NULL};
}

void host_keys_done(struct host_keys *keys)
{
	while (keys->n > 0)
		one_done(&keys->v[--keys->n]);
}

static void one_init(struct host_key *h)
{
	*h = (struct host_key){.path = NULL};
	buf_init(&h->text, KEY_FILE_MAX + (32 << 10));
	buf_init(&h->blob, 64 << 10);
}

/* Fills k and blob from text. */
static err_t one_parse(struct host_key *h)
{
	TRY(key_read_private(&h->k, buf_bytes(&h->text), cslice_of(NULL, 0), NULL));
	key_set_rng(h->k, os_rng());
	return key_blob(h->k, &h->blob);
}

static bool is_private_enough(const char *path, const struct stat *st)
{
	if (st->st_uid != geteuid() || (st->st_mode & 077) == 0)
		return true;
	static const char box[] = "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@";
	log_put(LOG_L_ERROR, "%s", box);
	log_put(LOG_L_ERROR, "@         WARNING: UNPROTECTED PRIVATE KEY FILE!          @");
	log_put(LOG_L_ERROR, "%s", box);
	log_put(LOG_L_ERROR, "Permissions 0%3.3o for '%s' are too open.",
		(unsigned)st->st_mode & 0777, path);
	log_put(LOG_L_ERROR,
		"It is required that your private key files are NOT accessible by others.");
	log_put(LOG_L_ERROR, "This private key will be ignored.");
	return false;
}

/* is_asked: the configuration names the file; a default one that is not there is no fault. */
static err_t one_read(struct host_key *h, const char *path, bool is_asked)
{
	struct stat st;
	err_t e = file_read_stat(path, KEY_FILE_MAX, &h->text, &st);
	if (e != OK) {
		log_put(errno == ENOENT && !is_asked ? LOG_L_DEBUG1 : LOG_L_ERROR,
			"Unable to load host key \"%s\": %s", path,
			errno != 0 ? strerror(errno) : err_text(e));
		return e;
	}
	if (!is_private_enough(path, &st)) {
		log_put(LOG_L_ERROR, "Unable to load host key \"%s\": bad permissions", path);
		return E_PERMISSION;
	}
	e = one_parse(h);
	if (e != OK) {
		log_put(LOG_L_ERROR, "Unable to load host key \"%s\": %s", path, err_text(e));
		return e;
	}
	return text_dup(cslice_str(path), &h->path);
}

void host_keys_read(struct host_keys *keys, const struct server_config *c)
{
	keys->n = 0;
	for (size_t i = 0; i < c->host_keys.n && keys->n < HOST_KEYS_MAX; i++) {
		struct host_key *h = &keys->v[keys->n];
		one_init(h);
		if (one_read(h, c->host_keys.v[i], c->host_keys_set) == OK)
			keys->n++;
		else
			one_done(h);
	}
}

void host_keys_put(const struct host_keys *keys, struct buf *out)
{
	for (size_t i = 0; i < keys->n; i++) {
		buf_put_cstring(out, keys->v[i].path);
		buf_put_string(out, buf_bytes(&keys->v[i].text));
	}
}

err_t host_keys_get(struct host_keys *out, struct cslice frozen)
{
	struct rd r = rd_of(frozen);
	struct host_keys keys = {.n = 0};
	err_t e = OK;
	while (e == OK && r.n > 0 && !r.bad) {
		struct cslice path = rd_text(&r), text = rd_str(&r);
		if (r.bad || keys.n == HOST_KEYS_MAX) {
			e = E_FORMAT;
			break;
		}
		struct host_key *h = &keys.v[keys.n];
		one_init(h);
		keys.n++;
		buf_put(&h->text, text.p, text.n);
		e = buf_err(&h->text);
		if (e == OK)
			e = text_dup(path, &h->path);
		if (e == OK)
			e = one_parse(h);
	}
	if (e == OK && r.bad)
		e = E_FORMAT;
	if (e != OK) {
		host_keys_done(&keys);
		return e;
	}
	*out = keys;
	return OK;
}
