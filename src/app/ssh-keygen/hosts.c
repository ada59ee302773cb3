/* SPDX-License-Identifier: ISC */
/*
 * hosts - known_hosts: -F find, -R remove, -H hash
 *
 * A file with a line that cannot be understood is searched, but never rewritten.  Before it is
 * replaced, the old file is kept beside it as FILE.old.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/ssh-keygen/kg.h"
#include "key/known_hosts.h"

struct run {
	const struct kg_options *o;
	const char *path;
	const char *host; /* -F or -R, as typed */
	struct buf name;  /* lower case */
	struct buf out;   /* the new file, or what -F prints */
	bool found, has_unhashed, is_invalid;
};

static void keep_line(struct run *r, const struct kh_entry *e)
{
	buf_put(&r->out, e->text.p, e->text.n);
	buf_put_u8(&r->out, '\n');
}

/* One line for each name: hashes hide how many names a host has. */
static err_t hash_line(struct run *r, const struct kh_entry *e)
{
	bool has_wild = false;
	struct cslice rest = e->hosts, one;
	for (size_t i = 0; i < e->hosts.n; i++)
		has_wild = has_wild || memchr("*?!", e->hosts.p[i], 3) != NULL;
	if (kh_is_hashed(e->hosts) || has_wild || e->marker != KH_MARK_NONE) {
		keep_line(r, e);
		if (has_wild && r->host == NULL)
			(void)kg_say(0, "%s:%u: ignoring host name with wildcard: %.64s", r->path,
				e->line, (const char *)e->hosts.p);
		return buf_err(&r->out);
	}
	r->has_unhashed = true;
	while (list_next(&rest, &one)) {
		struct buf low;
		buf_init(&low, 1024);
		buf_put(&low, one.p, one.n);
		for (size_t i = 0; i < low.n; i++)
			if (low.p[i] >= 'A' && low.p[i] <= 'Z')
				low.p[i] = (uint8_t)(low.p[i] - 'A' + 'a');
		err_t err = buf_err(&low);
		if (err == OK)
			err = kh_hash_name(buf_bytes(&low), os_rng(), &r->out);
		buf_done(&low);
		TRY(err);
		const uint8_t *from = e->hosts.p + e->hosts.n, *to = e->text.p + e->text.n;
		buf_put(&r->out, from, (size_t)(to - from));
		buf_put_u8(&r->out, '\n');
	}
	return buf_err(&r->out);
}

static err_t fingerprint_line(struct run *r, const struct kh_entry *e)
{
	struct key *k = NULL;
	if (key_parse_public_line(&k, e->key, NULL) != OK)
		return OK;
	buf_printf(&r->out, "%s %s ", r->host, key_type_shown(key_type_of(k)));
	err_t err = key_fingerprint(k, r->o->hash_id, &r->out);
	if (e->comment.n > 0) {
		buf_put_u8(&r->out, ' ');
		vis_put(&r->out, e->comment);
	}
	buf_put_u8(&r->out, '\n');
	if (err == OK && r->o->verbose)
		err = key_randomart(k, r->o->hash_id, &r->out);
	key_free(k);
	return err == OK ? buf_err(&r->out) : err;
}

static err_t find_line(struct run *r, const struct kh_entry *e)
{
	static const char *const words[] = {
		[KH_MARK_NONE] = "", [KH_MARK_CA] = "CA", [KH_MARK_REVOKED] = "REVOKED"};
	r->found = true;
	if (!r->o->quiet)
		buf_printf(&r->out, "# Host %s found: line %u %s\n", r->host, e->line,
			words[e->marker]);
	if (r->o->hash_hosts)
		return hash_line(r, e);
	if (r->o->list)
		return fingerprint_line(r, e);
	keep_line(r, e);
	return buf_err(&r->out);
}

