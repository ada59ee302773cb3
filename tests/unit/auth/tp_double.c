/* SPDX-License-Identifier: ISC */
/* tp_double - a transport that keeps what is sent in an array, and allocators that fail on demand
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tp_double.h"

#define SCRATCH ((size_t)TP_BULK_MAX * (300 << 10))

struct tp *dbl_new(void)
{
	struct tp *tp = calloc(1, sizeof(*tp));
	assert_non_null(tp);
	tp->arena = malloc(DBL_ARENA);
	tp->scratch = malloc(SCRATCH);
	assert_true(tp->arena != NULL && tp->scratch != NULL);
	tp->bulk_n = TP_BULK_MAX;
	tp->room_max = SIZE_MAX;
	tp->packet_max = 256 << 10;
	tp->session_id = cslice_str("0123456789abcdef0123456789abcdef");
	tp->version = cslice_str("SSH-2.0-OpenSSH_9.2p1");
	tp->hostkey = cslice_str("host key blob");
	return tp;
}

void dbl_free(struct tp *tp)
{
	free(tp->arena);
	free(tp->scratch);
	free(tp);
}

size_t dbl_left(const struct tp *tp)
{
	return tp->sent_n - tp->taken_n;
}

struct cslice dbl_take(struct tp *tp, uint8_t no)
{
	if (tp->taken_n == tp->sent_n)
		fail_msg("no message was sent, %s expected", ssh_msg_name(no));
	struct dbl_msg *m = &tp->sent[tp->taken_n++];
	if (m->no != no)
		fail_msg("%s was sent, %s expected", ssh_msg_name(m->no), ssh_msg_name(no));
	return m->body;
}

size_t dbl_pad(const struct tp *tp)
{
	return tp->sent[tp->taken_n - 1].pad;
}

void tp_pad_next(struct tp *tp, size_t multiple)
{
	tp->pad = multiple;
}

void dbl_take_none(struct tp *tp)
{
	if (dbl_left(tp) > 0)
		fail_msg("%s was sent, nothing expected", ssh_msg_name(tp->sent[tp->taken_n].no));
}

/* Bodies that were taken stay readable until the arena starts anew, when all have been taken. */
static void record(struct tp *tp, const uint8_t *p, size_t n)
{
	if (tp->taken_n == tp->sent_n &&
		(tp->arena_n > DBL_ARENA / 2 || tp->sent_n > DBL_SENT_MAX / 2))
		tp->arena_n = tp->sent_n = tp->taken_n = 0;
	assert_true(tp->sent_n < DBL_SENT_MAX && n <= DBL_ARENA - tp->arena_n);
	uint8_t *at = tp->arena + tp->arena_n;
	memcpy(at, p, n);
	tp->arena_n += n;
	tp->sent[tp->sent_n++] = (struct dbl_msg){tp->msg, {at, n}, tp->pad};
	tp->pad = 0;
}

static err_t may_reserve(struct tp *tp, size_t n)
{
	assert_false(tp->has_reservation); /* one at a time: the promise of tp.h's users */
	if (tp->reserve_err != OK)
		return tp->reserve_err;
	return tp->is_blocked || tp->is_rekeying || n > tp->room_max ? E_AGAIN : OK;
}

err_t tp_reserve(struct tp *tp, uint8_t msg, size_t want, struct slice *body)
{
	TRY(may_reserve(tp, want));
	if (want > tp->packet_max)
		return E_LIMIT;
	tp->has_reservation = true;
	tp->msg = msg;
	tp->want = want;
	*body = (struct slice){tp->scratch, want};
	return OK;
}

err_t tp_commit(struct tp *tp, size_t used)
{
	assert_true(tp->has_reservation && used <= tp->want);
	tp->has_reservation = false;
	record(tp, tp->scratch, used);
	return OK;
}

void tp_cancel(struct tp *tp)
{
	assert_true(tp->has_reservation);
	tp->has_reservation = false;
}

