/* SPDX-License-Identifier: ISC */
/* ciphers - which are measured, and which one to take */
#include <math.h>
#include <stdio.h>

#include "app/ssh-speed/remote.h"

#define LIST_MAX 65536
#define NEAR     1.1 /* so much slower is as fast: measurements differ by that much */
#define CHEAPER  0.9 /* so much must be saved to be worth it */
#define ENOUGH   ((uint64_t)64 << 20) /* bytes; of less, the beginning is what counts */

/* ---- names --------------------------------------------------------------------------------------
 */
static size_t bare_n(const char *name)
{
	return strcspn(name, "@");
}

/* Two neighbours changed places. */
static bool is_swapped(struct cslice word, const char *name)
{
	size_t i = 0;
	if (word.n != bare_n(name))
		return false;
	while (i < word.n && word.p[i] == (uint8_t)name[i])
		i++;
	return i + 1 < word.n && word.p[i] == (uint8_t)name[i + 1] &&
	       word.p[i + 1] == (uint8_t)name[i] &&
	       memcmp(word.p + i + 2, name + i + 2, word.n - i - 2) == 0;
}

static bool is_beginning(struct cslice word, const char *name)
{
	return word.n >= 4 && strncmp(name, (const char *)word.p, word.n) == 0;
}

/* One letter or two are wrong, in the part before the domain. */
static bool is_near(struct cslice word, const char *name)
{
	char bare[64];
	const char *one = bare;
	(void)snprintf(bare, sizeof(bare), "%.*s", (int)bare_n(name), name);
	return text_nearest(word, &one, 1) != NULL;
}

/* The cipher that was meant by a word that is none; NULL = no idea.  The domain says little. */
static const char *meant(struct cslice word)
{
	const uint8_t *at = memchr(word.p, '@', word.n);
	if (at != NULL)
		word.n = (size_t)(at - word.p);
	static bool (*const rules[])(struct cslice word, const char *name) = {
		is_beginning, is_swapped, is_near};
	for (size_t r = 0; r < ARRAY_N(rules); r++)
		for (size_t i = 0; i < alg_ciphers_n; i++)
			if (rules[r](word, alg_ciphers[i].name))
				return alg_ciphers[i].name;
	return NULL;
}

err_t ciphers_check(const char *spec)
{
	struct buf list;
	struct cslice bad = {NULL, 0};
	buf_init(&list, LIST_MAX);
	err_t e = alg_list_apply(ALG_CIPHER, false, cslice_str(spec), &list, &bad);
	buf_done(&list);
	if (e == OK)
		return OK;
	const char *near = bad.n > 0 ? meant(bad) : NULL;
	fprintf(stderr, "ssh-speed: unknown cipher \"%.*s\"%s%s%s\n", (int)bad.n,
		(const char *)bad.p, near != NULL ? ": is " : "", near != NULL ? near : "",
		near != NULL ? " meant?" : "; ssh -Q cipher lists those that there are");
	return E_USAGE;
}

static void put_usual(const struct ssh *s, struct buf *out)
{
	if (s->cfg.ciphers_set)
		buf_printf(out, "%s", s->cfg.ciphers);
	else
		alg_client_cipher_default(out);
}

/* Behind the usual ones, so that the first login takes one of those. */
static void put_rest(struct buf *out)
{
	for (size_t i = 0; i < alg_ciphers_n; i++)
		if (!list_has(buf_bytes(out), cslice_str(alg_ciphers[i].name)))
			buf_printf(out, ",%s", alg_ciphers[i].name);
}

err_t ciphers_wanted(const struct ssh *s, const struct speed_options *o, struct buf *out)
{
	struct cslice bad;
	if (o->ciphers != NULL)
		TRY(alg_list_apply(ALG_CIPHER, false, cslice_str(o->ciphers), out, &bad));
	else
		put_usual(s, out);
	if (o->ciphers == NULL && o->all)
		put_rest(out);
	buf_put_u8(out, 0);
	return buf_err(out);
}

/* ---- the choice ---------------------------------------------------------------------------------
 */
static bool is_whole(const struct report_line *l)
{
	return isfinite(l->v[REMOTE_UP]) && isfinite(l->v[REMOTE_DOWN]) && l->v[REMOTE_UP] > 0 &&
	       l->v[REMOTE_DOWN] > 0;
}

static bool is_old(const char *name)
{
	const struct alg_cipher *c = alg_cipher_find(cslice_str(name));
	return c == NULL || (c->flags & AF_LEGACY) != 0;
}

