/* SPDX-License-Identifier: ISC */
/*
 * json - recursive descent over a private copy of the text
 *
 * Strings are decoded where they lie: the decoded form is never longer than the source, and the
 * closing quote leaves room for the NUL.  Numbers get their NUL after the whole text was read (the
 * byte after a number may be a bracket that is still needed), so their ends are remembered in the
 * node until then.
 */
#include <stdio.h>
#include <stdlib.h>

#include "json.h"

#define JSON_DEPTH 64
#define JSON_NODES 256
#define JSON_LIMIT ((size_t)64 << 20)

struct json_block {
	struct json_block *next;
	size_t used;
	struct json node[JSON_NODES];
};

struct json_doc {
	char *text;
	struct json_block *blocks;
	struct json *root;
};

struct reader {
	struct json_doc *doc;
	char *p, *end;
	unsigned depth;
};

static struct json *value(struct reader *r);

static struct json *node_new(struct json_doc *doc, enum json_kind kind)
{
	if (doc->blocks == NULL || doc->blocks->used == JSON_NODES) {
		struct json_block *b = calloc(1, sizeof(*b));
		if (b == NULL)
			return NULL;
		b->next = doc->blocks;
		doc->blocks = b;
	}
	struct json *j = &doc->blocks->node[doc->blocks->used++];
	j->kind = kind;
	return j;
}

static void blanks(struct reader *r)
{
	while (r->p < r->end && (*r->p == ' ' || *r->p == '\t' || *r->p == '\n' || *r->p == '\r'))
		r->p++;
}

