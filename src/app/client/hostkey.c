/* SPDX-License-Identifier: ISC */
/*
 * hostkey - is this the host's key?
 *
 * The verdict comes from key/known_hosts; here are the files, the question, and the words.  Every
 * way but the ones that return OK is a no.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "app/client/client.h"
#include "key/cert.h"
#include "os/file.h"
#include "os/random.h"

#define KNOWN_MAX ((size_t)64 << 20)

struct lookup {
	struct ssh *s;
	const struct key *key;
	struct kh_found found;
	char *file; /* of the deciding line, owned */
	bool is_user_file;
	uint32_t types;
	bool has_ca;
};

typedef err_t file_fn(struct lookup *l, const struct known_file *f);

/* ---- the files ----------------------------------------------------------------------------------
 */
static err_t read_file(struct ssh *s, const char *value, bool is_user)
{
	struct known_file *f = &s->known[s->known_n];
	if (value_is_none(value) || s->known_n == ARRAY_N(s->known))
		return OK;
	if (is_user)
		TRY(setup_expand(s, value, TOKENS_ALL, &f->path));
	else if ((f->path = strdup(value)) == NULL)
		return E_MEM;
	s->known_n++;
	f->is_user = is_user;
	buf_init(&f->text, KNOWN_MAX);
	struct os_file info;
	err_t e = os_file_read(f->path, &f->text, &info);
	if (e == OK || e == E_NOT_FOUND || e == E_PERMISSION)
		return OK; /* what is not there knows nothing */
	ssh_say(LOG_L_ERROR, "known hosts file %s cannot be read: %s", f->path,
		info.why != 0 ? strerror(info.why) : err_text(e));
	return info.why == EISDIR ? OK : e;
}

/* Once a run: the order of the proposal and the verdict look at the same text. */
static err_t read_files(struct ssh *s)
{
	const struct client_config *c = &s->cfg;
	if (s->known_n > 0)
		return OK;
	for (size_t i = 0; i < c->user_known_hosts.n; i++)
		TRY(read_file(s, c->user_known_hosts.v[i], true));
	for (size_t i = 0; i < c->global_known_hosts.n; i++)
		TRY(read_file(s, c->global_known_hosts.v[i], false));
	return OK;
}

void hostkey_done(struct ssh *s)
{
	for (size_t i = 0; i < s->known_n; i++) {
		free(s->known[i].path);
		buf_done(&s->known[i].text);
	}
	s->known_n = 0;
}

static err_t each_file(struct lookup *l, file_fn *fn)
{
	TRY(read_files(l->s));
	for (size_t i = 0; i < l->s->known_n; i++)
		TRY(fn(l, &l->s->known[i]));
	return OK;
}

static err_t check_file(struct lookup *l, const struct known_file *f)
{
	struct cslice text = buf_bytes(&f->text);
	struct kh_found one = {.verdict = KH_NEW}, before = l->found;
	if (key_cert(l->key) != NULL)
		TRY(kh_check_ca(text, l->s->known_name, l->s->known_port, l->key, &one));
	else
		TRY(kh_check(text, l->s->known_name, l->s->known_port, l->key, &one));
	kh_merge(&l->found, &one);
	if (l->found.verdict != before.verdict) {
		free(l->file);
		l->is_user_file = f->is_user;
		l->file = strdup(f->path);
		if (l->file == NULL)
			return E_MEM;
	}
	return OK;
}

static err_t types_file(struct lookup *l, const struct known_file *f)
{
	struct cslice text = buf_bytes(&f->text);
	uint32_t types = 0;
	TRY(kh_types(text, l->s->known_name, l->s->known_port, &types));
	l->types |= types;
	bool has_ca = false;
	TRY(kh_has_ca(text, l->s->known_name, l->s->known_port, &has_ca));
	l->has_ca |= has_ca;
	return OK;
}

/* ---- the order of the proposal ------------------------------------------------------------------
 */
/* Those of certificates where an authority is known for the host, and those of keys that are known:
 * these first, all in the order of the list. */
static void put_names(const struct lookup *l, struct cslice list, bool is_first, struct buf *out)
{
	struct cslice name;
	while (list_next(&list, &name)) {
		const struct alg_hostkey *row = alg_hostkey_find(name);
		bool is_known = row != NULL && (l->types & (uint32_t)1 << row->type) != 0;
		bool is_cert = row != NULL && (row->flags & AF_CERT) != 0;
		if ((is_known || (is_cert && l->has_ca)) != is_first)
			continue;
		if (out->n > 0)
			buf_put_u8(out, ',');
		buf_put(out, name.p, name.n);
	}
}

