/* SPDX-License-Identifier: ISC */
/*
 * update - UpdateHostKeys: the offer, the proofs, the words, the files
 *
 * What the peer gets wrong ends the update, never the session.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/client/client.h"
#include "app/common/keyfile.h"
#include "key/cert.h"
#include "os/file.h"
#include "os/random.h"
#include "wire/codec.h"

#define TELL        "hostkeys-00@openssh.com"
#define PROVE       "hostkeys-prove-00@openssh.com"
#define OFFER_ROOM  ((size_t)256 * 1024)
#define FILE_ROOM   ((size_t)64 << 20)
#define ANSWERS_MAX 3

/* ---- whose word counts ------------------------------------------------------------------------
 */
void update_trust(struct ssh *s, const struct key *k)
{
	struct buf *own = &s->update.own;
	buf_done(own);
	buf_init(own, OFFER_ROOM);
	if (key_blob(k, own) != OK)
		buf_clear(own);
}

void update_distrust(struct ssh *s)
{
	buf_done(&s->update.own);
}

static bool may_update(const struct ssh *s)
{
	const struct client_config *c = &s->cfg;
	if (c->update_host_keys == CFG_UPDATE_NO || c->user_known_hosts.n == 0 ||
		value_is_none(c->user_known_hosts.v[0]))
		return false;
	if (s->update.own.n == 0)
		log_debug1("hostkey not known or explicitly trusted: UpdateHostKeys has no effect");
	return s->update.own.n > 0 && !(c->update_host_keys == CFG_UPDATE_ASK && c->batch_mode);
}

/* ---- the offer --------------------------------------------------------------------------------
 */
static bool is_accepted_type(const struct ssh *s, const struct key *k)
{
	struct cslice list = cslice_str(s->cfg.hostkey_algorithms), name;
	while (list_next(&list, &name))
		if (key_alg_fits(key_type_of(k), name))
			return true;
	return false;
}

/* A key that a login would take; and with no other bytes than ours, which are what is compared. */
static bool is_usable(const struct ssh *s, struct cslice blob)
{
	struct key *k = NULL;
	struct buf again;
	if (key_parse_blob(&k, blob) != OK)
		return false;
	buf_init(&again, OFFER_ROOM);
	bool is_fine = key_blob(k, &again) == OK && cslice_eq(buf_bytes(&again), blob) &&
		       is_accepted_type(s, k) &&
		       (key_type_of(k) != KEY_RSA || key_bits(k) >= s->cfg.required_rsa_size);
	buf_done(&again);
	key_free(k);
	return is_fine;
}

static bool is_offered(const struct host_update *u, struct cslice blob)
{
	for (size_t i = 0; i < u->n; i++)
		if (cslice_eq(u->blobs[i], blob))
			return true;
	return false;
}

/* False: nothing is to be learned from this one. */
static bool take_offer(struct ssh *s, struct cslice body)
{
	struct host_update *u = &s->update;
	buf_init(&u->offer, OFFER_ROOM);
	buf_put(&u->offer, body.p, body.n);
	if (buf_err(&u->offer) != OK)
		return false;
	struct rd r = rd_of(buf_bytes(&u->offer));
	while (r.n > 0 && !r.bad) {
		struct cslice blob = rd_str(&r);
		if (r.bad || !is_usable(s, blob))
			continue;
		if (is_offered(u, blob)) {
			ssh_say(LOG_L_ERROR, "%s sends the same host key twice: %s", s->host,
				"its keys are not updated in known_hosts.");
			return false;
		}
		if (u->n == KH_OFFER_MAX) {
			log_debug1("the server has more than %d host keys", KH_OFFER_MAX);
			return false;
		}
		u->blobs[u->n++] = blob;
	}
	if (r.bad) {
		log_debug1("the server's list of host keys is malformed");
		return false;
	}
	/* A list without the key that was just used is no list of the host's keys. */
	return is_offered(u, buf_bytes(&u->own));
}

static struct kh_offer offer_of(const struct ssh *s)
{
	return (struct kh_offer){s->known_name, s->known_port, s->update.blobs, s->update.n};
}

/* ---- what the files say -----------------------------------------------------------------------
 */
