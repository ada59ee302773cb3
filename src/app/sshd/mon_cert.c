/* SPDX-License-Identifier: ISC */
/*
 * mon_cert - certificates of users: is their authority trusted for everybody (TrustedUserCAKeys),
 * and may this user be entered with them (AuthorizedPrincipalsFile, AuthorizedPrincipalsCommand)?
 *
 * Authorities of one user stand in his authorized_keys: mon_key.c.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "app/sshd/files.h"
#include "app/sshd/monitor.h"
#include "key/cert.h"

#define CA_FILE_MAX   ((size_t)16 << 20)
#define LIST_FILE_MAX (((size_t)16 << 20) + 65536)
#define ID_MAX        1024

/* ---- words for the log ---- */
static err_t put_key(
	const struct monitor *m, const struct key *k, const char *name, struct buf *out)
{
	buf_printf(out, "%s ", name);
	return key_fingerprint(k, (enum hash_id)mon_conf(m)->fingerprint_hash, out);
}

err_t mon_cert_describe(const struct monitor *m, const struct key *k, struct buf *out)
{
	const struct cert *c = key_cert(k);
	TRY(put_key(m, k, key_shown(k), out));
	if (c == NULL)
		return buf_err(out);
	buf_printf(out, " ID ");
	vis_put(out, cslice_of(c->key_id.p, num_min(c->key_id.n, ID_MAX)));
	buf_printf(out, " (serial %llu) CA ", (unsigned long long)c->serial);
	TRY(put_key(m, c->ca, key_type_shown(key_type_of(c->ca)), out));
	return buf_err(out);
}

/* One sentence about the certificate: what became of it, and why or by what. */
static void log_cert(const struct monitor *m, bool is_taken, const char *end)
{
	const struct cert *c = key_cert(m->key.k);
	unsigned long long serial = c->serial;
	struct buf line;
	buf_init(&line, 16384);
	buf_printf(&line, "%s certificate ID \"", is_taken ? "Accepted" : "Refusing");
	vis_put(&line, cslice_of(c->key_id.p, num_min(c->key_id.n, ID_MAX)));
	if (is_taken)
		buf_printf(&line, "\" (serial %llu)", serial);
	else
		buf_printf(&line, "\" serial=%llu", serial);
	buf_printf(&line, " signed by %s CA ", key_type_shown(key_type_of(c->ca)));
	if (key_fingerprint(c->ca, (enum hash_id)mon_conf(m)->fingerprint_hash, &line) == OK &&
		buf_err(&line) == OK)
		log_put(is_taken ? LOG_L_VERBOSE : LOG_L_ERROR, "%.*s%s", (int)line.n,
			(const char *)line.p, end);
	buf_done(&line);
}

void mon_cert_refused(const struct monitor *m, const char *reason)
{
	char end[256];
	(void)snprintf(end, sizeof(end), ": %s", reason);
	log_cert(m, false, end);
}

void mon_cert_accepted(const struct monitor *m, const char *where)
{
	log_cert(m, true, where);
}

/* ---- the authority ---- */
static bool is_ca_trusted(const struct monitor *m, const struct cert *c)
{
	const char *path = m->conf.trusted_user_ca_keys;
	struct buf text;
	if (path == NULL || strcasecmp(path, "none") == 0)
		return false;
	buf_init(&text, LIST_FILE_MAX);
	err_t e = file_read(path, CA_FILE_MAX, &text);
	if (e != OK)
		log_put(LOG_L_ERROR, "TrustedUserCAKeys %s: %s", path,
			errno != 0 ? strerror(errno) : err_text(e));
	bool is_there = e == OK && ak_lists_key(buf_bytes(&text), c->ca);
	if (e == OK && !is_there)
		log_debug1("the certificate's authority is not listed in %s", path);
	buf_done(&text);
	return is_there;
}

/* ---- the user ---- */
static bool has_principals_command(const struct monitor *m)
{
	return m->conf.authorized_principals_command != NULL;
}