/* Microseconds that a byte takes there and back. */
static double cost_of(const struct report_line *l)
{
	return 1 / l->v[REMOTE_UP] + 1 / l->v[REMOTE_DOWN];
}

struct choice {
	const struct report_line *fastest, *best, *dearest;
	size_t whole_n, near_n;
};

static void choose(const struct report_sheet *s, struct choice *c)
{
	for (size_t i = 0; i < s->lines_n; i++) {
		const struct report_line *l = &s->lines[i];
		if (!is_whole(l) || is_old(l->name))
			continue;
		c->whole_n++;
		if (c->fastest == NULL || cost_of(l) < cost_of(c->fastest))
			c->fastest = l;
	}
	c->best = c->dearest = c->fastest;
	for (size_t i = 0; i < s->lines_n && c->fastest != NULL; i++) {
		const struct report_line *l = &s->lines[i];
		double cpu = l->v[REMOTE_CPU];
		if (!is_whole(l) || is_old(l->name) || cost_of(l) > NEAR * cost_of(c->fastest))
			continue;
		c->near_n++;
		if (cpu < CHEAPER * c->fastest->v[REMOTE_CPU] && cpu < c->best->v[REMOTE_CPU])
			c->best = l;
		if (cpu > c->dearest->v[REMOTE_CPU])
			c->dearest = l;
	}
}

static void put_reason(const struct choice *c, struct buf *out)
{
	char up[32], down[32];
	report_number(c->best->v[REMOTE_UP], up);
	report_number(c->best->v[REMOTE_DOWN], down);
	if (c->whole_n == 1)
		buf_printf(out, "It is the only one that was measured: %s MB/s up, %s down.", up,
			down);
	else if (c->near_n == c->whole_n)
		buf_printf(out,
			"All are about as fast (within 10%%: something else than the cipher is "
			"the limit). It is %s: %.2f CPU seconds a GB; the dearest takes %.2f.",
			c->best == c->fastest ? "the fastest, and none costs much less"
					      : "the one that costs least",
			c->best->v[REMOTE_CPU], c->dearest->v[REMOTE_CPU]);
	else if (c->best == c->fastest)
		buf_printf(out, "It is the fastest: %s MB/s up, %s down, %.2f CPU seconds a GB.",
			up, down, c->best->v[REMOTE_CPU]);
	else
		buf_printf(out,
			"It is within 10%% of the fastest (%s) and costs less: %.2f CPU seconds "
			"a GB against %.2f.",
			c->fastest->name, c->best->v[REMOTE_CPU], c->fastest->v[REMOTE_CPU]);
}

static bool is_measured(const struct report_sheet *sheet, struct cslice name)
{
	for (size_t i = 0; i < sheet->lines_n; i++)
		if (cslice_eq_str(name, sheet->lines[i].name) && is_whole(&sheet->lines[i]))
			return true;
	return false;
}

/* What ssh takes for this host without being told.  To take another is only advised where the two
 * were compared. */
static void put_advice(
	const struct ssh *s, const struct report_sheet *sheet, const char *best, struct buf *out)
{
	struct buf usual;
	buf_init(&usual, LIST_MAX);
	put_usual(s, &usual);
	struct cslice rest = buf_bytes(&usual), name = {NULL, 0};
	bool is_found = false;
	while (!is_found && list_next(&rest, &name))
		is_found = list_has(buf_bytes(&s->peer_ciphers), name);
	if (is_found && cslice_eq_str(name, best))
		buf_printf(out, " ssh takes it by itself for this host.");
	else if (is_found && is_measured(sheet, name))
		buf_printf(out,
			" By itself ssh takes %.*s; \"Ciphers ^%s\" in ssh_config changes that.",
			(int)name.n, (const char *)name.p, best);
	buf_done(&usual);
}

err_t ciphers_choose(
	struct report *r, const struct report_sheet *sheet, const struct ssh *s, uint64_t bytes)
{
	struct choice c = {0};
	struct buf why;
	choose(sheet, &c);
	if (c.best == NULL)
		return OK;
	buf_init(&why, 4096);
	put_reason(&c, &why);
	if (bytes < ENOUGH)
		buf_printf(&why,
			" The sample is small (%.0f MiB): take --size 256 before you choose by it.",
			(double)bytes / (1 << 20));
	else if (c.whole_n > 1)
		put_advice(s, sheet, c.best->name, &why);
	buf_put_u8(&why, 0);
	err_t e = buf_err(&why);
	if (e == OK)
		e = report_verdict(r, c.best->name, (const char *)why.p);
	buf_done(&why);
	return e;
}