static err_t survey(const struct ssh *s, struct kh_survey *sv, bool *is_elsewhere)
{
	struct kh_offer o = offer_of(s);
	for (size_t i = 0; i < s->known_n; i++)
		if (s->known[i].is_user)
			TRY(kh_survey(buf_bytes(&s->known[i].text), &o, sv));
	for (size_t i = 0; i < s->known_n && sv->old_n > 0; i++)
		if (s->known[i].is_user)
			TRY(kh_old_elsewhere(buf_bytes(&s->known[i].text), &o, sv, is_elsewhere));
	return OK;
}

/* Nothing, or a way to leave things as they are: the reason as a debug word. */
static bool is_worth_it(const struct ssh *s, const struct kh_survey *sv, bool is_elsewhere)
{
	size_t new_n = 0;
	for (size_t i = 0; i < s->update.n; i++)
		new_n += !sv->is_known[i];
	log_debug1("%zu host keys of the server: %zu new, %zu to remove", s->update.n, new_n,
		sv->old_n);
	if (new_n + sv->old_n == 0)
		return false;
	if (sv->is_complex)
		log_debug1("CA/revocation marker, manual host list or wildcard host pattern found, "
			   "skipping UserKnownHostsFile update");
	else if (sv->is_elsewhere || is_elsewhere)
		log_debug1("host key found matching a different name/address, skipping "
			   "UserKnownHostsFile update");
	return !sv->is_complex && !sv->is_elsewhere && !is_elsewhere;
}

/* ---- the words --------------------------------------------------------------------------------
 */
static void say_key(const struct ssh *s, const char *what, struct cslice blob)
{
	struct key *k = NULL;
	struct buf text;
	bool is_asked = s->cfg.update_host_keys == CFG_UPDATE_ASK;
	if (key_parse_blob(&k, blob) != OK)
		return; /* was parsed before, so it is memory that lacks */
	buf_init(&text, 4096);
	if (key_fingerprint(k, (enum hash_id)s->cfg.fingerprint_hash, &text) == OK)
		ssh_say(is_asked ? LOG_L_INFO : LOG_L_VERBOSE, "%s: %s %.*s", what, key_shown(k),
			(int)text.n, (const char *)text.p);
	buf_done(&text);
	key_free(k);
}

static bool is_agreed(struct ssh *s)
{
	struct buf answer;
	bool is_yes = false, is_no = false;
	if (s->cfg.update_host_keys != CFG_UPDATE_ASK)
		return true;
	buf_init(&answer, 65536);
	for (int i = 0; !is_yes && !is_no && i < ANSWERS_MAX; i++) {
		if (i > 0)
			ssh_say(LOG_L_INFO, "Please enter \"yes\" or \"no\"");
		buf_clear(&answer);
		is_no = ask(s, ASK_ECHOED, "Accept updated hostkeys? (yes/no): ", &answer) != OK;
		is_yes = !is_no && ascii_eq_nocase(buf_bytes(&answer), "yes");
		is_no |= ascii_eq_nocase(buf_bytes(&answer), "no");
	}
	buf_done(&answer);
	return is_yes;
}

/* ---- the files --------------------------------------------------------------------------------
 */
static err_t add_lines(const struct ssh *s, const struct kh_survey *sv, struct buf *out)
{
	const struct host_update *u = &s->update;
	struct rng *salt = s->cfg.hash_known_hosts ? os_rng() : NULL;
	if (out->n > 0 && out->p[out->n - 1] != '\n')
		buf_put_u8(out, '\n');
	for (size_t i = 0; i < u->n; i++) {
		struct key *k = NULL;
		if (sv->is_known[i] || !u->is_new[i])
			continue;
		TRY(key_parse_blob(&k, u->blobs[i]));
		err_t e = kh_line(s->known_name, s->known_port, k, salt, out);
		key_free(k);
		TRY(e);
	}
	return buf_err(out);
}

/* The former text stays beside the new one. */
static void keep_old(const char *path)
{
	char *old = NULL;
	if (asprintf(&old, "%s.old", path) < 0)
		return;
	if ((unlink(old) < 0 && errno != ENOENT) || (link(path, old) < 0 && errno != ENOENT))
		log_debug1("%s is not made: %s", old, strerror(errno));
	free(old);
}

