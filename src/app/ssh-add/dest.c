/* SPDX-License-Identifier: ISC */
/*
 * dest - where a key may be used (-h): hosts as known_hosts has them
 *
 * The agent compares host keys, not names: each host is sent with every key and authority that the
 * known_hosts files have for it, less those that a @revoked line names.
 */
#include <stdio.h>
#include <stdlib.h>

#include "app/common/keyfile.h"
#include "app/ssh-add/sa.h"
#include "base/log.h"
#include "key/known_hosts.h"
#include "os/file.h"

#define HOP_KEYS_MAX 256
#define FILES_MAX    SA_LIST_MAX

struct hop {
	char *user, *host; /* owned; NULL = none */
	struct ag_host_key keys[HOP_KEYS_MAX];
	uint8_t *bytes[HOP_KEYS_MAX]; /* of keys[].blob; owned */
	size_t keys_n;
};

struct sa_destinations {
	struct buf files[FILES_MAX];
	size_t files_n;
	struct hop hops[SA_LIST_MAX][2];
	struct ag_destination v[SA_LIST_MAX];
	size_t n;
};

static void hop_done(struct hop *h)
{
	for (size_t i = 0; i < h->keys_n; i++)
		free(h->bytes[i]);
	free(h->user);
	free(h->host);
}

void sa_destinations_done(struct sa *s)
{
	struct sa_destinations *d = s->destinations;
	for (size_t i = 0; d != NULL && i < d->files_n; i++)
		buf_done(&d->files[i]);
	for (size_t i = 0; d != NULL && i < d->n; i++) {
		hop_done(&d->hops[i][0]);
		hop_done(&d->hops[i][1]);
	}
	free(d);
	s->destinations = NULL;
}

/* ---- known_hosts --------------------------------------------------------------------------------
 */
static int read_file(struct sa *s, const char *path)
{
	struct sa_destinations *d = s->destinations;
	char *whole = NULL;
	bool is_home = strncmp(path, "~/", 2) == 0;
	if (asprintf(&whole, "%s%s", is_home ? s->me.home : "", is_home ? path + 1 : path) < 0)
		return SA_FATAL;
	struct buf *text = &d->files[d->files_n];
	buf_init(text, (size_t)64 << 20);
	err_t e = os_file_read(whole, text, NULL);
	if (e == OK)
		d->files_n++;
	else
		buf_done(text);
	if (e != OK)
		log_debug1("%s: %s", whole, err_text(e));
	free(whole);
	return SA_OK;
}

static int read_files(struct sa *s)
{
	static const char *const usual[] = {"~/.ssh/known_hosts", "~/.ssh/known_hosts2",
		"/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"};
	const struct sa_list *given = &s->o.known_hosts;
	int state = SA_OK;
	for (size_t i = 0; state == SA_OK && i < given->n; i++)
		state = read_file(s, given->v[i]);
	for (size_t i = 0; state == SA_OK && given->n == 0 && i < ARRAY_N(usual); i++)
		state = read_file(s, usual[i]);
	return state;
}

static void take_key(struct hop *h, struct cslice blob, bool is_ca)
{
	for (size_t i = 0; i < h->keys_n; i++)
		if (h->keys[i].is_ca == is_ca && cslice_eq(h->keys[i].blob, blob))
			return;
	if (h->keys_n == HOP_KEYS_MAX)
		return;
	uint8_t **copy = &h->bytes[h->keys_n];
	*copy = malloc(blob.n);
	if (*copy == NULL)
		return;
	memcpy(*copy, blob.p, blob.n);
	h->keys[h->keys_n++] = (struct ag_host_key){{*copy, blob.n}, is_ca};
}

static void drop_key(struct hop *h, struct cslice blob)
{
	size_t kept = 0;
	for (size_t i = 0; i < h->keys_n; i++) {
		if (cslice_eq(h->keys[i].blob, blob)) {
			free(h->bytes[i]);
			continue;
		}
		h->bytes[kept] = h->bytes[i];
		h->keys[kept++] = h->keys[i];
	}
	h->keys_n = kept;
}

