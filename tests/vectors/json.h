/* SPDX-License-Identifier: ISC */
/*
 * json - a small JSON reader for test vectors
 *
 * Reads a whole file into a tree; strict enough that a damaged file is an error and not a shorter
 *test. Strings are decoded (escapes, UTF-16 pairs) and NUL-terminated; numbers stay text (json_int
 *converts). Look-ups accept NULL and give NULL, so that paths can be chained:
 *json_get(json_get(root, "a"), "b").
 *
 *	struct json_doc *doc = json_load(path);
 *	for (const struct json *g = json_first(json_get(json_root(doc), "testGroups")); g; g =
 *g->next) for (const struct json *t = json_first(json_get(g, "tests")); t; t = t->next)
 *			use(json_int(json_get(t, "tcId"), -1), json_text(json_get(t, "result")));
 *	json_free(doc);
 */
#ifndef TESTS_VECTORS_JSON_H
#define TESTS_VECTORS_JSON_H

#include "base/slice.h"

enum json_kind { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json {
	enum json_kind kind;
	bool truth;         /* JSON_BOOL */
	const char *key;    /* the name of a member of an object, else NULL */
	const char *text;   /* JSON_STRING, JSON_NUMBER: NUL-terminated */
	size_t n;           /* bytes of text, or number of children */
	struct json *child; /* first element or member */
	struct json *next;  /* next element or member of the parent */
};

struct json_doc;

/* Gives a document, or NULL when the file cannot be read or is not JSON. */
struct json_doc *json_load(const char *path);
/* The same for text in memory (copied). */
struct json_doc *json_parse(const char *text, size_t n);
void json_free(struct json_doc *doc);
const struct json *json_root(const struct json_doc *doc); /* NULL for NULL */

/* All of these take NULL. */
const struct json *json_get(const struct json *object, const char *key); /* NULL: no such member */
const struct json *json_first(const struct json *array_or_object);
const char *json_text(const struct json *j);               /* "" when it is no string or number */
int64_t json_int(const struct json *j, int64_t otherwise); /* whole numbers only */
bool json_is(const struct json *j, const char *text);      /* a string with this text */
bool json_has(const struct json *array, const char *text); /* an array with this string in it */
/* Hex string to bytes.  Gives memory (caller frees; never NULL on success, even for 0 bytes).
 * False when it is missing, no string, of odd length or not hex. */
bool json_hex(const struct json *j, uint8_t **out, size_t *n);
/* Hex string of exactly n bytes into out. */
bool json_hex_exact(const struct json *j, uint8_t *out, size_t n);

#endif
