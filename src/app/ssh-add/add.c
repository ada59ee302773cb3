/* SPDX-License-Identifier: ISC */
/*
 * add - private keys, and the certificates beside them, into the agent
 *
 * A file's passphrase is looked for where nobody has to be asked first: none, the one that opened
 * the file before, the keychain; then the person, until the key opens or nothing is typed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "app/common/askpass.h"
#include "app/common/keychain.h"
#include "app/common/keyfile.h"
#include "app/common/say.h"
#include "app/ssh-add/sa.h"
#include "base/log.h"

/* A certificate stays in the agent for this long after its end: clocks differ. */
#define GRACE_S 300

enum source { FROM_LAST, FROM_KEYCHAIN, FROM_PERSON };

struct unlocking {
	struct sa *s;
	enum source next;
	bool asks_nobody, has_asked;
	struct buf tried; /* the last answer */
};

/* ---- passphrases --------------------------------------------------------------------------------
 */
static err_t ask_person(struct unlocking *u, const char *path, struct buf *passphrase)
{
	struct buf question;
	if (u->asks_nobody)
		return E_CANCELLED;
	u->s->has_last = false; /* it did not work here */
	buf_init(&question, 8192);
	buf_printf(&question, "%s %s%s: ",
		u->has_asked ? "Bad passphrase, try again for" : "Enter passphrase for", path,
		u->s->limits.confirm ? " (will confirm each use)" : "");
	buf_put_u8(&question, 0);
	u->has_asked = true;
	err_t e = buf_err(&question);
	if (e == OK)
		e = askpass_secret((const char *)question.p, passphrase);
	buf_done(&question);
	return e;
}

static bool wants_keychain(const struct sa *s, const char *path)
{
	return (s->o.use_keychain || s->o.load_keychain) && strcmp(path, "(stdin)") != 0;
}

/* E_NOT_FOUND: ask on. */
static err_t answer_of(struct unlocking *u, const char *path, struct buf *passphrase)
{
	const struct sa *s = u->s;
	switch (u->next++) {
	case FROM_LAST:
		if (!s->has_last)
			return E_NOT_FOUND;
		buf_put(passphrase, s->last.p, s->last.n);
		return buf_err(passphrase);
	case FROM_KEYCHAIN:
		return wants_keychain(s, path) && keychain_get(path, passphrase, NULL) == OK
			       ? OK
			       : E_NOT_FOUND;
	case FROM_PERSON:
		break;
	}
	u->next = FROM_PERSON;
	return ask_person(u, path, passphrase);
}

static err_t next_passphrase(void *arg, const char *path, uint32_t try, struct buf *passphrase)
{
	struct unlocking *u = arg;
	(void)try;
	err_t e;
	do {
		buf_clear(passphrase);
		e = answer_of(u, path, passphrase);
	} while (e == E_NOT_FOUND || (e == OK && passphrase->n == 0 && !u->has_asked));
	if (e != OK)
		return e;
	buf_clear(&u->tried);
	buf_put(&u->tried, passphrase->p, passphrase->n);
	return buf_err(&u->tried);
}

/* What opened this file may open the next one; what the person typed may be remembered. */
static void keep_passphrase(struct unlocking *u, const char *path)
{
	struct sa *s = u->s;
	struct buf why;
	if (u->tried.n == 0)
		return;
	buf_clear(&s->last);
	buf_put(&s->last, u->tried.p, u->tried.n);
	s->has_last = buf_err(&s->last) == OK;
	if (!s->o.use_keychain || !wants_keychain(s, path))
		return;
	buf_init(&why, 4096);
	if (keychain_put(path, buf_bytes(&u->tried), &why) != OK)
		(void)sa_say(0, "The passphrase of %s is not remembered: %.*s", path, (int)why.n,
			(const char *)why.p);
	else
		log_debug1("the passphrase of %s is remembered (%s)", path, keychain_name());
	buf_done(&why);
}