static err_t rewrite(const struct ssh *s, size_t file, const struct kh_survey *sv)
{
	const struct known_file *f = &s->known[file];
	struct kh_offer o = offer_of(s);
	struct stat st;
	struct buf out;
	size_t removed = 0;
	bool is_there = stat(f->path, &st) == 0;
	if (is_there && !S_ISREG(st.st_mode))
		return OK; /* a device keeps nothing */
	buf_init(&out, FILE_ROOM + OFFER_ROOM);
	err_t e = kh_without_old(buf_bytes(&f->text), &o, sv, &out, &removed);
	if (e == OK && file == 0) /* keys are only added to the first one */
		e = add_lines(s, sv, &out);
	if (e == OK && (removed > 0 || out.n != f->text.n)) {
		keep_old(f->path);
		e = keyfile_replace(
			f->path, buf_bytes(&out), is_there ? (uint32_t)st.st_mode & 0777 : 0600);
	}
	buf_done(&out);
	return e;
}

static err_t rewrite_all(struct ssh *s, const struct kh_survey *sv)
{
	for (size_t i = 0; i < s->known_n; i++) {
		err_t e = s->known[i].is_user ? rewrite(s, i, sv) : OK;
		if (e == OK)
			continue;
		ssh_say(LOG_L_ERROR, "The host keys of %s are not updated in %s: %s",
			(const char *)s->known_shown.p, s->known[i].path,
			e == E_IO ? strerror(errno) : err_text(e));
		return e;
	}
	return OK;
}

/* As the file is now: another program may have written in between. */
static err_t read_again(struct known_file *f)
{
	buf_clear(&f->text);
	err_t e = os_file_read(f->path, &f->text, NULL);
	return e == E_NOT_FOUND ? OK : e;
}

static void write_files(struct ssh *s)
{
	int locks[KNOWN_FILES_MAX];
	struct kh_survey *sv = calloc(1, sizeof(*sv));
	bool is_elsewhere = false;
	err_t e = sv != NULL ? OK : E_MEM;
	for (size_t i = 0; i < ARRAY_N(locks); i++)
		locks[i] =
			i < s->known_n && s->known[i].is_user ? os_file_lock(s->known[i].path) : -1;
	for (size_t i = 0; i < s->known_n && e == OK; i++)
		if (s->known[i].is_user)
			e = read_again(&s->known[i]);
	if (e == OK)
		e = survey(s, sv, &is_elsewhere);
	if (e == OK && is_worth_it(s, sv, is_elsewhere))
		e = rewrite_all(s, sv);
	if (e != OK)
		log_debug1("UpdateHostKeys: %s", err_text(e));
	for (size_t i = 0; i < ARRAY_N(locks); i++)
		if (locks[i] >= 0)
			close(locks[i]);
	if (sv != NULL)
		kh_survey_done(sv);
	free(sv);
}

/* What is new has been proved. */
static void update(struct ssh *s, const struct kh_survey *sv)
{
	const struct host_update *u = &s->update;
	for (size_t i = 0; i < u->n; i++)
		if (!sv->is_known[i])
			say_key(s, "Learned new hostkey", u->blobs[i]);
	for (size_t i = 0; i < sv->old_n; i++)
		say_key(s, "Deprecating obsolete hostkey", buf_bytes(&sv->old[i]));
	if (is_agreed(s))
		write_files(s);
}

/* ---- the proofs -------------------------------------------------------------------------------
 */
/* None of RevokedHostKeys has a new key: of those the reason is told. */
static bool is_fine_to_learn(struct ssh *s, struct cslice blob)
{
	struct key *k = NULL;
	bool is_fine = key_parse_blob(&k, blob) == OK && hostkey_not_revoked(s, k) == OK;
	key_free(k);
	return is_fine;
}

static err_t ask_for_proofs(struct ssh *s, const struct kh_survey *sv)
{
	struct host_update *u = &s->update;
	struct buf body;
	buf_init(&body, OFFER_ROOM);
	for (size_t i = 0; i < u->n; i++) {
		u->is_new[i] = !sv->is_known[i];
		if (!u->is_new[i])
			continue;
		if (!is_fine_to_learn(s, u->blobs[i])) {
			buf_done(&body);
			return E_DENIED;
		}
		buf_put_string(&body, u->blobs[i]);
	}
	err_t e = buf_err(&body);
	u->waits_for = u->asked;
	if (e == OK && body.n > 0)
		e = ssh_global(s, PROVE, buf_bytes(&body));
	u->is_waiting = e == OK && body.n > 0;
	buf_done(&body);
	return e;
}

/* RSA signs as in the key exchange where that was by RSA, else by SHA-2. */
static struct cslice proof_alg(const struct ssh *s, const struct key *k, struct cslice sig)
{
	const struct alg_hostkey *row = tp_choice(s->tp)->hostkey;
	if (key_type_of(k) != KEY_RSA)
		return cslice_str(key_type_name(key_type_of(k)));
	if (row != NULL && row->type == KEY_RSA)
		return key_alg_sig(cslice_str(row->name), NULL);
	struct rd r = rd_of(sig);
	struct cslice own = rd_str(&r);
	return cslice_eq_str(own, "rsa-sha2-256") ? own : cslice_str("rsa-sha2-512");
}