/* One pass over a file: the keys of the host's lines come in, or the revoked ones go out. */
static void look_through(struct hop *h, struct cslice file, struct cslice name, bool is_revoking)
{
	struct kh_entry entry = {0};
	while (kh_next(&file, &entry)) {
		bool is_match = false, is_revoked = entry.marker == KH_MARK_REVOKED;
		struct key *k = NULL;
		struct buf blob;
		if (entry.kind != KH_LINE_KEY || is_revoked != is_revoking ||
			kh_hosts_match(entry.hosts, name, &is_match) != OK || !is_match ||
			key_parse_public_line(&k, entry.key, NULL) != OK)
			continue;
		buf_init(&blob, KEYFILE_MAX);
		if (key_blob(k, &blob) == OK && is_revoking)
			drop_key(h, buf_bytes(&blob));
		else if (buf_err(&blob) == OK)
			take_key(h, buf_bytes(&blob), entry.marker == KH_MARK_CA);
		buf_done(&blob);
		key_free(k);
	}
}

/* ---- the words of -h ----------------------------------------------------------------------------
 */
static int parse_hop(const struct sa_destinations *d, struct cslice text, struct hop *h)
{
	const uint8_t *at = text.n > 0 ? memchr(text.p, '@', text.n) : NULL;
	struct cslice user = {text.p, at != NULL ? (size_t)(at - text.p) : 0}, host = text;
	if (at != NULL)
		host = cslice_of(at + 1, text.n - user.n - 1);
	if ((at != NULL && text_dup(user, &h->user) != OK) || text_dup(host, &h->host) != OK)
		return sa_say(SA_FATAL, "a host of -h is not understood");
	ascii_lower(h->host);
	host = cslice_str(h->host);
	for (size_t i = 0; i < d->files_n; i++)
		look_through(h, buf_bytes(&d->files[i]), host, false);
	for (size_t i = 0; i < d->files_n; i++)
		look_through(h, buf_bytes(&d->files[i]), host, true);
	if (h->keys_n == 0)
		return sa_say(SA_FATAL, "No host keys found for destination \"%s\"", h->host);
	return SA_OK;
}

static struct ag_hop hop_face(const struct hop *h)
{
	return (struct ag_hop){
		.user = cslice_str(h->user != NULL ? h->user : ""),
		.host = cslice_str(h->host != NULL ? h->host : ""),
		.keys = h->keys,
		.keys_n = h->keys_n,
	};
}

static int parse_one(struct sa_destinations *d, const char *text)
{
	struct hop *from = &d->hops[d->n][0], *to = &d->hops[d->n][1];
	const char *arrow = strchr(text, '>');
	int state = SA_OK;
	d->n++;
	if (arrow != NULL)
		state = parse_hop(d, cslice_of(text, (size_t)(arrow - text)), from);
	if (state == SA_OK)
		state = parse_hop(d, cslice_str(arrow != NULL ? arrow + 1 : text), to);
	if (state == SA_OK && from->user != NULL)
		state = sa_say(SA_FATAL,
			"Invalid key constraint %s: cannot specify user on 'from' host", text);
	d->v[d->n - 1] = (struct ag_destination){hop_face(from), hop_face(to)};
	return state;
}

int sa_destinations(struct sa *s)
{
	const struct sa_list *given = &s->o.destinations;
	if (given->n == 0)
		return SA_OK;
	s->destinations = calloc(1, sizeof(*s->destinations));
	if (s->destinations == NULL)
		return sa_say(SA_FATAL, "%s", err_text(E_MEM));
	int state = read_files(s);
	for (size_t i = 0; state == SA_OK && i < given->n; i++)
		state = parse_one(s->destinations, given->v[i]);
	s->limits.destinations = s->destinations->v;
	s->limits.destinations_n = s->destinations->n;
	return state;
}
