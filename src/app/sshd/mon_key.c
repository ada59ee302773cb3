/* SPDX-License-Identifier: ISC */
/*
 * mon_key - is this key in the user's authorized_keys, and does the signature prove it?
 *
 * The decision is bound to the key whose signature is checked: key_allowed remembers one key under
 * a token, key_verify takes that key and no other.  The files are read with the user's rights.  A
 * certificate is the key that it is about, under the conditions of its authority's line.
 */
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "app/sshd/files.h"
#include "app/sshd/monitor.h"
#include "app/sshd/tokens.h"
#include "auth/au.h"
#include "key/cert.h"

#define KEYS_FILE_MAX ((size_t)16 * 1024 * 1024)
#define TBS_MAX       (3 * CERT_BLOB_MAX)
#define SHOWN_MAX     8192

void mon_key_init(struct mon_key *key)
{
	*key = (struct mon_key){.token = 0};
	buf_init(&key->alg, 256);
	buf_init(&key->blob, CERT_BLOB_MAX);
	buf_init(&key->shown, SHOWN_MAX);
}

void mon_key_clear(struct mon_key *key)
{
	key_free(key->k);
	ak_done(&key->permit);
	buf_done(&key->alg);
	buf_done(&key->blob);
	buf_done(&key->shown);
	mon_key_init(key);
}

/* ---- authorized_keys ---- */
static void skipped(void *arg, uint32_t line, const char *text)
{
	const struct mon_looking *l = arg;
	log_debug1("%s:%u: %s", l->path, line, text);
}

/* The owner of the key is there, and the line keeps him out: an administrator wants to know. */
static void refused(void *arg, uint32_t line, const char *from, uint64_t expiry_s)
{
	const struct mon_looking *l = arg;
	const struct monitor *m = l->m;
	if (from != NULL) {
		log_put(LOG_L_INFO,
			"%.200s:%u: Authentication tried for %.100s with correct key but not from "
			"a "
			"permitted host (host=%.200s, ip=%.200s, required=%.200s).",
			l->path, line, m->name, m->ends.remote, m->ends.remote, from);
	} else {
		char when[64] = "a time long ago";
		time_t t = (time_t)expiry_s;
		struct tm tm;
		if (gmtime_r(&t, &tm) != NULL)
			(void)strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &tm);
		log_put(LOG_L_INFO, "%.200s:%u: entry expired at %s", l->path, line, when);
	}
	log_put(LOG_L_ERROR, "Refused by key options");
}

static void cert_refused(void *arg, uint32_t line, const char *reason)
{
	const struct mon_looking *l = arg;
	log_debug1("%s:%u: %s", l->path, line, reason);
	mon_cert_refused(l->m, reason);
}

err_t mon_key_path(const struct monitor *m, const char *pattern, struct buf *out)
{
	const struct os_user *u = &m->user;
	TRY(tokens_expand(u, pattern, out));
	if (out->n > 0 && out->p[0] != '/') {
		struct buf whole;
		buf_init(&whole, out->limit);
		buf_printf(&whole, "%s/", u->home);
		buf_put(&whole, out->p, out->n);
		buf_done(out);
		*out = whole;
	}
	buf_put_u8(out, 0);
	return buf_err(out);
}

err_t mon_key_file(struct monitor *m, const char *path, const char *what, struct buf *text)
{
	struct stat st;
	struct buf why;
	buf_init(&why, 8192);
	err_t e = file_read_stat(path, KEYS_FILE_MAX, text, &st);
	if (e == OK && m->conf.strict_modes &&
		file_is_strict(path, &st, m->user.home, m->user.uid, &why) != OK) {
		log_put(LOG_L_INFO, "Authentication refused: %.*s", (int)why.n,
			(const char *)why.p);
		e = E_PERMISSION;
	} else if (e != OK && e != E_NOT_FOUND) {
		log_put(LOG_L_INFO, "User %s: %s %s: %s", m->name, what, path,
			errno != 0 ? strerror(errno) : err_text(e));
	}
	buf_done(&why);
	return e;
}

struct ak_query mon_key_query(struct mon_looking *looking)
{
	const struct monitor *m = looking->m;
	return (struct ak_query){.k = m->key.k,
		.user = m->user.name,
		.ca_algs = m->conf.ca_sign_algorithms,
		.address = m->ends.is_socket ? m->ends.remote : NULL,
		.now_s = os_wall_s(),
		.why = skipped,
		.refused = refused,
		.refused_cert = cert_refused,
		.arg = looking};
}

static void log_found(const struct monitor *m, const char *path, uint32_t line)
{
	char where[PATH_MAX];
	(void)snprintf(where, sizeof(where), " found at %s:%u", path, line);
	if (key_cert(m->key.k) != NULL)
		mon_cert_accepted(m, where);
	else
		log_put(LOG_L_VERBOSE, "Accepted key %.*s%s", (int)m->key.shown.n,
			(const char *)m->key.shown.p, where);
}