static err_t one_line(struct run *r, const struct kh_entry *e)
{
	bool is_key = e->kind == KH_LINE_KEY || e->kind == KH_LINE_UNKNOWN, is_match = false;
	bool rewrites = r->o->find_host == NULL;
	if (is_key && r->host != NULL)
		TRY(kh_hosts_match(e->hosts, buf_bytes(&r->name), &is_match));
	if (e->kind == KH_LINE_BROKEN) {
		r->is_invalid = true;
		if (rewrites)
			(void)kg_say(0, "%s:%u: invalid line", r->path, e->line);
	}
	if (!rewrites)
		return is_match ? find_line(r, e) : OK;
	if (r->o->remove_host != NULL && is_match && e->marker == KH_MARK_NONE) {
		r->found = true;
		if (!r->o->quiet)
			kg_tell("# Host %s found: line %u\n", r->host, e->line);
		return OK;
	}
	if (r->o->remove_host == NULL && is_key)
		return hash_line(r, e);
	keep_line(r, e);
	return buf_err(&r->out);
}

static int replace_file(struct run *r)
{
	char *old = NULL;
	struct stat st;
	int state = KG_OK;
	if (stat(r->path, &st) < 0 || asprintf(&old, "%s.old", r->path) < 0)
		return kg_say(KG_FATAL, "Cannot stat %s: %s", r->path, strerror(errno));
	if (unlink(old) < 0 && errno != ENOENT)
		state = kg_say(KG_FATAL, "unlink %s: %s", old, strerror(errno));
	else if (link(r->path, old) < 0)
		state = kg_say(KG_FATAL, "link %s to %s: %s", r->path, old, strerror(errno));
	else if (keyfile_replace(r->path, buf_bytes(&r->out), st.st_mode & 0777) != OK)
		state = kg_say(KG_FATAL, "rename to %s: %s", r->path, strerror(errno));
	if (state == KG_OK) {
		kg_tell("%s updated.\nOriginal contents retained as %s\n", r->path, old);
		if (r->has_unhashed)
			(void)kg_say(0,
				"WARNING: %s contains unhashed entries\n"
				"Delete this file to ensure privacy of hostnames",
				old);
	}
	free(old);
	return state;
}

static int finish(struct run *r)
{
	if (r->o->find_host != NULL) {
		if (r->out.n > 0)
			(void)fwrite(r->out.p, 1, r->out.n, stdout);
		return r->found ? KG_OK : KG_FAILED;
	}
	if (r->is_invalid) {
		(void)kg_say(0, "%s is not a valid known_hosts file.", r->path);
		return kg_say(
			KG_FAILED, "Not replacing existing known_hosts file because of errors");
	}
	if (r->o->remove_host != NULL && !r->found)
		return kg_say(KG_OK, "Host %s not found in %s", r->host, r->path);
	if (r->o->remove_host == NULL && !r->has_unhashed)
		return KG_OK; /* nothing to hash */
	return replace_file(r);
}

int kg_known_hosts(struct kg_options *o)
{
	struct run r = {.o = o,
		.path = o->file,
		.host = o->find_host != NULL ? o->find_host : o->remove_host};
	struct kh_entry entry = {0};
	struct buf text;
	if (r.path == NULL)
		r.path = o->path_buf = kg_home_path("known_hosts");
	if (r.path == NULL)
		return kg_say(KG_FATAL, "No user exists for uid %u", (unsigned)getuid());
	buf_init(&r.name, 1024);
	buf_init(&r.out, (size_t)64 << 20);
	buf_init(&text, (size_t)64 << 20);
	if (r.host != NULL)
		kh_name(r.host, 22, &r.name);
	err_t e = keyfile_read(r.path, &text);
	int state = KG_OK;
	if (e != OK)
		state = kg_say(KG_FATAL, "Cannot stat %s: %s", r.path, keyfile_reason(e));
	struct cslice rest = buf_bytes(&text);
	while (e == OK && kh_next(&rest, &entry))
		e = one_line(&r, &entry);
	if (state == KG_OK && e == OK)
		state = finish(&r);
	else if (state == KG_OK)
		state = kg_say(KG_FATAL, "hostkeys_foreach failed: %s", err_text(e));
	buf_done(&text);
	buf_done(&r.out);
	buf_done(&r.name);
	return state;
}
