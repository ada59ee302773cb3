/* SPDX-License-Identifier: ISC */
/* meter - the lines that tell how far a copy is */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/copy/meter.h"
#include "base/text.h"
#include "os/tty.h"

#define EVERY_US   1000000
#define STALLED_US 5000000
#define TOTAL_US   100000 /* the line of all, where files end one after the other */
#define COLS       80
#define COLS_MAX   512
#define COLS_FIXED 35 /* what stands behind the name, and the last column, which stays free */
#define LINE_MAX   ((size_t)4096)

/* ---- the numbers --------------------------------------------------------------------------------
 */
static const char units[] = " KMGTPE";

/* "   0  ", "6144KB", "  64MB": four digits. */
static void put_size(struct buf *out, uint64_t n)
{
	size_t unit = 0;
	while (n >= 10000 && units[unit + 1] != '\0') {
		n = n / 1024 + (n % 1024 >= 512 ? 1 : 0);
		unit++;
	}
	buf_printf(out, "%4llu%c%c", (unsigned long long)n, units[unit], unit > 0 ? 'B' : ' ');
}

/* " 11.3MB": always with a unit. */
static void put_rate(struct buf *out, double rate)
{
	size_t unit = 1;
	rate /= 1024;
	while (rate >= 999.95 && units[unit + 1] != '\0') {
		rate /= 1024;
		unit++;
	}
	buf_printf(out, "%5.1f%cB", rate, units[unit]);
}

static void put_time(struct buf *out, double seconds, const char *behind)
{
	uint64_t s = seconds < 0 ? 0 : seconds > 359999 ? 359999 : (uint64_t)seconds;
	if (s >= 3600)
		buf_printf(out, "%llu:%02u:%02u", (unsigned long long)(s / 3600),
			(unsigned)(s / 60 % 60), (unsigned)(s % 60));
	else
		buf_printf(out, "  %02u:%02u", (unsigned)(s / 60), (unsigned)(s % 60));
	buf_printf(out, "%s", behind);
}

static void put_left(struct buf *out, const struct meter_track *t, uint64_t now_us)
{
	if (t->is_over)
		put_time(out, (double)(now_us - t->start_us) / 1e6, "    ");
	else if (t->done < t->size && t->moved_us != 0 && now_us - t->moved_us >= STALLED_US)
		buf_printf(out, "- stalled -");
	else if (t->rate <= 0)
		buf_printf(out, "  --:-- ETA");
	else
		put_time(out, (double)(t->size - num_min(t->done, t->size)) / t->rate, " ETA");
}

/* Safe to print, cut or filled to `cols` columns.  A character is taken for one column. */
static err_t put_name(struct buf *out, struct cslice name, size_t cols)
{
	struct buf safe;
	buf_init(&safe, LINE_MAX);
	vis_put(&safe, cslice_of(name.p, num_min(name.n, METER_NAME_MAX)));
	err_t e = buf_err(&safe);
	size_t used = 0, end = 0;
	for (; e == OK && end < safe.n; end++) {
		bool is_first = (safe.p[end] & 0xc0) != 0x80;
		if (is_first && used == cols)
			break;
		used += is_first;
	}
	buf_put(out, safe.p, end);
	for (; used < cols; used++)
		buf_put_u8(out, ' ');
	buf_done(&safe);
	return e;
}

/* Of a file of 0 bytes all is there. */
static unsigned percent_of(const struct meter_track *t)
{
	if (t->done >= t->size)
		return 100;
	return (unsigned)((double)t->done * 100.0 / (double)t->size);
}

