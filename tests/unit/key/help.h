/* SPDX-License-Identifier: ISC */
/* help - what the key tests share: cmocka, test files, a fixed rng */
#ifndef TESTS_UNIT_KEY_HELP_H
#define TESTS_UNIT_KEY_HELP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/text.h"
#include "key/key.h"

#define assert_ok(expr)     assert_string_equal(err_name(expr), "OK")
#define assert_err(expr, e) assert_string_equal(err_name(expr), #e)
#define HELP_PASSPHRASE     "pass phrase"

static inline int help_init(void **state)
{
	(void)state;
	return crypto_init() == OK ? 0 : -1;
}

static inline struct buf help_file(const char *name)
{
	char path[512];
	struct buf b;
	(void)snprintf(path, sizeof(path), "%s/%s", KEY_DATA, name);
	FILE *f = fopen(path, "rb");
	if (f == NULL)
		fail_msg("cannot open %s", path);
	buf_init(&b, (size_t)1 << 20);
	for (int c = getc(f); c != EOF; c = getc(f))
		buf_put_u8(&b, (uint8_t)c);
	(void)fclose(f);
	return b;
}

static inline struct key *help_private(const char *name, const char *passphrase)
{
	struct buf text = help_file(name);
	struct key *k = NULL;
	err_t e = key_read_private(&k, buf_bytes(&text), cslice_str(passphrase), NULL);
	if (e != OK)
		fail_msg("%s: %s", name, err_name(e));
	buf_done(&text);
	return k;
}

static inline struct key *help_public(const char *name)
{
	char path[128];
	struct key *k = NULL;
	(void)snprintf(path, sizeof(path), "%s.pub", name);
	struct buf text = help_file(path);
	assert_ok(key_parse_public_line(&k, buf_bytes(&text), NULL));
	buf_done(&text);
	return k;
}

static inline struct buf help_blob(const struct key *k)
{
	struct buf b;
	buf_init(&b, 8192);
	assert_ok(key_blob(k, &b));
	return b;
}

/* The text of b equals s. */
static inline void assert_text(const struct buf *b, const char *s)
{
	if (!cslice_eq_str(buf_bytes(b), s))
		fail_msg("got \"%.*s\", want \"%s\"", (int)b->n, (const char *)b->p, s);
}

/* Texts hold %ed, %ed2, %ec, %rsa where a key stands. */
static inline struct buf help_fill_in(const char *text)
{
	static const struct {
		const char *mark, *file;
	} marks[] = {{"%ed2", "ed25519_pw"}, {"%ed", "ed25519"}, {"%ec", "ecdsa_256"},
		{"%rsa", "rsa_1024"}};
	struct buf out;
	buf_init(&out, 65536);
	while (*text != '\0') {
		bool done = false;
		for (size_t i = 0; i < ARRAY_N(marks) && !done; i++) {
			size_t n = strlen(marks[i].mark);
			if (strncmp(text, marks[i].mark, n) != 0)
				continue;
			struct key *k = help_public(marks[i].file);
			assert_ok(key_public_line(k, NULL, &out));
			key_free(k);
			text += n;
			done = true;
		}
		if (!done)
			buf_put_u8(&out, (uint8_t)*text++);
	}
	return out;
}

#endif
