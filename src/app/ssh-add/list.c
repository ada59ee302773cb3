/* SPDX-License-Identifier: ISC */
/* list - what is in the agent, what it can do, and whether it really signs */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "app/common/keyfile.h"
#include "app/ssh-add/sa.h"
#include "os/random.h"

struct listing {
	const struct sa *s;
	struct buf text;
	size_t entries_n;
};

static void on_entry(void *arg, struct cslice blob, struct cslice comment)
{
	struct listing *l = arg;
	struct key *k = NULL;
	l->entries_n++;
	err_t e = key_parse_any(&k, blob);
	if (e != OK) {
		struct buf words;
		buf_init(&words, AG_FRAME_MAX);
		vis_put(&words, key_blob_type(blob));
		buf_printf(&words, " (");
		vis_put(&words, comment);
		buf_printf(&words, "): %s", err_text(e));
		(void)sa_say(0, "The agent has a key that cannot be shown: %.*s", (int)words.n,
			(const char *)words.p);
		buf_done(&words);
		return;
	}
	if (l->s->o.list_keys) {
		e = key_line_any(k, NULL, &l->text);
		buf_put_u8(&l->text, ' ');
		vis_put(&l->text, comment);
	} else {
		buf_printf(&l->text, "%u ", key_bits(k));
		e = key_fingerprint(k, l->s->hash, &l->text);
		buf_put_u8(&l->text, ' ');
		vis_put(&l->text, comment);
		buf_printf(&l->text, " (%s)", key_shown(k));
	}
	buf_put_u8(&l->text, '\n');
	if (e == OK && buf_err(&l->text) == OK)
		(void)fwrite(l->text.p, 1, l->text.n, stdout);
	buf_clear(&l->text);
	key_free(k);
}

int sa_list(struct sa *s)
{
	struct listing l = {.s = s};
	buf_init(&l.text, 4 * AG_FRAME_MAX);
	err_t e = agent_list_blobs(&s->agent, on_entry, &l);
	buf_done(&l.text);
	if (e != OK)
		return sa_say(SA_FAILED, "error fetching identities: %s", sa_agent_text(e));
	if (l.entries_n == 0) {
		(void)printf("The agent has no identities.\n");
		return SA_FAILED;
	}
	return SA_OK;
}

static void on_extension(void *arg, struct cslice name)
{
	struct buf *text = arg;
	vis_put(text, name);
	buf_put_u8(text, '\n');
}

int sa_extensions(struct sa *s)
{
	struct buf text;
	buf_init(&text, 4 * AG_FRAME_MAX);
	err_t e = agent_extensions(&s->agent, on_extension, &text);
	if (e == OK)
		e = buf_err(&text);
	if (e == OK)
		(void)fwrite(text.p, 1, text.n, stdout);
	buf_done(&text);
	if (e == E_DENIED)
		return sa_say(SA_FAILED, "The agent does not tell its extensions.");
	return e == OK ? SA_OK
		       : sa_say(SA_FAILED, "error fetching extensions: %s", sa_agent_text(e));
}

static struct cslice sign_alg(const struct key *k)
{
	enum key_type t = key_type_of(k);
	return cslice_str(t == KEY_RSA ? "rsa-sha2-256" : key_type_name(t));
}

int sa_test(struct sa *s, const char *path)
{
	struct key *k = NULL;
	struct buf sig;
	uint8_t bytes[1024];
	errno = 0;
	err_t e = sa_public(path, &k, NULL);
	if (e != OK)
		return sa_say(
			SA_FAILED, "Couldn't read public key %s: %s", path, keyfile_reason(e));
	buf_init(&sig, AG_FRAME_MAX);
	rng_fill(os_rng(), bytes, sizeof(bytes));
	struct cslice tbs = {bytes, sizeof(bytes)};
	int state = SA_OK;
	e = agent_sign(&s->agent, k, sign_alg(k), tbs, &sig);
	if (e != OK) {
		state = sa_say(
			SA_FAILED, "Agent signature failed for %s: %s", path, sa_agent_text(e));
	} else {
		e = key_verify(k, sign_alg(k), tbs, buf_bytes(&sig));
		if (e != OK)
			state = sa_say(SA_FAILED, "Signature verification failed for %s: %s", path,
				err_text(e));
	}
	buf_done(&sig);
	key_free(k);
	return state;
}