static err_t check_file(struct monitor *m, const char *path, struct ak_result *out)
{
	struct buf text;
	struct mon_looking looking = {m, path};
	struct ak_query q = mon_key_query(&looking);
	buf_init(&text, KEYS_FILE_MAX + 65536);
	err_t e = mon_key_file(m, path, "authorized keys", &text);
	if (e == OK || e == E_NOT_FOUND)
		log_debug1("trying public key file %s", path);
	if (e == OK)
		e = ak_check(buf_bytes(&text), &q, out);
	if (e == OK && out->verdict == AK_ALLOW)
		log_found(m, path, out->line);
	buf_done(&text);
	return e;
}

/* What the command prints is a file that is made for the occasion. */
static err_t check_command(struct monitor *m, struct ak_result *out)
{
	struct buf text;
	struct ak_result r = {.verdict = AK_DENY};
	const struct mon_command c = {.keyword = "AuthorizedKeysCommand",
		.line = m->conf.authorized_keys_command,
		.user = m->conf.authorized_keys_command_user,
		.output_max = KEYS_FILE_MAX};
	struct mon_looking looking = {m, c.line};
	struct ak_query q = mon_key_query(&looking);
	buf_init(&text, KEYS_FILE_MAX + 65536);
	err_t e = mon_command(m, &c, &text);
	if (e == OK)
		e = ak_check(buf_bytes(&text), &q, &r);
	buf_done(&text);
	if (e == OK && r.verdict == AK_ALLOW) {
		log_found(m, c.line, r.line);
		*out = r;
		return OK;
	}
	ak_done(&r);
	return E_DENIED;
}

static bool check_pattern(struct monitor *m, const char *path, struct ak_result *out)
{
	glob_t g;
	if (strpbrk(path, "*?[") == NULL)
		return check_file(m, path, out) == OK && out->verdict == AK_ALLOW;
	if (glob(path, 0, NULL, &g) != 0)
		return false;
	bool is_found = false;
	for (size_t i = 0; i < g.gl_pathc && !is_found; i++)
		is_found = check_file(m, g.gl_pathv[i], out) == OK && out->verdict == AK_ALLOW;
	globfree(&g);
	return is_found;
}

static err_t find_in_files(struct monitor *m, struct ak_result *out)
{
	struct user_saved saved;
	bool is_found = false;
	TRY(user_act_begin(&m->user, &saved));
	for (size_t i = 0; i < m->conf.authorized_keys_files.n && !is_found; i++) {
		struct buf path;
		struct ak_result r = {.verdict = AK_DENY};
		const char *pattern = m->conf.authorized_keys_files.v[i];
		if (strcmp(pattern, "none") == 0)
			continue;
		buf_init(&path, PATH_MAX);
		if (mon_key_path(m, pattern, &path) == OK)
			is_found = check_pattern(m, (const char *)path.p, &r);
		buf_done(&path);
		if (is_found)
			*out = r;
		else
			ak_done(&r);
	}
	/* Without the old rights nothing can go on. */
	if (user_act_end(&saved) != OK)
		abort();
	return is_found ? OK : E_DENIED;
}

static err_t find_key(struct monitor *m, struct ak_result *out)
{
	err_t e = find_in_files(m, out);
	if (e != OK && key_cert(m->key.k) != NULL)
		e = mon_cert_trusted(m, out);
	if (e != OK)
		e = check_command(m, out);
	return e;
}

/* ---- requests ---- */
static bool is_too_short(const struct monitor *m, const struct key *k)
{
	if (key_type_of(k) != KEY_RSA || key_bits(k) >= m->conf.required_rsa_size)
		return false;
	log_put(LOG_L_INFO, "refusing RSA key of %u bits: RequiredRSASize is %u", key_bits(k),
		m->conf.required_rsa_size);
	return true;
}

/* Is the key of a kind that may be used at all? */
static err_t take_key(struct monitor *m, const struct ps_req_key_allowed *req)
{
	struct mon_key *key = &m->key;
	TRY(key_parse_any(&key->k, req->blob));
	TRY(mon_cert_describe(m, key->k, &key->shown));
	buf_put(&key->alg, req->alg.p, req->alg.n);
	buf_put(&key->blob, req->blob.p, req->blob.n);
	TRY(buf_err(&key->alg));
	TRY(buf_err(&key->blob));
	if (!m->conf.pubkey_auth || !list_has(cslice_str(m->conf.pubkey_algorithms), req->alg) ||
		!key_alg_fits_key(key->k, req->alg)) {
		log_put(LOG_L_INFO,
			"userauth_pubkey: key type %.*s not in PubkeyAcceptedAlgorithms",
			(int)num_min(req->alg.n, 64), (const char *)req->alg.p);
		return E_DENIED;
	}
	if (mon_methods_is_used(m, key->k)) {
		log_put(LOG_L_INFO, "refusing previously-used %s key", key_shown(key->k));
		return E_DENIED;
	}
	const struct cert *c = key_cert(key->k);
	if (is_too_short(m, key->k) || (c != NULL && is_too_short(m, c->ca)))
		return E_KEY_SIZE;
	return OK;
}

