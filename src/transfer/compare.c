/* SPDX-License-Identifier: ISC */
/*
 * compare - is the destination what the source is?
 *
 * A remote side is read by a reader, a local one where the other's bytes have come.  Where both are
 * remote one is read after the other, and sums of both are compared: that guards against accidents,
 * not against a server, which could give what it likes in any case.
 */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transfer/transfer_int.h"

#define PART ((uint64_t)4 * 1024 * 1024) /* of two local files, a turn */

/* ---- sums -------------------------------------------------------------------------------------
 */
static uint64_t turned(uint64_t v, unsigned by)
{
	return v << by | v >> (64 - by);
}

static void sum_word(struct sum *s, const uint8_t *p)
{
	uint64_t w;
	memcpy(&w, p, sizeof(w));
	s->a = turned(s->a ^ (w * 0x9e3779b97f4a7c15u), 31) * 0xd6e8feb86659fd93u;
	s->b = turned(s->b + w, 27) * 0xa0761d6478bd642fu + s->a;
}

static void sum_put(struct sum *s, const uint8_t *p, size_t n)
{
	for (; n > 0 && s->n % 8 != 0; n--) {
		s->tail[s->n++ % 8] = *p++;
		if (s->n % 8 == 0)
			sum_word(s, s->tail);
	}
	for (; n >= 8; n -= 8, p += 8, s->n += 8)
		sum_word(s, p);
	for (; n > 0; n--)
		s->tail[s->n++ % 8] = *p++;
}

static bool sum_eq(const struct sum *x, const struct sum *y)
{
	return x->n == y->n && x->a == y->a && x->b == y->b &&
	       memcmp(x->tail, y->tail, x->n % 8) == 0;
}

/* ---- local ------------------------------------------------------------------------------------
 */
static bool is_same(struct job *j, int fd, uint64_t at, struct cslice piece)
{
	uint8_t *own = j->x->scratch + XFER_BLOCK;
	while (piece.n > 0) {
		ssize_t got = pread(fd, own, num_min(piece.n, XFER_BLOCK), (off_t)at);
		if (got <= 0 || memcmp(own, piece.p, (size_t)got) != 0)
			return false;
		at += (uint64_t)got;
		piece = cslice_of(piece.p + got, piece.n - (size_t)got);
	}
	return true;
}

static void compare_local(struct job *j)
{
	uint8_t *block = j->x->scratch;
	for (uint64_t done = 0; done < PART && !j->is_different;) {
		size_t n = (size_t)(j->compare_until - j->compared);
		ssize_t got =
			n == 0 ? 0
			       : pread(j->out, block, num_min(n, XFER_BLOCK), (off_t)j->compared);
		if (got <= 0) {
			j->is_compared = true;
			return;
		}
		j->is_different = !is_same(j, j->in, j->compared, cslice_of(block, (size_t)got));
		j->compared += (uint64_t)got;
		done += (uint64_t)got;
	}
	j->is_compared = j->is_different;
}

/* ---- begin, go on -----------------------------------------------------------------------------
 */
static void begin_pass(struct job *j)
{
	struct xfer *x = j->x;
	bool is_to = x->to.r != NULL && j->pass == 0;
	struct xfer_end *end = is_to ? &x->to : &x->from;
	const struct xfer_handle *h = &j->from_h;
	if (is_to)
		h = j->phase == JOB_CHECK ? &j->check_h : &j->to_h;
	j->compared = 0;
	if (end->r == NULL)
		return;
	reader_init(&j->rd, j, end, h);
	j->rd.size = j->compare_until;
	/* in the end the destination must not be longer either */
	j->rd.until = is_to && j->phase == JOB_CHECK ? UINT64_MAX : j->compare_until;
}

void compare_begin(struct job *j, enum job_phase phase, uint64_t until)
{
	job_go(j, phase);
	j->compare_until = until;
	j->is_different = j->is_compared = false;
	j->pass = 0;
	memset(j->sums, 0, sizeof(j->sums));
	begin_pass(j);
}

void compare_push(struct job *j)
{
	struct xfer *x = j->x;
	if (x->from.r != NULL || x->to.r != NULL) {
		reader_pump(&j->rd);
		return;
	}
	if (!j->is_compared)
		compare_local(j);
	job_wake(j);
}

void compare_piece(struct job *j, uint64_t at, struct cslice piece)
{
	struct xfer *x = j->x;
	if (j->is_different)
		return;
	if (x->from.r != NULL && x->to.r != NULL)
		sum_put(&j->sums[j->pass], piece.p, piece.n);
	else if (!is_same(j, x->from.r == NULL ? j->in : j->out, at, piece))
		j->is_different = true;
	j->compared = at + piece.n;
	if (j->is_different)
		reader_stop(&j->rd);
}

/* ---- the verdict ------------------------------------------------------------------------------
 */
static void end_resumed(struct job *j)
{
	if (j->is_different) {
		log_debug1("%s: what is there differs: copied again from the start", j->to);
		j->start = j->at = j->done = 0;
	}
	job_data_begin(j);
}

static void end_check(struct job *j)
{
	struct stat st;
	if (j->out >= 0 && (fstat(j->out, &st) < 0 || (uint64_t)st.st_size != j->at))
		j->is_different = true;
	if (!j->is_different) {
		job_done(j);
		return;
	}
	xfer_say(j->x, LOG_L_ERROR, "\"%s\" differs from \"%s\" after it was copied", j->to,
		j->from);
	job_fail(j);
}

void compare_step(struct job *j)
{
	struct xfer *x = j->x;
	bool is_across = x->from.r != NULL && x->to.r != NULL;
	bool is_local = x->from.r == NULL && x->to.r == NULL;
	if (x->end != OK || (is_local ? !j->is_compared : !reader_is_over(&j->rd)))
		return;
	if (!is_local && j->rd.code != SF_ok && !j->is_different) {
		job_report_reader(j, "read remote", j->rd.end == &x->to ? j->to : j->from);
		job_fail(j);
		return;
	}
	if (j->compared != j->compare_until)
		j->is_different = true;
	if (is_across && j->pass == 0 && !j->is_different) {
		j->pass = 1;
		begin_pass(j);
		job_go(j, j->phase);
		return;
	}
	if (is_across && !j->is_different)
		j->is_different = !sum_eq(&j->sums[0], &j->sums[1]);
	if (j->phase == JOB_COMPARE)
		end_resumed(j);
	else
		end_check(j);
}
