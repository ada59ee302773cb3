/* SPDX-License-Identifier: ISC */
/* show - the formats of OpenSSH's sftp: scripts read them */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "app/sftp/show.h"
#include "base/text.h"

#define HALF_YEAR ((uint64_t)365 * 24 * 60 * 60 / 2)

/* ---- words ------------------------------------------------------------------------------------
 */
void show_size(uint64_t bytes, char out[8])
{
	static const char units[] = "BKMGTPE";
	size_t unit = 0;
	uint64_t whole = bytes, rest = 0;
	for (; whole >= 1024; unit++) {
		rest = whole % 1024;
		whole /= 1024;
	}
	uint64_t tenths = (rest * 10 + 512) / 1024; /* rounded */
	if (tenths == 10) {
		whole++;
		tenths = 0;
	}
	if (whole == 1024 && unit + 2 < sizeof(units)) {
		whole = 1;
		unit++;
	}
	if (unit == 0)
		(void)snprintf(out, 8, "%uB", (unsigned)whole);
	else if (whole < 100)
		(void)snprintf(
			out, 8, "%u.%u%c", (unsigned)whole, (unsigned)tenths % 10, units[unit]);
	else
		(void)snprintf(
			out, 8, "%u%c", (unsigned)(whole + (tenths >= 5)) % 10000, units[unit]);
}

static void date_words(uint64_t t, uint64_t now_s, char *out, size_t n)
{
	struct tm tm;
	time_t when = (time_t)t;
	if (localtime_r(&when, &tm) == NULL)
		(void)snprintf(out, n, "?");
	else if (t + HALF_YEAR > now_s)
		(void)strftime(out, n, "%b %e %H:%M", &tm);
	else
		(void)strftime(out, n, "%b %e  %Y", &tm);
}

/* A person's or a group's name, or its number. */
static void owner_words(const struct show_item *i, const char *name, uint32_t id, char out[64])
{
	struct buf safe;
	if ((i->a.flags & SF_A_OWNER) == 0) {
		(void)snprintf(out, 64, "?");
	} else if (name == NULL || name[0] == '\0') {
		(void)snprintf(out, 64, "%u", (unsigned)id);
	} else {
		buf_init(&safe, 4 * strlen(name) + 1);
		vis_put(&safe, cslice_str(name));
		buf_put_u8(&safe, 0);
		(void)snprintf(out, 64, "%s", buf_err(&safe) == OK ? (const char *)safe.p : "?");
		buf_done(&safe);
	}
}

static void put_name(struct buf *out, const struct show_item *i)
{
	vis_put(out, cslice_str(i->name));
	if (i->is_marked)
		buf_put_u8(out, '/');
}

static void put_long(struct buf *out, const struct show_item *i, const struct show_opts *o)
{
	char mode[11], user[64], group[64], size[24], date[32];
	if (i->longname != NULL) {
		vis_put(out, cslice_str(i->longname));
		return;
	}
	sf_mode_text((i->a.flags & SF_A_MODE) != 0 ? i->a.mode : 0, mode);
	owner_words(i, i->user, i->a.uid, user);
	owner_words(i, i->group, i->a.gid, group);
	if (o->is_human)
		show_size(i->a.size, size);
	else
		(void)snprintf(size, sizeof(size), "%llu", (unsigned long long)i->a.size);
	if ((i->a.flags & SF_A_SIZE) == 0)
		(void)snprintf(size, sizeof(size), "?");
	date_words(i->a.mtime, o->now_s, date, sizeof(date));
	if ((i->a.flags & SF_A_TIMES) == 0)
		(void)snprintf(date, sizeof(date), "?");
	/* how many names it has is not told by the protocol */
	buf_printf(out, "%s  %3s %-8s %-8s %8s %s ", mode, "?", user, group, size, date);
	put_name(out, i);
}

/* ---- order ------------------------------------------------------------------------------------
 */
static int by_name(const void *a, const void *b)
{
	const struct show_item *x = a, *y = b;
	return strcmp(x->name, y->name);
}

/* The newest, the largest first. */
static int by_time(const void *a, const void *b)
{
	const struct show_item *x = a, *y = b;
	return x->a.mtime != y->a.mtime ? (x->a.mtime < y->a.mtime ? 1 : -1) : by_name(a, b);
}

static int by_size(const void *a, const void *b)
{
	const struct show_item *x = a, *y = b;
	return x->a.size != y->a.size ? (x->a.size < y->a.size ? 1 : -1) : by_name(a, b);
}