/* ---- loading ------------------------------------------------------------------------------------
 */
static void say_load_error(const char *path, err_t e, const struct buf *why)
{
	bool is_system = e == E_NOT_FOUND || e == E_IO || (e == E_PERMISSION && errno != 0);
	const char *words = keyfile_reason(e);
	if (e == E_PERMISSION && errno == 0) { /* the box says it, all but its last line */
		const char *end = "Load key \"";
		const uint8_t *at = memmem(why->p, why->n, end, strlen(end));
		say_text(stderr, cslice_of(why->p, at != NULL ? (size_t)(at - why->p) : why->n));
	} else if (is_system) {
		(void)sa_say(0, "%s: %s", path, words);
	} else if (e != E_CANCELLED && e != E_PASSPHRASE) {
		(void)sa_say(0, "Error loading key \"%s\": %s", path, words);
	}
}

static err_t load(
	struct sa *s, const char *path, bool asks_nobody, struct key **out, struct buf *comment)
{
	struct unlocking u = {.s = s, .asks_nobody = asks_nobody};
	const struct keyfile_ask ask = {.fn = next_passphrase, .arg = &u, .tries = UINT32_MAX};
	struct buf why, text;
	bool is_stdin = strcmp(path, "(stdin)") == 0;
	buf_init(&why, 65536);
	buf_init(&text, KEYFILE_MAX);
	buf_init(&u.tried, 8192);
	errno = 0;
	err_t e = is_stdin ? sa_read_stdin(&text) : OK;
	if (e == OK)
		e = is_stdin ? keyfile_parse_private(out, path, buf_bytes(&text), &ask, comment)
			     : keyfile_load_private(out, path, &ask, comment, &why);
	if (e == OK)
		keep_passphrase(&u, path);
	else if (!asks_nobody || e != E_CANCELLED)
		say_load_error(path, e, &why);
	if (e == E_PASSPHRASE)
		s->has_last = false;
	buf_done(&u.tried);
	buf_done(&text);
	buf_done(&why);
	return e;
}

/* ---- adding -------------------------------------------------------------------------------------
 */
static void say_added(const struct sa *s, const struct ag_limits *limits, const char *what,
	const char *path, struct cslice comment)
{
	struct buf shown;
	if (s->o.quiet)
		return;
	buf_init(&shown, 4 * KEYFILE_MAX);
	vis_put(&shown, comment);
	(void)sa_say(0, "%s added: %s (%.*s)", what, path, (int)shown.n, (const char *)shown.p);
	buf_done(&shown);
	if (limits->lifetime_s != 0)
		(void)sa_say(0, "Lifetime set to %u seconds", limits->lifetime_s);
	if (limits->confirm)
		(void)sa_say(0, "The user must confirm each use of the key");
}

/* The agent forgets a certificate shortly after its end.  False: it is over already. */
static bool limit_to_certificate(const struct sa *s, const struct cert *c, struct ag_limits *limits)
{
	uint64_t now_s = (uint64_t)time(NULL), until_s = c->valid_before;
	if (s->o.no_expiry || until_s >= UINT64_MAX - GRACE_S)
		return true;
	until_s += GRACE_S;
	if (until_s <= now_s)
		return false;
	uint64_t left_s = until_s - now_s;
	if (left_s < UINT32_MAX && (limits->lifetime_s == 0 || left_s < limits->lifetime_s))
		limits->lifetime_s = (uint32_t)left_s;
	return true;
}

static err_t add_certified(
	struct sa *s, struct key *k, const struct sa_certificate *file, struct cslice comment)
{
	struct ag_limits limits = s->limits;
	const struct cert *c = key_cert(file->cert);
	if (!limit_to_certificate(s, c, &limits)) {
		(void)sa_say(0, "Certificate %s has expired: not added (-N adds it)", file->name);
		return E_CANCELLED;
	}
	TRY(key_take_cert(k, file->cert));
	TRY(agent_add(&s->agent, k, comment, &limits));
	say_added(s, &limits, "Certificate", file->name, c->key_id);
	return OK;
}