static err_t check_proof(const struct ssh *s, struct cslice blob, struct cslice sig)
{
	struct key *k = NULL;
	struct buf signed_text;
	TRY(key_parse_blob(&k, blob));
	buf_init(&signed_text, OFFER_ROOM);
	buf_put_cstring(&signed_text, PROVE);
	buf_put_string(&signed_text, tp_session_id(s->tp));
	buf_put_string(&signed_text, blob);
	err_t e = buf_err(&signed_text);
	if (e == OK)
		e = key_verify(k, proof_alg(s, k, sig), buf_bytes(&signed_text), sig);
	if (e != OK)
		ssh_say(LOG_L_ERROR,
			"%s does not prove that it has the %s host key that it names; its keys are "
			"not updated in known_hosts.",
			s->host, key_shown(k));
	buf_done(&signed_text);
	key_free(k);
	return e;
}

/* All of them, and nothing else. */
static err_t check_proofs(const struct ssh *s, struct cslice answer)
{
	const struct host_update *u = &s->update;
	struct rd r = rd_of(answer);
	for (size_t i = 0; i < u->n; i++) {
		if (!u->is_new[i])
			continue;
		struct cslice sig = rd_str(&r);
		if (r.bad)
			return E_FORMAT;
		TRY(check_proof(s, u->blobs[i], sig));
	}
	return r.n == 0 ? OK : E_FORMAT;
}

/* ---- events -----------------------------------------------------------------------------------
 */
/* Both times the files speak anew: at the offer, and when the proofs are there. */
static err_t decide(struct ssh *s, bool is_proved)
{
	struct kh_survey *sv = calloc(1, sizeof(*sv));
	bool is_elsewhere = false;
	if (sv == NULL)
		return E_MEM;
	err_t e = survey(s, sv, &is_elsewhere);
	bool goes_on = e == OK && is_worth_it(s, sv, is_elsewhere);
	if (goes_on && !is_proved)
		e = ask_for_proofs(s, sv);
	if (goes_on && e == OK && !s->update.is_waiting)
		update(s, sv);
	kh_survey_done(sv);
	free(sv);
	return e;
}

static void on_offer(struct ssh *s, struct cslice body)
{
	struct host_update *u = &s->update;
	if (u->has_offer || !may_update(s))
		return;
	u->has_offer = true;
	err_t e = take_offer(s, body) ? decide(s, false) : OK;
	if (e != OK)
		log_debug1("UpdateHostKeys: %s", err_text(e));
}

static void on_proofs(struct ssh *s, bool ok, struct cslice body)
{
	s->update.is_waiting = false;
	if (!ok) {
		ssh_say(LOG_L_ERROR, "Server failed to confirm ownership of private host keys");
		return;
	}
	err_t e = check_proofs(s, body);
	if (e == OK)
		e = decide(s, true);
	if (e != OK)
		log_debug1("UpdateHostKeys: %s", err_text(e));
}

err_t ssh_global(struct ssh *s, const char *name, struct cslice body)
{
	TRY(cn_global(s->cn, name, true, body));
	s->update.asked++;
	return OK;
}

err_t update_event(struct ssh *s, const struct cn_event *e, bool *is_ours)
{
	struct host_update *u = &s->update;
	*is_ours = false;
	if (e->type == CN_EV_GLOBAL_REPLY) {
		*is_ours = u->is_waiting && u->answered == u->waits_for;
		u->answered++;
		if (*is_ours)
			on_proofs(s, e->ok, e->data);
	} else if (e->type == CN_EV_GLOBAL && cslice_eq_str(e->name, TELL)) {
		*is_ours = true;
		on_offer(s, e->data);
		if (e->want_reply)
			return cn_global_reply(s->cn, true, cslice_of(NULL, 0));
	}
	return OK;
}

void update_again(struct ssh *s)
{
	struct host_update *u = &s->update;
	buf_done(&u->offer);
	u->n = 0;
	u->has_offer = u->is_waiting = false;
	u->asked = u->answered = u->waits_for = 0;
}

void update_done(struct ssh *s)
{
	update_again(s);
	buf_done(&s->update.own);
}
