/* SPDX-License-Identifier: ISC */
/* vec - counting and finding vectors, see vec.h */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "vec.h"

#define VEC_SKIP        77
#define VEC_FILE_MAX    ((size_t)16 << 20)
#define VEC_FAILS_SHOWN 20

static struct {
	size_t passed, failed;
} count;

static const char *folder(void)
{
	const char *env = getenv("BOWLINE_VECTORS");

	return env != NULL && *env != '\0' ? env : "../shared/vectors";
}

char *vec_path(const char *name)
{
	size_t n = strlen(folder()) + strlen(name) + 2;
	char *path = malloc(n);

	if (path == NULL)
		abort();
	(void)snprintf(path, n, "%s/%s", folder(), name);
	return path;
}

void vec_need_shared(void)
{
	struct stat st;

	if (stat(folder(), &st) == 0 && S_ISDIR(st.st_mode))
		return;
	printf("SKIP: the shared vectors are not beside the source (%s)\n", folder());
	exit(VEC_SKIP);
}

struct json_doc *vec_load(const char *name)
{
	char *path = vec_path(name);
	struct json_doc *doc = json_load(path);

	free(path);
	if (doc == NULL)
		vec_check(false, name, -1);
	return doc;
}

char *vec_file(const char *name, size_t *n)
{
	char *path = vec_path(name), *text = malloc(VEC_FILE_MAX + 1);
	FILE *f = fopen(path, "rb");

	free(path);
	if (f == NULL || text == NULL) {
		if (f != NULL)
			(void)fclose(f);
		free(text);
		vec_check(false, name, -1);
		return NULL;
	}
	*n = fread(text, 1, VEC_FILE_MAX, f);
	text[*n] = '\0';
	(void)fclose(f);
	return text;
}

void vec_check(bool ok, const char *name, int64_t number)
{
	if (ok) {
		count.passed++;
		return;
	}
	if (count.failed++ < VEC_FAILS_SHOWN)
		printf("FAIL: %s %lld\n", name, (long long)number);
}

static int digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c == '\0' ? NULL : strchr(digits, c | 0x20);

	return at == NULL ? -1 : (int)(at - digits);
}

void vec_hex(uint8_t *out, size_t n, const char *hex)
{
	if (strlen(hex) != 2 * n) {
		printf("FAIL: a vector of the program has %zu digits, not %zu\n", strlen(hex),
			2 * n);
		exit(1);
	}
	for (size_t i = 0; i < n; i++) {
		int high = digit(hex[2 * i]), low = digit(hex[2 * i + 1]);
		if (high < 0 || low < 0) {
			printf("FAIL: a vector of the program is not hex\n");
			exit(1);
		}
		out[i] = (uint8_t)(high << 4 | low);
	}
}

bool vec_eq_hex(const uint8_t *p, size_t n, const char *hex)
{
	uint8_t *want = malloc(n + 1);

	if (want == NULL)
		abort();
	vec_hex(want, n, hex);
	bool same = memcmp(p, want, n) == 0;
	free(want);
	return same;
}

int vec_done(void)
{
	printf("%zu passed, %zu failed\n", count.passed, count.failed);
	if (count.passed + count.failed == 0)
		printf("FAIL: no vector was checked\n");
	return count.failed != 0 || count.passed == 0;
}