err_t hostkey_order(struct ssh *s, struct buf *out)
{
	struct lookup l = {.s = s};
	struct cslice list = cslice_str(s->cfg.hostkey_algorithms);
	if (!s->cfg.hostkey_algs_set)
		TRY(each_file(&l, types_file));
	put_names(&l, list, true, out);
	put_names(&l, list, false, out);
	buf_put_u8(out, 0);
	return buf_err(out);
}

/* ---- words --------------------------------------------------------------------------------------
 */
static err_t fingerprint_of(const struct lookup *l, struct buf *out)
{
	TRY(key_fingerprint(l->key, (enum hash_id)l->s->cfg.fingerprint_hash, out));
	buf_put_u8(out, 0);
	return buf_err(out);
}

static const char *shown_type(const struct lookup *l)
{
	return key_shown(l->key);
}

static const char *known_shown(const struct lookup *l)
{
	return (const char *)l->s->known_shown.p;
}

static void box(const char *title)
{
	static const char bar[] = "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@";
	ssh_say(LOG_L_ERROR, "%s", bar);
	ssh_say(LOG_L_ERROR, "@ %*s%-*s @", (int)(55 - strlen(title)) / 2, "",
		55 - (int)(55 - strlen(title)) / 2, title);
	ssh_say(LOG_L_ERROR, "%s", bar);
}

static void say_changed(const struct lookup *l, const char *fingerprint)
{
	box("WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!");
	ssh_say(LOG_L_ERROR,
		"Either the host was set up anew, or someone stands between you and it "
		"and reads along.");
	ssh_say(LOG_L_ERROR, "The fingerprint for the %s key sent by the remote host is",
		shown_type(l));
	ssh_say(LOG_L_ERROR, "%s.", fingerprint);
	ssh_say(LOG_L_ERROR, "Ask the host's administrator which key is right before you go on.");
	ssh_say(LOG_L_ERROR, "Offending %s key in %s:%u", key_type_shown(l->found.type),
		l->file != NULL ? l->file : "?", l->found.line);
	ssh_say(LOG_L_ERROR, "  remove with: ssh-keygen -f '%s' -R '%s'",
		l->file != NULL ? l->file : "?", known_shown(l));
}

static void say_revoked(const struct lookup *l, const char *fingerprint)
{
	box("WARNING: REVOKED HOST KEY DETECTED!");
	ssh_say(LOG_L_ERROR, "The %s host key for %s is marked as revoked.", shown_type(l),
		known_shown(l));
	ssh_say(LOG_L_ERROR, "%s is its fingerprint; the line is %s:%u.", fingerprint,
		l->file != NULL ? l->file : "?", l->found.line);
	ssh_say(LOG_L_ERROR,
		"Who holds this key may pose as the host: let its administrator give it a new one, "
		"or take the line out if it is wrong.");
}

/* ---- learning -----------------------------------------------------------------------------------
 */
/* The user's own ~/.ssh is made for a file in it; no other directory is ours to make. */
static void make_own_dir(const struct ssh *s, const char *path)
{
	struct buf dir;
	buf_init(&dir, 65536);
	buf_printf(&dir, "%s/.ssh/", s->me.home);
	size_t n = dir.n;
	buf_put_u8(&dir, 0);
	if (buf_err(&dir) == OK && strncmp(path, (const char *)dir.p, n) == 0) {
		dir.p[n - 1] = '\0';
		if (os_dir_make((const char *)dir.p, 0700) != OK)
			log_debug1("Could not create directory '%s'", (const char *)dir.p);
	}
	buf_done(&dir);
}

static void say_not_learned(const char *path, err_t e, int why)
{
	ssh_say(LOG_L_INFO, "Failed to add the host to the list of known hosts (%s).", path);
	ssh_say(LOG_L_INFO, "%s: %s", path, why != 0 ? strerror(why) : err_text(e));
}

/* What has been read before knows it too. */
static void remember(struct ssh *s, const char *path, struct cslice line)
{
	struct buf *text = &s->known[0].text;
	if (s->known_n == 0 || strcmp(s->known[0].path, path) != 0)
		return;
	if (text->n > 0 && text->p[text->n - 1] != '\n')
		buf_put_u8(text, '\n');
	buf_put(text, line.p, line.n);
}

