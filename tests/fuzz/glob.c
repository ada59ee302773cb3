/* SPDX-License-Identifier: ISC */
/*
 * glob - patterns against names
 *
 * What has no magic matches only itself without its quotes; a star in front or behind never takes a
 * match away; the time is bounded.
 *
 * input: the pattern, a NUL, the name
 */
#include "fuzz.h"
#include "transfer/glob.h"

#define TEXT_MAX 512

static bool has_star_match(struct cslice pattern, struct cslice name)
{
	uint8_t more[TEXT_MAX + 2];
	more[0] = '*';
	memcpy(more + 1, pattern.p, pattern.n);
	return glob_part(cslice_of(more, pattern.n + 1), name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	uint8_t plain[TEXT_MAX];
	const uint8_t *end = n > 0 ? memchr(data, '\0', n) : NULL;
	size_t pattern_n = end != NULL ? (size_t)(end - data) : n;
	struct cslice name = {NULL, 0};
	if (end != NULL)
		name = cslice_of(end + 1, n - pattern_n - 1);
	if (pattern_n > TEXT_MAX || name.n > TEXT_MAX || n == 0)
		return 0;
	struct cslice pattern = {data, pattern_n};
	bool matches = glob_part(pattern, name);
	size_t plain_n = glob_plain(pattern, (struct slice){plain, sizeof(plain)});
	PROMISE(plain_n <= pattern.n);
	if (!glob_has_magic(pattern))
		PROMISE(matches == cslice_eq(cslice_of(plain, plain_n), name));
	/* a name without a dot in front is also one of the longer pattern */
	if (matches && (name.n == 0 || name.p[0] != '.'))
		PROMISE(has_star_match(pattern, name));
	PROMISE(glob_part(cslice_of("*", 1), name) == (name.n == 0 || name.p[0] != '.'));
	return 0;
}