static bool has_principals_file(const struct monitor *m)
{
	const char *pattern = m->conf.authorized_principals_file;
	return pattern != NULL && strcasecmp(pattern, "none") != 0;
}

static void check_principals(
	struct monitor *m, const char *path, struct cslice text, struct ak_result *out)
{
	struct mon_looking looking = {m, path};
	struct ak_query q = mon_key_query(&looking);
	if (ak_check_principals(text, &q, out) != OK)
		*out = (struct ak_result){.verdict = AK_DENY};
}

/* With the user's rights.  AK_DENY in out: his file names none of the principals. */
static void find_in_file(struct monitor *m, struct ak_result *out)
{
	struct user_saved saved;
	struct buf path, text;
	if (user_act_begin(&m->user, &saved) != OK)
		return;
	buf_init(&path, PATH_MAX);
	buf_init(&text, LIST_FILE_MAX);
	if (mon_key_path(m, m->conf.authorized_principals_file, &path) == OK) {
		const char *name = (const char *)path.p;
		log_debug1("trying authorized principals file %s", name);
		if (mon_key_file(m, name, "authorized principals", &text) == OK)
			check_principals(m, name, buf_bytes(&text), out);
	}
	buf_done(&text);
	buf_done(&path);
	/* Without the old rights nothing can go on. */
	if (user_act_end(&saved) != OK)
		abort();
}

static void find_by_command(struct monitor *m, struct ak_result *out)
{
	struct buf text;
	const struct mon_command c = {.keyword = "AuthorizedPrincipalsCommand",
		.line = m->conf.authorized_principals_command,
		.user = m->conf.authorized_principals_command_user,
		.output_max = CA_FILE_MAX};
	buf_init(&text, LIST_FILE_MAX);
	if (mon_command(m, &c, &text) == OK)
		check_principals(m, "(command)", buf_bytes(&text), out);
	buf_done(&text);
}

/* AK_DENY: neither his file nor the command names one of the principals. */
static struct ak_result find_principal(struct monitor *m)
{
	struct ak_result r = {.verdict = AK_DENY};
	if (has_principals_file(m))
		find_in_file(m, &r);
	if (r.verdict != AK_ALLOW && has_principals_command(m)) {
		ak_done(&r);
		r = (struct ak_result){.verdict = AK_DENY};
		find_by_command(m, &r);
	}
	return r;
}

static bool has_principals(const struct monitor *m)
{
	return has_principals_file(m) || has_principals_command(m);
}

/* Of the authority the trust is known; r: what the user's own line allows, or all. */
static err_t judge(const struct monitor *m, struct ak_result *r, const char **reason)
{
	struct cert_permit permit;
	struct cert_query q = {.kind = CERT_USER,
		.now_s = os_wall_s(),
		.name = has_principals(m) ? NULL : m->user.name,
		.ca_algs = m->conf.ca_sign_algorithms,
		.reason = reason};
	TRY(cert_check(m->key.k, &q, &permit));
	err_t e = ak_merge_cert(r, &permit, m->ends.is_socket ? m->ends.remote : NULL, reason);
	cert_permit_done(&permit);
	return e;
}

err_t mon_cert_trusted(struct monitor *m, struct ak_result *out)
{
	const char *reason = "Certificate does not contain an authorized principal";
	struct ak_result r = {.verdict = AK_ALLOW,
		.permit = {true, true, true, true, true},
		.no_touch_required = true};
	if (!is_ca_trusted(m, key_cert(m->key.k)))
		return E_DENIED;
	if (has_principals(m))
		r = find_principal(m);
	err_t e = r.verdict == AK_ALLOW ? judge(m, &r, &reason) : E_DENIED;
	if (e != OK) {
		ak_done(&r);
		mon_cert_refused(m, reason);
		return E_DENIED;
	}
	char where[PATH_MAX];
	(void)snprintf(where, sizeof(where), " via %s", m->conf.trusted_user_ca_keys);
	mon_cert_accepted(m, where);
	*out = r;
	return OK;
}