static const char *shown(struct mon_key *key)
{
	if (key->shown.n == 0)
		return NULL;
	buf_put_u8(&key->shown, 0);
	return buf_err(&key->shown) == OK ? (const char *)key->shown.p : NULL;
}

err_t mon_key_allowed(
	void *arg, const struct ps_req_key_allowed *req, struct ps_rep_key_allowed *rep)
{
	struct monitor *m = arg;
	mon_key_clear(&m->key);
	err_t e = take_key(m, req);
	if (e == OK)
		e = mon_key_not_revoked(m);
	if (e == OK)
		e = m->is_valid ? find_key(m, &m->key.permit) : E_DENIED;
	mon_log_try(m, e == OK ? "Postponed" : "Failed", "publickey", shown(&m->key));
	if (e != OK) {
		mon_key_clear(&m->key);
		return OK; /* an answer: no */
	}
	m->key.token = ++m->tokens;
	rep->ok = true;
	rep->token = m->key.token;
	return OK;
}

/* What a FIDO device must have asked of its owner before it signed. */
static err_t device_check(const struct monitor *m, const struct key_sig_info *info)
{
	const struct ak_result *permit = &m->key.permit;
	const char *missing = NULL;
	unsigned demanded = m->conf.pubkey_auth_options;
	bool needs_touch = !permit->no_touch_required || (demanded & CFG_PUBKEY_TOUCH) != 0;
	bool needs_pin = permit->verify_required || (demanded & CFG_PUBKEY_VERIFY) != 0;
	if (!info->is_device)
		return OK;
	if (!info->has_touch && needs_touch)
		missing = "user presence (authenticator touch)";
	else if (!info->has_pin && needs_pin)
		missing = "user verification";
	if (missing == NULL)
		return OK;
	log_put(LOG_L_ERROR,
		"public key %.*s signature for %s from %.128s port %u rejected: %s requirement not "
		"met",
		(int)m->key.shown.n, (const char *)m->key.shown.p, m->name, m->ends.remote,
		m->ends.remote_port, missing);
	return E_DENIED;
}

static err_t verify(const struct monitor *m, const struct ps_req_key_verify *req)
{
	struct key_sig_info info;
	const struct mon_key *key = &m->key;
	struct cslice hostkey = {NULL, 0};
	struct buf tbs;
	if (key->token == 0 || key->token != req->token || key->permit.verdict != AK_ALLOW)
		return E_DENIED;
	if (req->is_hostbound)
		hostkey = buf_bytes(&m->setup->keys.v[m->signed_index].blob);
	buf_init(&tbs, TBS_MAX);
	err_t e = au_pubkey_tbs(cslice_of(m->session_id, m->session_id_n), cslice_str(m->asked),
		cslice_str(m->service), buf_bytes(&key->alg), buf_bytes(&key->blob), hostkey, &tbs);
	if (e == OK)
		e = key_verify_info(key->k, key_alg_sig(buf_bytes(&key->alg), NULL),
			buf_bytes(&tbs), req->sig, &info);
	if (e == OK)
		e = device_check(m, &info);
	buf_done(&tbs);
	return e;
}

/* The signature is good.  What the key's options say holds before it counts. */
static err_t enter(struct monitor *m, struct cslice *left)
{
	TRY(mon_may_enter(m, "publickey", &m->key.permit));
	if (!mon_methods_wants(m, "publickey"))
		return E_DENIED;
	if (mon_methods_use(m, m->key.k) != OK || mon_grant(m, &m->key.permit) != OK)
		return E_DENIED;
	err_t e = mon_methods_passed(m, "publickey", left);
	if (e == OK || e == E_PARTIAL)
		mon_info_add(&m->info, "publickey", buf_bytes(&m->key.blob));
	return e;
}

err_t mon_key_verify(void *arg, const struct ps_req_key_verify *req, struct ps_rep_key_verify *rep)
{
	struct monitor *m = arg;
	err_t e = verify(m, req) == OK ? enter(m, &rep->left) : E_DENIED;
	mon_log_try(m, mon_verdict_word(e), "publickey", shown(&m->key));
	if (e == OK)
		m->method = "publickey";
	else
		mon_key_clear(&m->key);
	return e;
}
