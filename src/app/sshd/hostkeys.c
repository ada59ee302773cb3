/* SPDX-License-Identifier: ISC */
/* hostkeys - the server's private keys: read, checked, handed over, wiped */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "app/sshd/files.h"
#include "app/sshd/sshd.h"
#include "base/secret.h"
#include "key/cert.h"
#include "os/random.h"
#include "wire/codec.h"

#define KEY_FILE_MAX  ((size_t)256 * 1024)
#define CERT_TEXT_MAX (2 * CERT_BLOB_MAX)

static void one_done(struct host_key *h)
{
	key_free(h->k);
	buf_done(&h->text);
	buf_done(&h->cert);
	buf_done(&h->blob);
	free(h->agent);
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
	buf_init(&h->cert, CERT_TEXT_MAX);
	buf_init(&h->blob, CERT_BLOB_MAX);
}

static err_t take_cert(struct host_key *h)
{
	struct key *cert = NULL;
	TRY(key_parse_line_any(&cert, buf_bytes(&h->cert), NULL));
	err_t e = key_take_cert(h->k, cert);
	key_free(cert);
	return e;
}

/* Fills k and blob from text and cert. */
static err_t one_parse(struct host_key *h)
{
	if (h->agent != NULL)
		TRY(key_parse_public_line(&h->k, buf_bytes(&h->text), NULL));
	else
		TRY(key_read_private(&h->k, buf_bytes(&h->text), cslice_of(NULL, 0), NULL));
	key_set_rng(h->k, os_rng());
	if (h->cert.n > 0)
		TRY(take_cert(h));
	return key_blob_any(h->k, &h->blob);
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

/* Does the file hold a private key that can be used as it is? */
static bool is_private_here(const char *path)
{
	struct buf text;
	struct stat st;
	struct key *k = NULL;
	buf_init(&text, KEY_FILE_MAX + (32 << 10));
	bool is_here = file_read_stat(path, KEY_FILE_MAX, &text, &st) == OK &&
		       key_read_private(&k, buf_bytes(&text), cslice_of(NULL, 0), NULL) == OK;
	key_free(k);
	buf_done(&text);
	return is_here;
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

/* The file itself where it holds the private half, else the agent. */
static err_t one_find(struct host_key *h, const char *path, bool is_asked, const char *agent)
{
	struct host_key by_agent;
	if (agent == NULL)
		return one_read(h, path, is_asked);
	one_init(&by_agent);
	if (host_agent_read(&by_agent, path, agent) != OK || is_private_here(path)) {
		one_done(&by_agent);
		return one_read(h, path, is_asked);
	}
	one_done(h);
	*h = by_agent;
	log_debug1("will rely on agent for hostkey %s", path);
	TRY(key_blob(h->k, &h->blob));
	return text_dup(cslice_str(path), &h->path);
}

/* ---- certificates ---- */
/* Comments and blank lines are passed over. */
static bool lines_next(struct cslice *rest, struct cslice *line)
{
	while (rest->n > 0) {
		const uint8_t *end = memchr(rest->p, '\n', rest->n);
		size_t n = end != NULL ? (size_t)(end - rest->p) : rest->n;
		struct cslice one = {rest->p, n};
		n += end != NULL;
		*rest = cslice_of(rest->p + n, rest->n - n);
		while (one.n > 0 && (one.p[0] == ' ' || one.p[0] == '\t'))
			one = cslice_of(one.p + 1, one.n - 1);
		if (one.n > 0 && one.p[0] != '#' && one.p[0] != '\r') {
			*line = one;
			return true;
		}
	}
	return false;
}

/* The one line of the file that is more than a comment. */
static err_t cert_read(const char *path, struct key **cert, struct buf *line)
{
	struct buf text;
	struct stat st;
	struct cslice one;
	buf_init(&text, CERT_TEXT_MAX);
	err_t e = file_read_stat(path, CERT_TEXT_MAX, &text, &st);
	if (e != OK)
		log_put(LOG_L_ERROR, "Could not load host certificate \"%s\": %s", path,
			errno != 0 ? strerror(errno) : err_text(e));
	struct cslice rest = buf_bytes(&text);
	while (e == OK && lines_next(&rest, &one) && line->n == 0)
		buf_put(line, one.p, one.n);
	if (e == OK)
		e = buf_err(line);
	if (e == OK) {
		e = key_parse_line_any(cert, buf_bytes(line), NULL);
		if (e != OK)
			log_put(LOG_L_ERROR, "Could not load host certificate \"%s\": %s", path,
				err_text(e));
	}
	buf_done(&text);
	return e;
}

static struct host_key *place_for(struct host_keys *keys, const struct host_key *plain)
{
	for (size_t i = 0; i < keys->n; i++) {
		struct host_key *h = &keys->v[i];
		if (h->cert.n == 0 || !key_equal_public(h->k, plain->k))
			continue;
		one_done(h); /* of several for one key the last counts */
		return h;
	}
	return keys->n < HOST_KEYS_MAX ? &keys->v[keys->n++] : NULL;
}

static err_t cert_fill(struct host_key *h, const struct host_key *plain, const struct buf *line)
{
	one_init(h);
	buf_put(&h->text, plain->text.p, plain->text.n);
	buf_put(&h->cert, line->p, line->n);
	TRY(buf_err(&h->text));
	TRY(buf_err(&h->cert));
	TRY(text_dup(cslice_str(plain->path), &h->path));
	if (plain->agent != NULL)
		TRY(text_dup(cslice_str(plain->agent), &h->agent));
	return one_parse(h);
}

static void cert_add(
	struct host_keys *keys, const char *path, const struct key *cert, const struct buf *line)
{
	const struct host_key *plain = NULL;
	if (key_cert(cert) == NULL) {
		log_put(LOG_L_ERROR, "Certificate file is not a certificate: %s", path);
		return;
	}
	for (size_t i = 0; i < keys->n && plain == NULL; i++)
		if (keys->v[i].path != NULL && keys->v[i].cert.n == 0 &&
			key_equal_public(keys->v[i].k, cert))
			plain = &keys->v[i];
	if (plain == NULL) {
		log_put(LOG_L_ERROR, "No matching private key for certificate: %s", path);
		return;
	}
	struct host_key *h = place_for(keys, plain);
	err_t e = h != NULL ? cert_fill(h, plain, line) : E_LIMIT;
	if (e == OK) {
		log_debug1("host certificate: %s %s", path, key_shown(h->k));
		return;
	}
	log_put(LOG_L_ERROR, "Could not load host certificate \"%s\": %s", path, err_text(e));
	if (h != NULL) { /* the last one takes the place */
		one_done(h);
		keys->n--;
		*h = keys->v[keys->n];
		keys->v[keys->n] = (struct host_key){.path = NULL};
	}
}

void host_keys_read(struct host_keys *keys, const struct server_config *c)
{
	char *agent = host_agent_path(c);
	keys->n = 0;
	for (size_t i = 0; i < c->host_keys.n && keys->n < HOST_KEYS_OWN; i++) {
		struct host_key *h = &keys->v[keys->n];
		one_init(h);
		if (one_find(h, c->host_keys.v[i], c->host_keys_set, agent) == OK)
			keys->n++;
		else
			one_done(h);
	}
	free(agent);
	for (size_t i = 0; i < c->host_certificates.n; i++) {
		struct key *cert = NULL;
		struct buf line;
		buf_init(&line, CERT_TEXT_MAX);
		if (cert_read(c->host_certificates.v[i], &cert, &line) == OK)
			cert_add(keys, c->host_certificates.v[i], cert, &line);
		key_free(cert);
		buf_done(&line);
	}
}

void host_keys_put(const struct host_keys *keys, struct buf *out)
{
	for (size_t i = 0; i < keys->n; i++) {
		buf_put_cstring(out, keys->v[i].path);
		buf_put_string(out, buf_bytes(&keys->v[i].text));
		buf_put_string(out, buf_bytes(&keys->v[i].cert));
		buf_put_cstring(out, keys->v[i].agent != NULL ? keys->v[i].agent : "");
	}
}

err_t host_keys_get(struct host_keys *out, struct cslice frozen)
{
	struct rd r = rd_of(frozen);
	struct host_keys keys = {.n = 0};
	err_t e = OK;
	while (e == OK && r.n > 0 && !r.bad) {
		struct cslice path = rd_text(&r), text = rd_str(&r), cert = rd_str(&r),
			      agent = rd_text(&r);
		if (r.bad || keys.n == HOST_KEYS_MAX) {
			e = E_FORMAT;
			break;
		}
		struct host_key *h = &keys.v[keys.n];
		one_init(h);
		keys.n++;
		buf_put(&h->text, text.p, text.n);
		buf_put(&h->cert, cert.p, cert.n);
		e = buf_err(&h->text);
		if (e == OK)
			e = buf_err(&h->cert);
		if (e == OK)
			e = text_dup(path, &h->path);
		if (e == OK && agent.n > 0)
			e = text_dup(agent, &h->agent);
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