static bool eat(struct reader *r, char c)
{
	blanks(r);
	if (r->p == r->end || *r->p != c)
		return false;
	r->p++;
	return true;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static bool hex4(struct reader *r, uint32_t *out)
{
	uint32_t v = 0;

	if (r->end - r->p < 4)
		return false;
	for (int i = 0; i < 4; i++) {
		int d = hex_digit(*r->p++);
		if (d < 0)
			return false;
		v = v << 4 | (uint32_t)d;
	}
	*out = v;
	return true;
}

static char *utf8_put(char *to, uint32_t c)
{
	if (c < 0x80) {
		*to++ = (char)c;
	} else if (c < 0x800) {
		*to++ = (char)(0xc0 | c >> 6);
		*to++ = (char)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		*to++ = (char)(0xe0 | c >> 12);
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
		*to++ = (char)(0x80 | (c & 0x3f));
	} else {
		*to++ = (char)(0xf0 | c >> 18);
		*to++ = (char)(0x80 | (c >> 12 & 0x3f));
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
		*to++ = (char)(0x80 | (c & 0x3f));
	}
	return to;
}

static bool unicode(struct reader *r, char **to)
{
	uint32_t c, low;

	if (!hex4(r, &c))
		return false;
	if (c >= 0xdc00 && c <= 0xdfff)
		return false;
	if (c >= 0xd800 && c <= 0xdbff) {
		if (r->end - r->p < 6 || r->p[0] != '\\' || r->p[1] != 'u')
			return false;
		r->p += 2;
		if (!hex4(r, &low) || low < 0xdc00 || low > 0xdfff)
			return false;
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	}
	*to = utf8_put(*to, c);
	return true;
}

static bool escape(struct reader *r, char **to)
{
	static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";

	if (r->p == r->end)
		return false;
	char c = *r->p++;
	if (c == 'u')
		return unicode(r, to);
	const char *at = c == '\0' ? NULL : strchr(from, c);
	if (at == NULL)
		return false;
	*(*to)++ = into[at - from];
	return true;
}

/* After the opening quote.  n: decoded bytes. */
static const char *string(struct reader *r, size_t *n)
{
	char *start = r->p, *to = r->p;

	while (r->p < r->end) {
		char c = *r->p++;
		if (c == '"') {
			*to = '\0';
			*n = (size_t)(to - start);
			return start;
		}
		if ((unsigned char)c < 0x20)
			return NULL;
		if (c != '\\')
			*to++ = c;
		else if (!escape(r, &to))
			return NULL;
	}
	return NULL;
}

static struct json *container(struct reader *r, enum json_kind kind, char close)
{
	struct json *j = node_new(r->doc, kind), **tail;

	if (j == NULL || ++r->depth > JSON_DEPTH)
		return NULL;
	tail = &j->child;
	if (eat(r, close)) {
		r->depth--;
		return j;
	}
	do {
		const char *key = NULL;
		size_t key_n;
		if (kind == JSON_OBJECT &&
			(!eat(r, '"') || (key = string(r, &key_n)) == NULL || !eat(r, ':')))
			return NULL;
		struct json *child = value(r);
		if (child == NULL)
			return NULL;
		child->key = key;
		*tail = child;
		tail = &child->next;
		j->n++;
	} while (eat(r, ','));
	if (!eat(r, close))
		return NULL;
	r->depth--;
	return j;
}

static size_t digits(struct reader *r)
{
	size_t n = 0;

	for (; r->p < r->end && *r->p >= '0' && *r->p <= '9'; r->p++)
		n++;
	return n;
}

static struct json *number(struct reader *r)
{
	struct json *j = node_new(r->doc, JSON_NUMBER);
	char *start = r->p;

	if (j == NULL)
		return NULL;
	if (*r->p == '-')
		r->p++;
	bool zero = r->p < r->end && *r->p == '0';
	size_t whole = digits(r);
	if (whole == 0 || (zero && whole > 1))
		return NULL;
	if (r->p < r->end && *r->p == '.') {
		r->p++;
		if (digits(r) == 0)
			return NULL;
	}
	if (r->p < r->end && (*r->p == 'e' || *r->p == 'E')) {
		r->p++;
		if (r->p < r->end && (*r->p == '+' || *r->p == '-'))
			r->p++;
		if (digits(r) == 0)
			return NULL;
	}
	j->text = start;
	j->n = (size_t)(r->p - start);
	return j;
}

static struct json *word(struct reader *r)
{
	static const struct {
		const char *text;
		enum json_kind kind;
		bool truth;
	} words[] = {
		{"true", JSON_BOOL, true}, {"false", JSON_BOOL, false}, {"null", JSON_NULL, false}};

	for (size_t i = 0; i < ARRAY_N(words); i++) {
		size_t n = strlen(words[i].text);
		if ((size_t)(r->end - r->p) < n || memcmp(r->p, words[i].text, n) != 0)
			continue;
		r->p += n;
		struct json *j = node_new(r->doc, words[i].kind);
		if (j != NULL)
			j->truth = words[i].truth;
		return j;
	}
	return NULL;
}

static struct json *value(struct reader *r)
{
	blanks(r);
	if (r->p == r->end)
		return NULL;
	switch (*r->p) {
	case '{':
		r->p++;
		return container(r, JSON_OBJECT, '}');
	case '[':
		r->p++;
		return container(r, JSON_ARRAY, ']');
	case '"': {
		struct json *j = node_new(r->doc, JSON_STRING);
		r->p++;
		if (j == NULL || (j->text = string(r, &j->n)) == NULL)
			return NULL;
		return j;
	}
	default:
		return *r->p == '-' || (*r->p >= '0' && *r->p <= '9') ? number(r) : word(r);
	}
}

static void numbers_terminate(struct json_doc *doc)
{
	for (struct json_block *b = doc->blocks; b != NULL; b = b->next)
		for (size_t i = 0; i < b->used; i++)
			if (b->node[i].kind == JSON_NUMBER)
				doc->text[(size_t)(b->node[i].text - doc->text) + b->node[i].n] =
					'\0';
}

static struct json_doc *parse_taken(char *text, size_t n)
{
	struct json_doc *doc = calloc(1, sizeof(*doc));

	if (doc == NULL) {
		free(text);
		return NULL;
	}
	doc->text = text;
	struct reader r = {doc, text, text + n, 0};
	doc->root = value(&r);
	blanks(&r);
	if (doc->root == NULL || r.p != r.end) {
		json_free(doc);
		return NULL;
	}
	numbers_terminate(doc);
	return doc;
}

struct json_doc *json_parse(const char *text, size_t n)
{
	char *copy = n > JSON_LIMIT ? NULL : malloc(n + 1);

	if (copy == NULL)
		return NULL;
	memcpy(copy, text, n);
	copy[n] = '\0';
	return parse_taken(copy, n);
}

struct json_doc *json_load(const char *path)
{
	FILE *f = fopen(path, "rb");
	char *text = NULL;
	size_t n = 0, cap = 0;

	if (f == NULL)
		return NULL;
	for (;;) {
		if (cap - n < 2) {
			cap = cap == 0 ? (size_t)1 << 16 : cap * 2;
			char *more = cap > JSON_LIMIT ? NULL : realloc(text, cap);
			if (more == NULL)
				break;
			text = more;
		}
		size_t got = fread(text + n, 1, cap - n - 1, f);
		if (got == 0)
			break;
		n += got;
	}
	bool whole = text != NULL && !ferror(f) && feof(f);
	(void)fclose(f);
	if (!whole) {
		free(text);
		return NULL;
	}
	text[n] = '\0';
	return parse_taken(text, n);
}

void json_free(struct json_doc *doc)
{
	if (doc == NULL)
		return;
	for (struct json_block *b = doc->blocks, *next; b != NULL; b = next) {
		next = b->next;
		free(b);
	}
	free(doc->text);
	free(doc);
}

const struct json *json_root(const struct json_doc *doc)
{
	return doc == NULL ? NULL : doc->root;
}

const struct json *json_get(const struct json *object, const char *key)
{
	if (object == NULL || object->kind != JSON_OBJECT)
		return NULL;
	for (const struct json *j = object->child; j != NULL; j = j->next)
		if (strcmp(j->key, key) == 0)
			return j;
	return NULL;
}

const struct json *json_first(const struct json *array_or_object)
{
	return array_or_object == NULL ? NULL : array_or_object->child;
}

const char *json_text(const struct json *j)
{
	return j == NULL || j->text == NULL ? "" : j->text;
}

int64_t json_int(const struct json *j, int64_t otherwise)
{
	char *end;

	if (j == NULL || j->kind != JSON_NUMBER)
		return otherwise;
	long long v = strtoll(j->text, &end, 10);
	return *end == '\0' ? (int64_t)v : otherwise;
}

bool json_is(const struct json *j, const char *text)
{
	return j != NULL && j->kind == JSON_STRING && strcmp(j->text, text) == 0;
}

bool json_has(const struct json *array, const char *text)
{
	if (array == NULL || array->kind != JSON_ARRAY)
		return false;
	for (const struct json *j = array->child; j != NULL; j = j->next)
		if (json_is(j, text))
			return true;
	return false;
}

static bool hex_read(const struct json *j, uint8_t *out)
{
	for (size_t i = 0; i < j->n / 2; i++) {
		int high = hex_digit(j->text[2 * i]), low = hex_digit(j->text[2 * i + 1]);
		if (high < 0 || low < 0)
			return false;
		out[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

bool json_hex(const struct json *j, uint8_t **out, size_t *n)
{
	if (j == NULL || j->kind != JSON_STRING || j->n % 2 != 0)
		return false;
	uint8_t *p = malloc(j->n / 2 + 1);
	if (p == NULL || !hex_read(j, p)) {
		free(p);
		return false;
	}
	*out = p;
	*n = j->n / 2;
	return true;
}

bool json_hex_exact(const struct json *j, uint8_t *out, size_t n)
{
	uint8_t *p;
	size_t got;

	if (!json_hex(j, &p, &got))
		return false;
	bool fits = got == n;
	if (fits)
		memcpy(out, p, n);
	free(p);
	return fits;
}
