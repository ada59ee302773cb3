/* SPDX-License-Identifier: ISC */
/* remove - keys out of the agent, and the agent locked */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "app/common/askpass.h"
#include "app/common/keyfile.h"
#include "app/ssh-add/sa.h"

static int remove_one(struct sa *s, const struct key *k, struct cslice comment, const char *path)
{
	struct buf shown;
	err_t e = agent_remove(&s->agent, k);
	if (e != OK)
		return sa_say(
			SA_FAILED, "Could not remove identity \"%s\": %s", path, sa_agent_text(e));
	if (s->o.quiet)
		return SA_OK;
	buf_init(&shown, 4 * KEYFILE_MAX);
	if (comment.n > 0)
		vis_put(&shown, comment);
	else
		buf_printf(&shown, "no comment");
	(void)sa_say(0, "Identity removed: %s %s (%.*s)", path, key_shown(k), (int)shown.n,
		(const char *)shown.p);
	buf_done(&shown);
	return SA_OK;
}

/* Is it of the kind that -k or -C wants? */
static bool is_wanted(const struct sa *s, const struct key *k)
{
	return key_cert(k) != NULL ? !s->o.keys_only : !s->o.certs_only;
}

static int remove_listed(struct sa *s)
{
	struct buf text, comment;
	int state = SA_FAILED;
	buf_init(&text, KEYFILE_MAX);
	buf_init(&comment, KEYFILE_MAX);
	err_t e = sa_read_stdin(&text);
	struct cslice rest = buf_bytes(&text);
	for (unsigned number = 1; e == OK && rest.n > 0; number++) {
		struct key *k = NULL;
		const uint8_t *end = memchr(rest.p, '\n', rest.n);
		size_t n = end != NULL ? (size_t)(end - rest.p) : rest.n;
		struct cslice line = {rest.p, n};
		n = num_min(n + 1, rest.n);
		rest = cslice_of(rest.p + n, rest.n - n);
		while (line.n > 0 && (line.p[0] == ' ' || line.p[0] == '\t'))
			line = cslice_of(line.p + 1, line.n - 1);
		if (line.n == 0 || line.p[0] == '#')
			continue;
		buf_clear(&comment);
		err_t one = key_parse_line_any(&k, line, &comment);
		if (one != OK)
			(void)sa_say(0, "(stdin):%u: invalid key: %s", number, err_text(one));
		else if (is_wanted(s, k) &&
			 remove_one(s, k, buf_bytes(&comment), "(stdin)") == SA_OK)
			state = SA_OK;
		key_free(k);
	}
	buf_done(&comment);
	buf_done(&text);
	return e == OK ? state : sa_say(SA_FAILED, "reading standard input: %s", err_text(e));
}

static int remove_certificate(struct sa *s, const char *path, const struct key *k)
{
	struct sa_certificate c;
	if (sa_certificate(path, k, &c) != OK)
		return SA_FAILED;
	int state = remove_one(s, c.cert, buf_bytes(&c.comment), c.name);
	sa_certificate_done(&c);
	return state;
}

int sa_remove(struct sa *s, const char *path)
{
	struct key *k = NULL;
	struct buf comment;
	if (strcmp(path, "-") == 0)
		return remove_listed(s);
	buf_init(&comment, KEYFILE_MAX);
	errno = 0;
	err_t e = sa_public(path, &k, &comment);
	int state = SA_FAILED;
	if (e != OK) {
		(void)printf("Bad key file %s: %s\n", path, keyfile_reason(e));
	} else {
		if (is_wanted(s, k))
			state = remove_one(s, k, buf_bytes(&comment), path);
		if (!s->o.keys_only && key_cert(k) == NULL &&
			remove_certificate(s, path, k) == SA_OK)
			state = SA_OK;
		if (s->o.use_keychain)
			(void)sa_forget(s, path);
	}
	key_free(k);
	buf_done(&comment);
	return state;
}

int sa_remove_all(struct sa *s)
{
	err_t e = agent_remove_all(&s->agent);
	if (e != OK)
		return sa_say(SA_FAILED, "Failed to remove all identities.");
	return s->o.quiet ? SA_OK : sa_say(SA_OK, "All identities removed.");
}

int sa_lock(struct sa *s)
{
	bool is_lock = s->o.lock;
	struct buf first, again;
	int state = SA_FAILED;
	buf_init(&first, 8192);
	buf_init(&again, 8192);
	err_t e = askpass_secret("Enter lock password: ", &first);
	if (e == OK && is_lock)
		e = askpass_secret("Again: ", &again);
	if (e == OK && is_lock && (first.n != again.n || !ct_eq(first.p, again.p, first.n))) {
		(void)sa_say(0, "Passwords do not match.");
	} else if (e == OK) {
		e = agent_lock(&s->agent, is_lock, buf_bytes(&first));
		if (e == OK)
			state = sa_say(SA_OK, "Agent %slocked.", is_lock ? "" : "un");
		else
			(void)sa_say(0, "Failed to %slock agent: %s", is_lock ? "" : "un",
				sa_agent_text(e));
	}
	buf_done(&first);
	buf_done(&again);
	return state;
}