err_t meter_line(struct buf *out, struct cslice name, const struct meter_track *t, uint64_t now_us,
	size_t cols)
{
	cols = num_min(cols, COLS_MAX);
	TRY(put_name(out, name, cols > COLS_FIXED ? cols - COLS_FIXED : 0));
	buf_printf(out, " %3u%% ", percent_of(t));
	put_size(out, t->done);
	buf_put_u8(out, ' ');
	double whole_s = (double)(now_us - t->start_us) / 1e6;
	put_rate(out, t->is_over && whole_s > 0 ? (double)t->done / whole_s : t->rate);
	buf_printf(out, "/s ");
	put_left(out, t, now_us);
	return buf_err(out);
}

/* ---- measuring ----------------------------------------------------------------------------------
 */
static void track_start(struct meter_track *t, uint64_t now_us)
{
	*t = (struct meter_track){.start_us = now_us, .seen_us = now_us, .moved_us = now_us};
}

static void track_take(struct meter_track *t, uint64_t done, uint64_t size, uint64_t now_us)
{
	if (done != t->done)
		t->moved_us = now_us;
	t->done = done;
	t->size = size;
}

/* The newest second counts for a tenth, so that the time left does not jump. */
void meter_measure(struct meter_track *t, uint64_t now_us)
{
	if (now_us <= t->seen_us)
		return;
	uint64_t grown = t->done > t->seen ? t->done - t->seen : 0;
	double rate = (double)grown * 1e6 / (double)(now_us - t->seen_us);
	t->rate = t->rate > 0 ? t->rate * 0.9 + rate * 0.1 : rate;
	t->seen = t->done;
	t->seen_us = now_us;
}

/* ---- drawing ------------------------------------------------------------------------------------
 */
static bool is_wanted(const struct meter *m)
{
	return m->is_on && getpgrp() == tcgetpgrp(m->fd);
}

static void write_out(const struct meter *m, struct buf *text)
{
	for (size_t at = 0; buf_err(text) == OK && at < text->n;) {
		ssize_t n = write(m->fd, text->p + at, text->n - at);
		if (n <= 0)
			return; /* a terminal that takes nothing shows nothing */
		at += (size_t)n;
	}
}

static err_t put_total(const struct meter *m, struct buf *out, uint64_t now_us, size_t cols)
{
	char name[96];
	int n = snprintf(name, sizeof(name), "total: %llu of %llu files",
		(unsigned long long)m->files_done, (unsigned long long)m->files);
	return meter_line(out, cslice_of(name, (size_t)n), &m->all, now_us, cols);
}

/* The cursor starts and ends on the line of the file: at its end, or when that has ended, at the
 * beginning of the next. */
static void draw(struct meter *m, uint64_t now_us)
{
	m->drawn_us = now_us;
	if (!is_wanted(m))
		return;
	size_t cols = tty_size_of(m->fd).cols;
	struct buf out;
	buf_init(&out, 2 * LINE_MAX);
	if (cols == 0)
		cols = COLS;
	buf_put_u8(&out, '\r');
	err_t e = meter_line(&out, buf_bytes(&m->name), &m->file, now_us, cols);
	if (e == OK && m->file.is_over)
		buf_printf(&out, "%s", m->is_total_drawn ? "\n\033[K" : "\n");
	m->is_drawn = !m->file.is_over;
	m->is_total_drawn = m->is_total_drawn && !m->file.is_over; /* the next file's line now */
	if (e == OK && m->has_total && m->files > 1 && now_us >= m->total_drawn_us + TOTAL_US) {
		m->total_drawn_us = now_us;
		buf_printf(&out, "%s", m->file.is_over ? "" : "\n");
		e = put_total(m, &out, now_us, cols);
		buf_printf(&out, "%s", m->file.is_over ? "\r" : "\r\033[A");
		m->is_total_drawn = true;
	}
	if (e == OK)
		write_out(m, &out);
	buf_done(&out);
}

static void on_tick(struct ev_timer *t, uint64_t now_us)
{
	struct meter *m = t->arg;
	ev_timer_set(m->ev, t, now_us + EVERY_US);
	if (m->name.n == 0 || m->file.is_over || now_us < m->drawn_us + EVERY_US)
		return;
	meter_measure(&m->file, now_us);
	meter_measure(&m->all, now_us);
	draw(m, now_us);
}