static void learn(struct lookup *l, bool is_confirmed)
{
	struct ssh *s = l->s;
	char *path = NULL;
	struct buf line;
	int why = 0;
	if (s->cfg.user_known_hosts.n == 0 || value_is_none(s->cfg.user_known_hosts.v[0]) ||
		setup_expand(s, s->cfg.user_known_hosts.v[0], TOKENS_ALL, &path) != OK)
		return;
	buf_init(&line, 1 << 20);
	struct rng *salt = s->cfg.hash_known_hosts ? os_rng() : NULL;
	err_t e = kh_line(s->known_name, s->known_port, l->key, salt, &line);
	if (e == OK) {
		make_own_dir(s, path);
		e = os_file_append(path, buf_bytes(&line), 0600, &why);
	}
	if (e == OK) {
		ssh_say(LOG_L_INFO,
			"Warning: Permanently added '%s' (%s) to the list of known hosts.",
			known_shown(l), shown_type(l));
		remember(s, path, buf_bytes(&line));
		if (is_confirmed)
			update_trust(s, l->key);
	} else {
		say_not_learned(path, e, why);
	}
	buf_done(&line);
	free(path);
}

/* ---- the question -------------------------------------------------------------------------------
 */
static void put_art(const struct lookup *l, struct buf *out)
{
	if (l->s->cfg.visual_host_key &&
		key_randomart(l->key, (enum hash_id)l->s->cfg.fingerprint_hash, out) != OK)
		log_debug1("no picture of the key");
}

/* The same key under other names: a host that has moved, or an alias. */
#define OTHER_NAMES_SHOWN 8
static void put_other_names(const struct lookup *l, struct buf *out)
{
	size_t n = 0;
	for (size_t i = 0; i < l->s->known_n; i++) {
		const struct known_file *f = &l->s->known[i];
		struct cslice rest = buf_bytes(&f->text);
		struct kh_entry entry = {0};
		while (kh_next(&rest, &entry)) {
			struct key *k = NULL;
			if (entry.kind != KH_LINE_KEY || entry.marker != KH_MARK_NONE ||
				key_parse_public_line(&k, entry.key, NULL) != OK)
				continue;
			bool is_same = key_equal_public(k, l->key);
			key_free(k);
			if (!is_same || ++n > OTHER_NAMES_SHOWN)
				continue;
			if (n == 1)
				buf_printf(out, "This host key is known by the following other "
						"names/addresses:\n");
			buf_printf(out, "    %s:%u: ", f->path, entry.line);
			if (kh_is_hashed(entry.hosts))
				buf_printf(out, "[hashed name]");
			else
				vis_put(out, entry.hosts);
			buf_printf(out, "\n");
		}
	}
	if (n == 0)
		buf_printf(out, "This key is not known by any other names.\n");
	else if (n > OTHER_NAMES_SHOWN)
		buf_printf(out, "    (%zu additional names omitted)\n", n - OTHER_NAMES_SHOWN);
}

/* OK: the user said yes, or typed the fingerprint. */
static err_t ask_new(struct lookup *l, const char *fingerprint)
{
	struct ssh *s = l->s;
	struct buf question, answer, where;
	buf_init(&question, 65536);
	buf_init(&answer, 65536);
	buf_init(&where, 1024);
	if (s->is_proxied)
		buf_printf(&where, "<no hostip for proxy command>");
	else
		kh_name(s->ends.peer, s->known_port, &where);
	buf_put_u8(&where, 0);
	buf_printf(&question,
		"The authenticity of host '%s (%s)' can't be established.\n%s key fingerprint is "
		"%s.\n",
		known_shown(l), (const char *)where.p, shown_type(l), fingerprint);
	put_art(l, &question);
	put_other_names(l, &question);
	buf_printf(
		&question, "Are you sure you want to continue connecting (yes/no/[fingerprint])? ");
	err_t e = buf_err(&where) == OK ? buf_err(&question) : buf_err(&where);
	bool is_yes = false, is_no = false;
	for (int i = 0; e == OK && !is_yes && !is_no && i < 20; i++) {
		if (i > 0) {
			buf_clear(&question);
			buf_printf(&question, "Please type 'yes', 'no' or the fingerprint: ");
		}
		buf_put_u8(&question, 0);
		buf_clear(&answer);
		e = ask(s, ASK_ECHOED, (const char *)question.p, &answer);
		buf_put_u8(&answer, 0);
		const char *text =
			e == OK && buf_err(&answer) == OK ? (const char *)answer.p : "no";
		is_yes = strcasecmp(text, "yes") == 0 || strcmp(text, fingerprint) == 0;
		is_no = strcasecmp(text, "no") == 0 || text[0] == '\0';
	}
	buf_done(&question);
	buf_done(&answer);
	buf_done(&where);
	return e == OK && is_yes ? OK : E_HOSTKEY;
}

