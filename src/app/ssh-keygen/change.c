/* SPDX-License-Identifier: ISC */
/* change - modes over an existing private key: -p new passphrase, -c new comment, -y print its
 * public half */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/ssh-keygen/kg.h"

struct loaded {
	const char *path;
	struct key *k;
	struct buf comment;    /* NUL-terminated */
	struct buf passphrase; /* that opened it: a new comment is saved under the same one */
	struct kg_old old;
};

static void loaded_done(struct loaded *l)
{
	key_free(l->k);
	buf_done(&l->passphrase);
	buf_done(&l->comment);
}

static err_t ask_and_keep(void *arg, const char *path, uint32_t try, struct buf *passphrase)
{
	struct loaded *l = arg;
	TRY(kg_ask_old(&l->old, path, try, passphrase));
	buf_clear(&l->passphrase);
	buf_put(&l->passphrase, passphrase->p, passphrase->n);
	return buf_err(&l->passphrase);
}

/* before, after: what stands around the path when it cannot be loaded.  Ended by loaded_done in any
 * case. */
static int load(struct kg_options *o, struct loaded *l, struct kg_old old, const char *before,
	const char *after)
{
	struct keyfile_ask ask = {ask_and_keep, l, 1, before, after};
	struct stat st;
	struct buf why;
	*l = (struct loaded){.old = old};
	buf_init(&l->comment, KEYFILE_MAX);
	buf_init(&l->passphrase, KG_LINE_MAX);
	l->path = kg_identity_path(o, KEY_ED25519, "Enter file in which the key is");
	if (l->path == NULL)
		return KG_FAILED;
	if (stat(l->path, &st) < 0)
		return kg_say(KG_FATAL, "%s: %s", l->path, strerror(errno));
	buf_init(&why, KG_LINE_MAX);
	err_t e = keyfile_load_private(&l->k, l->path, &ask, &l->comment, &why);
	buf_put_u8(&l->comment, 0);
	if (e == OK)
		e = buf_err(&l->comment);
	kg_say_why(&why);
	buf_done(&why);
	return e == OK ? KG_OK : KG_FATAL;
}

static const char *comment_of(const struct loaded *l)
{
	return (const char *)l->comment.p;
}

/* A PuTTY file stays one, so that PuTTY goes on reading it; -m says otherwise. */
static void keep_form(struct kg_options *o, const char *path)
{
	struct buf text;
	if (o->format != NULL)
		return;
	buf_init(&text, KEYFILE_MAX);
	enum key_form form =
		keyfile_read(path, &text) == OK ? key_form_of(buf_bytes(&text)) : KEY_FORM_OPENSSH;
	if (form == KEY_FORM_PPK || form == KEY_FORM_PPK2)
		o->write.form = form;
	buf_done(&text);
}

static int with_new_passphrase(struct kg_options *o, const struct loaded *l)
{
	struct buf passphrase;
	int state = KG_FAILED;
	if (comment_of(l)[0] != '\0')
		kg_tell("Key has comment '%s'\n", comment_of(l));
	buf_init(&passphrase, KG_LINE_MAX);
	err_t e = kg_ask_new(
		o, "Enter new passphrase (empty for no passphrase): ", false, &passphrase);
	keep_form(o, l->path);
	if (e == OK)
		e = kg_save(o, &(struct kg_pair){l->k, l->path, comment_of(l),
				       buf_bytes(&passphrase), false});
	if (e == OK) {
		kg_tell("Your identification has been saved with the new passphrase.\n");
		state = KG_OK;
	}
	buf_done(&passphrase);
	return state;
}

int kg_change_passphrase(struct kg_options *o)
{
	struct loaded l;
	struct kg_old old = {o->old_phrase, "Enter old passphrase: "};
	int state = load(o, &l, old, "Failed to load key ", ": ");
	if (state == KG_OK)
		state = with_new_passphrase(o, &l);
	loaded_done(&l);
	return state;
}

/* Formats other than openssh-key-v1 and PuTTY's have no place for a comment. */
static bool holds_comment(const char *path)
{
	struct buf text;
	buf_init(&text, KEYFILE_MAX);
	err_t e = keyfile_read(path, &text);
	enum key_form form = key_form_of(buf_bytes(&text));
	buf_done(&text);
	return e == OK && form != KEY_FORM_PEM && form != KEY_FORM_PKCS8;
}

static int new_comment(const struct kg_options *o, struct buf *out)
{
	if (o->comment != NULL)
		buf_printf(out, "%s", o->comment);
	else if (!kg_ask_line("New comment: ", out))
		return KG_FAILED;
	buf_put_u8(out, 0);
	return buf_err(out) == OK ? KG_OK : kg_say(KG_FATAL, "the comment is too long");
}

static int apply_comment(struct kg_options *o, const struct loaded *l)
{
	struct buf fresh;
	if (comment_of(l)[0] != '\0')
		kg_tell("Old comment: %s\n", comment_of(l));
	else
		kg_tell("No existing comment\n");
	buf_init(&fresh, KG_LINE_MAX);
	int state = new_comment(o, &fresh);
	const char *words = (const char *)fresh.p;
	if (state == KG_OK && strcmp(words, comment_of(l)) == 0) {
		kg_tell("No change to comment\n");
	} else if (state == KG_OK) {
		keep_form(o, l->path);
		bool has_public = o->write.form == KEY_FORM_OPENSSH;
		struct kg_pair pair = {l->k, l->path, words, buf_bytes(&l->passphrase), has_public};
		bool done = kg_save(o, &pair) == OK;
		state = done ? KG_OK : KG_FAILED;
		if (done && words[0] != '\0')
			kg_tell("Comment '%s' applied\n", words);
		else if (done)
			kg_tell("Comment removed\n");
	}
	buf_done(&fresh);
	return state;
}

int kg_change_comment(struct kg_options *o)
{
	struct loaded l;
	struct kg_old old = {
		o->old_phrase != NULL ? o->old_phrase : o->new_phrase, "Enter passphrase: "};
	int state = load(o, &l, old, "Cannot load private key \"", "\": ");
	if (state == KG_OK && !holds_comment(l.path))
		state = kg_say(KG_FATAL,
			"Comments are only supported for keys stored in the new format (-o).");
	else if (state == KG_OK)
		state = apply_comment(o, &l);
	loaded_done(&l);
	return state;
}

int kg_print_public(struct kg_options *o)
{
	struct loaded l;
	struct buf line;
	struct kg_old old = {o->old_phrase, "Enter passphrase for \"%s\": "};
	int state = load(o, &l, old, "Load key \"", "\": ");
	buf_init(&line, KEYFILE_MAX);
	if (state == KG_OK && key_public_line(l.k, comment_of(&l), &line) != OK)
		state = kg_say(KG_FATAL, "%s: the key cannot be printed", l.path);
	if (state == KG_OK)
		(void)printf("%.*s\n", (int)line.n, (const char *)line.p);
	buf_done(&line);
	loaded_done(&l);
	return state;
}