/* ---- what the programs call ---------------------------------------------------------------------
 */
void meter_init(struct meter *m, int fd, struct ev *ev)
{
	const char *term = getenv("TERM");
	*m = (struct meter){.fd = fd, .ev = ev, .is_on = isatty(fd) == 1};
	m->has_total = term != NULL && term[0] != '\0' && strcmp(term, "dumb") != 0;
	m->tick = (struct ev_timer){.at_us = UINT64_MAX, .on = on_tick, .arg = m};
	buf_init(&m->name, METER_NAME_MAX);
	if (m->is_on && ev != NULL)
		ev_timer_set(ev, &m->tick, ev_now(ev) + EVERY_US);
}

/* The last part of a path. */
static struct cslice short_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash != NULL && slash[1] != '\0' ? slash + 1 : path;
	return cslice_of(name, strnlen(name, METER_NAME_MAX));
}

static void take_name(struct meter *m, const struct xfer_progress *p, uint64_t now_us)
{
	struct cslice n = short_name(p->name);
	bool is_same = cslice_eq(buf_bytes(&m->name), n);
	if (is_same && !m->file.is_over)
		return;
	track_start(&m->file, p->file_done > 0 ? m->mark_us : now_us);
	buf_clear(&m->name);
	buf_put(&m->name, n.p, n.n);
	m->drawn_us = 0; /* at once */
}

void meter_start(struct meter *m)
{
	m->mark_us = os_monotonic_us();
	if (!m->is_started)
		track_start(&m->all, m->mark_us);
	m->is_started = true;
}

void meter_take(struct meter *m, const struct xfer_progress *p)
{
	if (!m->is_on)
		return;
	uint64_t now_us = os_monotonic_us();
	if (!m->is_started)
		meter_start(m);
	m->files_done = p->files_done;
	m->files = p->files;
	track_take(&m->all, p->done, p->size, now_us);
	if (p->name == NULL || p->name[0] == '\0')
		return;
	take_name(m, p, now_us);
	track_take(&m->file, p->file_done, p->file_size, now_us);
	m->file.is_over = p->is_file_end;
	if (p->is_file_end)
		m->mark_us = now_us;
	if (m->drawn_us != 0 && !p->is_file_end && now_us < m->drawn_us + EVERY_US)
		return;
	meter_measure(&m->file, now_us);
	if (m->all.rate <= 0 || now_us >= m->all.seen_us + EVERY_US)
		meter_measure(&m->all, now_us);
	draw(m, now_us);
}

void meter_hide(struct meter *m)
{
	if (!m->is_on || (!m->is_drawn && !m->is_total_drawn))
		return;
	struct buf out;
	buf_init(&out, 64);
	/* A terminal that cannot clear gets a new line instead. */
	buf_printf(&out, "%s", m->has_total ? "\r\033[J" : "\n");
	write_out(m, &out);
	buf_done(&out);
	m->is_drawn = m->is_total_drawn = false;
	m->drawn_us = 0;
}

void meter_set(struct meter *m, bool is_on)
{
	meter_hide(m);
	m->is_on = is_on && isatty(m->fd) == 1;
}

void meter_done(struct meter *m)
{
	meter_hide(m);
	m->all.is_over = true;
	if (m->is_started && m->files > 1 && is_wanted(m)) {
		size_t cols = tty_size_of(m->fd).cols;
		struct buf out;
		buf_init(&out, LINE_MAX);
		if (put_total(m, &out, os_monotonic_us(), cols > 0 ? cols : COLS) == OK) {
			buf_put_u8(&out, '\n');
			write_out(m, &out);
		}
		buf_done(&out);
	}
	if (m->ev != NULL)
		ev_timer_stop(m->ev, &m->tick);
	buf_done(&m->name);
	m->is_on = false;
}