/* How the key gets known when nobody may be asked. */
static void say_how_to_know(const struct lookup *l, const char *fingerprint)
{
	const struct ssh *s = l->s;
	struct buf files;
	buf_init(&files, 65536);
	for (size_t i = 0; i < s->known_n; i++)
		buf_printf(&files, "%s%s", i > 0 ? ", " : "", s->known[i].path);
	if (buf_err(&files) == OK && files.n > 0)
		ssh_say(LOG_L_ERROR, "No line for %s in %.*s.", known_shown(l), (int)files.n,
			(const char *)files.p);
	ssh_say(LOG_L_ERROR,
		"If the host's key is %s, connect once with StrictHostKeyChecking=accept-new to "
		"learn it.",
		fingerprint);
	buf_done(&files);
}

static err_t on_new(struct lookup *l, const char *fingerprint)
{
	int strict = l->s->cfg.strict_host_key;
	if (strict == CFG_STRICT_YES) {
		ssh_say(LOG_L_ERROR,
			"No %s host key is known for %s and you have requested strict checking.",
			shown_type(l), known_shown(l));
		say_how_to_know(l, fingerprint);
		return E_HOSTKEY;
	}
	if (strict == CFG_STRICT_ASK && l->s->cfg.batch_mode) {
		ssh_say(LOG_L_ERROR,
			"No %s host key is known for %s, and BatchMode is on: nobody can be asked.",
			shown_type(l), known_shown(l));
		say_how_to_know(l, fingerprint);
		return E_HOSTKEY;
	}
	if (strict == CFG_STRICT_ASK)
		TRY(ask_new(l, fingerprint));
	learn(l, strict == CFG_STRICT_ASK);
	return OK;
}

static err_t on_changed(struct lookup *l, const char *fingerprint)
{
	say_changed(l, fingerprint);
	if (l->s->cfg.strict_host_key != CFG_STRICT_NO) {
		ssh_say(LOG_L_ERROR,
			"Host key for %s has changed and you have requested strict checking.",
			known_shown(l));
		return E_HOSTKEY;
	}
	/* Going on with an unknown key: nothing that could be read or replayed is given to it. */
	ssh_say(LOG_L_ERROR,
		"Password authentication is disabled to avoid man-in-the-middle attacks.");
	ssh_say(LOG_L_ERROR,
		"Keyboard-interactive authentication is disabled to avoid man-in-the-middle "
		"attacks.");
	if (forward_agent_is_wanted(l->s))
		ssh_say(LOG_L_ERROR,
			"Agent forwarding is disabled to avoid man-in-the-middle attacks.");
	if (l->s->cfg.update_host_keys != CFG_UPDATE_NO)
		ssh_say(LOG_L_ERROR,
			"UpdateHostkeys is disabled because the host key is not trusted.");
	l->s->cfg.password_auth = l->s->cfg.kbdint_auth = false;
	l->s->is_key_changed = true;
	return OK;
}

static bool is_local(const struct ssh *s)
{
	return !s->is_proxied &&
	       (strncmp(s->ends.peer, "127.", 4) == 0 || strcmp(s->ends.peer, "::1") == 0);
}

static err_t judge(struct lookup *l)
{
	struct buf fingerprint;
	buf_init(&fingerprint, 4096);
	err_t e = fingerprint_of(l, &fingerprint);
	const char *text = (const char *)fingerprint.p;
	if (e == OK)
		log_debug1("Server host key: %s %s", key_name(l->key), text);
	if (e == OK && l->s->cfg.no_host_auth_localhost && is_local(l->s)) {
		log_debug1("Forcing accepting of host key for loopback/localhost.");
		buf_done(&fingerprint);
		return OK;
	}
	if (e == OK)
		e = each_file(l, check_file);
	if (e != OK) {
		buf_done(&fingerprint);
		return e;
	}
	switch (l->found.verdict) {
	case KH_OK:
		log_debug1("Host '%s' is known and matches the %s host key.", known_shown(l),
			shown_type(l));
		log_debug1("Found key in %s:%u", l->file != NULL ? l->file : "?", l->found.line);
		if (l->is_user_file)
			update_trust(l->s, l->key);
		break;
	case KH_NEW:
		e = on_new(l, text);
		break;
	case KH_OTHER: /* as OpenSSH: else whoever stands between picks a type that is not known */
	case KH_CHANGED:
		e = on_changed(l, text);
		break;
	case KH_REVOKED:
		say_revoked(l, text);
		e = E_HOSTKEY;
		break;
	default:
		e = E_HOSTKEY;
	}
	buf_done(&fingerprint);
	return e;
}