err_t tp_reserve_bulk(struct tp *tp, uint8_t msg, struct tp_bulk *bulk)
{
	TRY(may_reserve(tp, bulk->head_n + num_min(bulk->data_max, bulk->want)));
	assert_true(bulk->data_max > 0 && bulk->want > 0);
	size_t each = num_min(bulk->data_max, tp->packet_max - bulk->head_n), want = bulk->want;
	uint8_t *at = tp->scratch;
	bulk->n = 0;
	while (want > 0 && bulk->n < tp->bulk_n) {
		size_t n = num_min(each, want);
		bulk->v[bulk->n].head = at;
		bulk->v[bulk->n].data = at + bulk->head_n;
		bulk->v[bulk->n++].data_n = n;
		at += bulk->head_n + n;
		want -= n;
	}
	tp->has_reservation = true;
	tp->msg = msg;
	tp->bulk = *bulk;
	return OK;
}

err_t tp_commit_bulk(struct tp *tp, size_t used)
{
	assert_true(tp->has_reservation);
	tp->has_reservation = false;
	for (uint32_t i = 0; i < tp->bulk.n && used > 0; i++) {
		size_t n = num_min(used, tp->bulk.v[i].data_n);
		record(tp, tp->bulk.v[i].head, tp->bulk.head_n + n);
		used -= n;
	}
	assert_true(used == 0);
	return OK;
}

void tp_set_open(struct tp *tp)
{
	assert_false(tp->is_open);
	tp->is_open = true;
}

bool tp_is_open(const struct tp *tp)
{
	return tp->is_open;
}

bool tp_is_rekeying(const struct tp *tp)
{
	return tp->is_rekeying;
}

void tp_raise_max_packet(struct tp *tp, uint32_t max)
{
	tp->max_packet = max;
}

struct cslice tp_session_id(const struct tp *tp)
{
	return tp->session_id;
}

struct cslice tp_peer_version(const struct tp *tp)
{
	return tp->version;
}

struct cslice tp_hostkey_blob(const struct tp *tp)
{
	return tp->hostkey;
}

struct cslice tp_peer_sig_algs(const struct tp *tp)
{
	return tp->sig_algs;
}

bool tp_peer_ext(const struct tp *tp, const char *name, struct cslice *value)
{
	for (size_t i = 0; i < ARRAY_N(tp->exts); i++) {
		if (tp->exts[i].name == NULL || strcmp(tp->exts[i].name, name) != 0)
			continue;
		*value = cslice_str(tp->exts[i].value);
		return true;
	}
	return false;
}

/* ---- allocators that fail ---- */
static bool is_armed, has_failed;
static size_t countdown, live;

void fault_after(size_t n)
{
	is_armed = true;
	has_failed = false;
	countdown = n;
}

bool fault_off(void)
{
	is_armed = false;
	return has_failed;
}

static bool fails_now(void)
{
	if (!is_armed || has_failed || countdown-- > 0)
		return false;
	has_failed = true;
	return true;
}

size_t fault_live(void)
{
	return live;
}

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t each);
void *__real_realloc(void *p, size_t n);
void __real_free(void *p);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t each);
void *__wrap_realloc(void *p, size_t n);
void __wrap_free(void *p);

static void *counted(void *p)
{
	live += p != NULL;
	return p;
}

void *__wrap_malloc(size_t n)
{
	return fails_now() ? NULL : counted(__real_malloc(n));
}

void *__wrap_calloc(size_t n, size_t each)
{
	return fails_now() ? NULL : counted(__real_calloc(n, each));
}

void *__wrap_realloc(void *p, size_t n)
{
	if (fails_now())
		return NULL;
	return p == NULL ? counted(__real_realloc(p, n)) : __real_realloc(p, n);
}

void __wrap_free(void *p)
{
	live -= p != NULL;
	__real_free(p);
}