void show_sort(struct show_item *v, size_t n, const struct show_opts *o)
{
	static int (*const orders[])(const void *, const void *) = {
		[SHOW_BY_NAME] = by_name, [SHOW_BY_TIME] = by_time, [SHOW_BY_SIZE] = by_size};
	if (o->order == SHOW_UNSORTED || n == 0)
		return;
	qsort(v, n, sizeof(*v), orders[o->order]);
	for (size_t i = 0; o->is_reverse && i < n / 2; i++) {
		struct show_item other = v[i];
		v[i] = v[n - 1 - i];
		v[n - 1 - i] = other;
	}
}

/* ---- lists ------------------------------------------------------------------------------------
 */
/* How many places a name takes: what vis_put leaves is ASCII and whole UTF-8 characters. */
static size_t places(struct cslice text)
{
	size_t n = 0;
	for (size_t i = 0; i < text.n; i++)
		n += (text.p[i] & 0xc0) != 0x80;
	return n;
}

static size_t widest(const struct show_item *v, size_t n)
{
	size_t most = 0;
	struct buf name;
	buf_init(&name, 1 << 20);
	for (size_t i = 0; i < n; i++) {
		buf_clear(&name);
		put_name(&name, &v[i]);
		most = num_max(most, places(buf_bytes(&name)));
	}
	buf_done(&name);
	return most;
}

static void put_columns(
	struct buf *out, const struct show_item *v, size_t n, const struct show_opts *o)
{
	size_t need = widest(v, n) + 2, columns = num_max(o->width / need, 1);
	size_t room = num_min(o->width / columns, need), in_line = 0;
	for (size_t i = 0; i < n; i++) {
		size_t from = out->n;
		put_name(out, &v[i]);
		size_t taken =
			buf_err(out) == OK ? places(cslice_of(out->p + from, out->n - from)) : room;
		for (; taken < room; taken++)
			buf_put_u8(out, ' ');
		if (++in_line == columns || i + 1 == n) {
			buf_put_u8(out, '\n');
			in_line = 0;
		}
	}
}

void show_list(struct buf *out, const struct show_item *v, size_t n, const struct show_opts *o)
{
	if (!o->is_long && !o->is_single) {
		put_columns(out, v, n, o);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		if (o->is_long)
			put_long(out, &v[i], o);
		else
			put_name(out, &v[i]);
		buf_put_u8(out, '\n');
	}
}

/* ---- df ---------------------------------------------------------------------------------------
 */
static uint64_t percent(uint64_t part, uint64_t whole)
{
	return whole == 0 ? 0 : (uint64_t)((__uint128_t)part * 100 / whole);
}

/* All that are not free; a server may say that more are free than there are. */
static uint64_t less(uint64_t all, uint64_t free_n)
{
	return all > free_n ? all - free_n : 0;
}

static uint64_t kilobytes(uint64_t blocks, uint64_t size)
{
	return (uint64_t)((__uint128_t)blocks * size / 1024);
}

static void scaled(uint64_t blocks, uint64_t size, char out[8])
{
	__uint128_t bytes = (__uint128_t)blocks * size;
	show_size(bytes > UINT64_MAX ? UINT64_MAX : (uint64_t)bytes, out);
}

void show_vfs(struct buf *out, const struct sf_vfs *v, bool is_inodes, bool is_human)
{
	uint64_t size = v->frsize != 0 ? v->frsize : v->bsize;
	uint64_t used = less(v->blocks, v->bfree), files = less(v->files, v->ffree);
	if (is_inodes) {
		buf_printf(out, "     Inodes        Used       Avail      (root)    %%Capacity\n");
		buf_printf(out, "%11llu %11llu %11llu %11llu %11llu%%\n",
			(unsigned long long)v->files, (unsigned long long)files,
			(unsigned long long)v->favail, (unsigned long long)v->ffree,
			(unsigned long long)percent(files, v->files));
	} else if (is_human) {
		char all[8], taken[8], avail[8], root[8];
		scaled(v->blocks, size, all);
		scaled(used, size, taken);
		scaled(v->bavail, size, avail);
		scaled(v->bfree, size, root);
		buf_printf(out, "    Size     Used    Avail   (root)    %%Capacity\n");
		buf_printf(out, "%7sB %7sB %7sB %7sB %11llu%%\n", all, taken, avail, root,
			(unsigned long long)percent(used, v->blocks));
	} else {
		buf_printf(
			out, "        Size         Used        Avail       (root)    %%Capacity\n");
		buf_printf(out, "%12llu %12llu %12llu %12llu %11llu%%\n",
			(unsigned long long)kilobytes(v->blocks, size),
			(unsigned long long)kilobytes(used, size),
			(unsigned long long)kilobytes(v->bavail, size),
			(unsigned long long)kilobytes(v->bfree, size),
			(unsigned long long)percent(used, v->blocks));
	}
}