static int add_certificate(struct sa *s, const char *path, struct key *k, struct cslice comment)
{
	struct sa_certificate file;
	if (sa_certificate(path, k, &file) != OK)
		return SA_FAILED;
	err_t e = add_certified(s, k, &file, comment);
	if (e != OK && e != E_CANCELLED) {
		struct buf id;
		buf_init(&id, 4 * CERT_BLOB_MAX);
		vis_put(&id, key_cert(file.cert)->key_id);
		(void)sa_say(0, "Certificate %s (%.*s) add failed: %s", file.name, (int)id.n,
			(const char *)id.p, sa_agent_text(e));
		buf_done(&id);
	}
	sa_certificate_done(&file);
	return e == OK ? SA_OK : SA_FAILED;
}

static int add_loaded(struct sa *s, const char *path, struct key *k, struct cslice comment)
{
	int state = SA_FAILED;
	if (!s->o.certs_only) {
		err_t e = agent_add(&s->agent, k, comment, &s->limits);
		if (e == OK) {
			state = SA_OK;
			say_added(s, &s->limits, "Identity", path, comment);
		} else {
			(void)sa_say(
				0, "Could not add identity \"%s\": %s", path, sa_agent_text(e));
		}
	}
	if (!s->o.keys_only && strcmp(path, "(stdin)") != 0 &&
		add_certificate(s, path, k, comment) == SA_OK && s->o.certs_only)
		state = SA_OK;
	return state;
}

static int add(struct sa *s, const char *path, bool asks_nobody)
{
	struct key *k = NULL;
	struct buf comment;
	buf_init(&comment, KEYFILE_MAX);
	int state = SA_FAILED;
	if (load(s, path, asks_nobody, &k, &comment) == OK) {
		if (comment.n == 0)
			buf_put(&comment, path, strlen(path));
		if (buf_err(&comment) == OK)
			state = add_loaded(s, path, k, buf_bytes(&comment));
	}
	key_free(k);
	buf_done(&comment);
	return state;
}

int sa_add(struct sa *s, const char *path)
{
	return add(s, strcmp(path, "-") == 0 ? "(stdin)" : path, false);
}

/* ---- the keychain -------------------------------------------------------------------------------
 */
int sa_forget(struct sa *s, const char *path)
{
	struct buf why;
	buf_init(&why, 4096);
	err_t e = keychain_forget(path, &why);
	int state = e == OK ? SA_OK : SA_FAILED;
	if (e == OK && !s->o.quiet)
		(void)sa_say(0, "Passphrase forgotten: %s", path);
	else if (e == E_NOT_FOUND)
		(void)sa_say(0, "No passphrase is remembered for %s", path);
	else if (e != OK)
		(void)sa_say(0, "The passphrase of %s cannot be forgotten: %.*s", path, (int)why.n,
			(const char *)why.p);
	buf_done(&why);
	return state;
}

struct loading {
	struct sa *s;
	unsigned added_n;
};

static void on_remembered(void *arg, const char *path)
{
	struct loading *l = arg;
	if (add(l->s, path, true) == SA_OK)
		l->added_n++;
	else
		log_debug1("%s: the remembered passphrase does not open it", path);
}

int sa_load_keychain(struct sa *s)
{
	struct loading l = {.s = s};
	struct buf why;
	buf_init(&why, 4096);
	err_t e = keychain_each(on_remembered, &l, &why);
	int state = l.added_n > 0 ? SA_OK : SA_FAILED;
	if (e != OK)
		state = sa_say(SA_FAILED, "The keychain cannot be read: %.*s", (int)why.n,
			(const char *)why.p);
	else if (l.added_n == 0)
		(void)sa_say(0, "No identity found in the keychain.");
	buf_done(&why);
	return state;
}
