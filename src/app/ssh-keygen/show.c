/* SPDX-License-Identifier: ISC */
/*
 * show - the fingerprint of everything that holds a key: .pub files, private keys, authorized_keys,
 * known_hosts
 *
 * A line is tried as a bare key first, then again behind its options or host names.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/ssh-keygen/kg.h"
#include "key/cert.h"

err_t kg_print_fingerprint(const struct kg_options *o, const struct key *k, struct cslice comment)
{
	struct buf text;
	buf_init(&text, KEYFILE_MAX);
	buf_printf(&text, "%u ", key_bits(k));
	enum hash_id babble_hash = o->hash != NULL ? o->hash_id : HASH_SHA1;
	err_t e = o->babble ? key_fingerprint_babble(k, babble_hash, &text)
			    : key_fingerprint(k, o->hash_id, &text);
	buf_put_u8(&text, ' ');
	if (comment.n > 0)
		vis_put(&text, comment);
	else
		buf_printf(&text, "no comment");
	buf_printf(&text, " (%s)\n", key_shown(k));
	if (e == OK && o->verbose)
		e = key_randomart(k, o->hash_id, &text);
	if (e == OK)
		e = buf_err(&text);
	if (e == OK)
		(void)fwrite(text.p, 1, text.n, stdout);
	buf_done(&text);
	return e;
}

static bool is_blank(uint8_t c)
{
	return c == ' ' || c == '\t';
}

/* Skips one word, blanks inside quotes belong to it. */
static struct cslice skip_word(struct cslice line)
{
	size_t i = 0;
	bool is_quoted = false;
	for (; i < line.n && (is_quoted || !is_blank(line.p[i])); i++)
		if (line.p[i] == '\\' && i + 1 < line.n && line.p[i + 1] == '"')
			i++;
		else if (line.p[i] == '"')
			is_quoted = !is_quoted;
	i = num_min(i, line.n);
	while (i < line.n && is_blank(line.p[i]))
		i++;
	return cslice_of(line.p + i, line.n - i);
}

/* A key behind at most two words: "@cert-authority hosts KEY", "options KEY".  before: the word in
 * front of it, empty = none. */
static bool line_key(struct cslice line, struct key **k, struct buf *comment, struct cslice *before)
{
	*before = cslice_of(NULL, 0);
	for (size_t skipped = 0; skipped < 3 && line.n > 0; skipped++) {
		if (key_parse_line_any(k, line, comment) == OK)
			return true;
		struct cslice rest = skip_word(line);
		*before = cslice_of(line.p, line.n - rest.n);
		while (before->n > 0 && is_blank(before->p[before->n - 1]))
			before->n--;
		line = rest;
	}
	return false;
}

static int show_text(const struct kg_options *o, struct cslice text, const char *name)
{
	bool any = false;
	while (text.n > 0) {
		struct key *k = NULL;
		struct buf comment;
		struct cslice before;
		const uint8_t *lf = memchr(text.p, '\n', text.n);
		size_t n = lf != NULL ? (size_t)(lf - text.p) : text.n;
		struct cslice line = {text.p, n};
		size_t eaten = lf != NULL ? n + 1 : n;
		text = cslice_of(text.p + eaten, text.n - eaten);
		while (line.n > 0 && is_blank(line.p[0]))
			line = cslice_of(line.p + 1, line.n - 1);
		if (line.n == 0 || line.p[0] == '#')
			continue;
		buf_init(&comment, KEYFILE_MAX);
		if (line_key(line, &k, &comment, &before)) {
			struct cslice words = buf_bytes(&comment);
			if (words.n == 0 || words.p[0] == '#')
				words = before;
			any = kg_print_fingerprint(o, k, words) == OK || any;
		}
		key_free(k);
		buf_done(&comment);
	}
	return any ? KG_OK : kg_say(KG_FATAL, "%s is not a public key file.", name);
}

/* A public key in a form of others. */
static bool show_foreign(const struct kg_options *o, struct cslice text, int *state)
{
	struct key *k = NULL;
	if (text.n == 0 || memmem(text.p, text.n, "PUBLIC KEY----", 14) == NULL ||
		kg_parse_foreign_public(&k, text) != OK)
		return false;
	*state = kg_print_fingerprint(o, k, cslice_of(NULL, 0)) == OK ? KG_OK : KG_FATAL;
	key_free(k);
	return true;
}

static int show_private(const struct kg_options *o, const char *path)
{
	struct key *k = NULL;
	struct buf comment;
	buf_init(&comment, KEYFILE_MAX);
	err_t e = keyfile_load_public(&k, path, &comment);
	int state = KG_OK;
	if (e != OK)
		state = kg_say(KG_FATAL, "%s is not a key file.", path);
	else if (kg_print_fingerprint(o, k, buf_bytes(&comment)) != OK)
		state = kg_say(KG_FATAL, "%s: fingerprint failed", path);
	key_free(k);
	buf_done(&comment);
	return state;
}

static bool is_private(struct cslice text)
{
	enum key_form form = key_form_of(text);
	return form == KEY_FORM_PPK || form == KEY_FORM_PPK2 ||
	       (text.n > 0 && memmem(text.p, text.n, "PRIVATE KEY----", 15) != NULL);
}

int kg_fingerprint(struct kg_options *o)
{
	struct buf text;
	const char *path = kg_identity_path(o, KEY_ED25519, "Enter file in which the key is");
	if (path == NULL)
		return KG_FAILED;
	bool is_stdin = strcmp(path, "-") == 0;
	buf_init(&text, KEYFILE_MAX);
	err_t e = keyfile_read(is_stdin ? "/dev/stdin" : path, &text);
	int state = KG_FATAL;
	if (e != OK)
		state = kg_say(KG_FATAL, "%s: %s", path, keyfile_reason(e));
	else if (!is_stdin && is_private(buf_bytes(&text)))
		state = show_private(o, path);
	else if (!show_foreign(o, buf_bytes(&text), &state))
		state = show_text(o, buf_bytes(&text), is_stdin ? "(stdin)" : path);
	buf_done(&text);
	return state;
}