/* ---- certificates -------------------------------------------------------------------------------
 */
static void say_revoked_ca(const struct lookup *l)
{
	struct buf fp;
	buf_init(&fp, 4096);
	if (key_fingerprint(l->key, (enum hash_id)l->s->cfg.fingerprint_hash, &fp) == OK) {
		buf_put_u8(&fp, 0);
		if (buf_err(&fp) == OK)
			say_revoked(l, (const char *)fp.p);
	}
	buf_done(&fp);
}

/* OK: an authority of this host has signed it, and it holds for the host's name now.  E_NOT_FOUND:
 * no authority speaks for it, so its plain key is what counts.  E_HOSTKEY: revoked. */
static err_t judge_cert(struct lookup *l)
{
	struct ssh *s = l->s;
	const char *reason = "Certificate invalid";
	const struct cert_query q = {.kind = CERT_HOST,
		.now_s = os_wall_s(),
		.name = s->known_name,
		.ca_algs = s->cfg.ca_sign_algorithms,
		.reason = &reason};
	const struct cert *c = key_cert(l->key);
	log_debug1("Server host certificate: %s, serial %llu CA %s", key_name(l->key),
		(unsigned long long)c->serial, key_type_shown(key_type_of(c->ca)));
	TRY(each_file(l, check_file));
	if (l->found.verdict == KH_REVOKED) {
		say_revoked_ca(l);
		return E_HOSTKEY;
	}
	if (l->found.verdict != KH_OK) {
		log_debug1("No matching CA found. Retry with plain key");
		return E_NOT_FOUND;
	}
	log_debug1("Found CA key in %s:%u", l->file != NULL ? l->file : "?", l->found.line);
	if (key_type_of(c->ca) == KEY_RSA && key_bits(c->ca) < s->cfg.required_rsa_size) {
		ssh_say(LOG_L_ERROR,
			"Host certificate of an authority with a key of %u bits, which is too "
			"short (RequiredRSASize %u)",
			key_bits(c->ca), s->cfg.required_rsa_size);
		return E_NOT_FOUND;
	}
	err_t e = cert_check(l->key, &q, NULL);
	if (e == E_DENIED) {
		ssh_say(LOG_L_ERROR, "%s", reason);
		return E_NOT_FOUND;
	}
	if (e == OK)
		log_debug1("Host '%s' is known and matches the %s host certificate.",
			known_shown(l), key_shown(l->key));
	return e;
}

/* A certificate first as such; where no authority speaks for it, it is as good as its plain key. */
static err_t judge_any(struct ssh *s, struct key *key)
{
	err_t e = E_NOT_FOUND;
	update_distrust(s);
	if (key_cert(key) != NULL) {
		struct lookup l = {.s = s, .key = key};
		if (s->cfg.no_host_auth_localhost && is_local(s))
			return OK;
		e = judge_cert(&l);
		free(l.file);
		if (e == E_NOT_FOUND)
			key_drop_cert(key);
	}
	if (e != E_NOT_FOUND)
		return e;
	struct lookup l = {.s = s, .key = key};
	e = judge(&l);
	free(l.file);
	return e;
}

err_t hostkey_check(struct ssh *s, const struct tp_event *e)
{
	struct key *key = NULL;
	struct cslice blob = cslice_of(e->body.p, e->body.n);
	if (s->accepted.n > 0 && cslice_eq(blob, buf_bytes(&s->accepted)))
		return OK; /* in this run, by the rest of this function */
	TRY(key_parse_any(&key, blob));
	err_t verdict = E_HOSTKEY;
	if (key_type_of(key) == KEY_RSA && key_bits(key) < s->cfg.required_rsa_size) {
		ssh_say(LOG_L_ERROR, "Server host key of %u bits is too short (RequiredRSASize %u)",
			key_bits(key), s->cfg.required_rsa_size);
	} else if (hostkey_not_revoked(s, key) == OK) {
		verdict = judge_any(s, key);
	}
	key_free(key);
	if (verdict == OK) {
		buf_clear(&s->accepted);
		buf_put(&s->accepted, blob.p, blob.n);
	}
	return verdict;
}
