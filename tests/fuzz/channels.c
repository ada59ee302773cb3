/* SPDX-License-Identifier: ISC */
/*
 * channels - the connection engine behind a login that was made once, both roles
 *
 * The peer is the fuzzer, and so is the application: it accepts, answers, sends, reads and closes
 * when the script says so, also on channels that are gone.  A server opens the channels that
 * servers open: to the agent of its client, for ports that are forwarded.
 *
 * head: role; suite; stalls, limits, a diligent application; how many spans are kept
 */
#include "connection/cn_int.h"
#include "stage.h"

#define IDS_MAX  64
#define KEPT_MAX 3

struct app {
	struct stage s;
	struct cn *cn;
	err_t err;
	bool is_diligent;      /* answers and consumes at once */
	const char *type;      /* of the channels that it opens */
	uint32_t ids[IDS_MAX]; /* ever given */
	bool is_over[IDS_MAX], has_eof[IDS_MAX];
	size_t ids_n;
	struct span kept[KEPT_MAX];
	size_t kept_n, keep;
};

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	stage_global();
	return 0;
}

/* ---- what is promised ---- */

static void check_chan(const struct app *a, const struct cn_chan *c)
{
	PROMISE((uint64_t)c->window_in + c->unconsumed + c->owed == c->window_size);
	PROMISE(c->window_size <= a->cn->limits.window_max);
	PROMISE(!c->close_sent || c->close_wanted || c->close_seen);
	PROMISE(c->state == CN_OPEN || (!c->eof_sent && !c->close_sent && !c->eof_seen));
	PROMISE(cn_chan_find(a->cn, c->id) == c);
}

static void check(const struct app *a)
{
	const struct cn *cn = a->cn;
	uint64_t owed = cn->globals_due, windows = 0;
	uint32_t n = 0;
	for (uint32_t i = 0; i < cn->chans_cap; i++) {
		const struct cn_chan *c = cn->chans[i];
		if (c == NULL)
			continue;
		check_chan(a, c);
		owed += c->replies_due + (c->state == CN_ASKED);
		windows += c->window_size;
		n++;
	}
	PROMISE(n == cn->chans_n && n == cn_channels(cn) && n <= cn->limits.channels);
	PROMISE(windows == cn->windows);
	PROMISE(cn->err != OK || owed == cn->unanswered);
	PROMISE(owed <= cn->limits.replies_pending);
}

static void check_end(struct app *a)
{
	struct cn_event ev;
	uint32_t id;
	if (a->err == OK)
		return;
	PROMISE(cn_poll(a->cn, &ev) == a->err && cn_flush(a->cn) == a->err);
	PROMISE(cn_msg(a->cn, SSH_MSG_request_failure, (struct span){NULL, NULL, 0}) == a->err);
	PROMISE(cn_open(a->cn, "session", cslice_of(NULL, 0), &id) == a->err);
	PROMISE(cn_global_reply(a->cn, true, cslice_of(NULL, 0)) == a->err);
}

static void fail(struct app *a, err_t e)
{
	if (e == OK || e == E_AGAIN || a->err != OK)
		return;
	a->err = e;
	tp_fail(a->s.tp, e);
}

/* An answer of a call: an error that ends the connection is the engine's, others are ours to bear.
 */
static void result(struct app *a, err_t e)
{
	if (e != OK && a->cn->err == e)
		fail(a, e);
}

/* ---- events ---- */

static size_t index_of(struct app *a, uint32_t id)
{
	for (size_t i = 0; i < a->ids_n; i++)
		if (a->ids[i] == id)
			return i;
	return IDS_MAX;
}

static void know(struct app *a, uint32_t id)
{
	PROMISE(index_of(a, id) == IDS_MAX); /* no number comes again */
	if (a->ids_n < IDS_MAX)
		a->ids[a->ids_n++] = id;
}

static void touch(struct cslice s)
{
	volatile uint8_t sum = 0;
	for (size_t i = 0; i < s.n; i++)
		sum = (uint8_t)(sum + s.p[i]);
}

static void keep(struct app *a, struct span *span)
{
	if (a->kept_n < a->keep) {
		span_keep(span);
		a->kept[a->kept_n++] = *span;
	}
}

static void known_event(struct app *a, const struct cn_event *ev)
{
	size_t i = index_of(a, ev->chan);
	if (i == IDS_MAX) {
		PROMISE(a->ids_n == IDS_MAX); /* one of those that found no room here */
		return;
	}
	PROMISE(!a->is_over[i]);
	if (ev->type == CN_EV_CLOSED || ev->type == CN_EV_OPEN_FAILED)
		a->is_over[i] = true;
	PROMISE(ev->type != CN_EV_DATA || !a->has_eof[i]);
	if (ev->type == CN_EV_EOF) {
		PROMISE(!a->has_eof[i]);
		a->has_eof[i] = true;
	}
}

static void serve(struct app *a, struct cn_event *ev)
{
	struct cn *cn = a->cn;
	if (ev->type == CN_EV_OPEN)
		result(a, cn_accept(cn, ev->chan));
	else if (ev->type == CN_EV_DATA)
		cn_consumed(cn, ev->chan, ev->span.n);
	else if (ev->type == CN_EV_REQUEST && ev->want_reply)
		result(a, cn_reply(cn, ev->chan, true));
	else if (ev->type == CN_EV_GLOBAL && ev->want_reply)
		result(a, cn_global_reply(cn, false, cslice_of(NULL, 0)));
	else if (ev->type == CN_EV_CLOSED || ev->type == CN_EV_EOF)
		cn_close(cn, ev->chan);
}

static void take(struct app *a, struct cn_event *ev)
{
	touch(ev->name);
	touch(ev->data);
	touch(cslice_of(ev->span.p, ev->span.n));
	switch (ev->type) {
	case CN_EV_OPEN:
		know(a, ev->chan);
		break;
	case CN_EV_GLOBAL:
	case CN_EV_GLOBAL_REPLY:
		break;
	case CN_EV_DATA:
		PROMISE(ev->span.n > 0 && ev->ext <= 1);
		known_event(a, ev);
		keep(a, &ev->span);
		break;
	default:
		known_event(a, ev);
	}
	if (a->is_diligent)
		serve(a, ev);
}

static void settle(struct stage *s)
{
	struct app *a = s->layer;
	struct cn_event ev = {.type = CN_EV_NONE};
	do {
		if (a->err != OK || tp_error(s->tp) != OK)
			return;
		err_t e = cn_flush(a->cn);
		if (e == OK)
			e = cn_poll(a->cn, &ev);
		fail(a, e);
		if (e == OK && ev.type != CN_EV_NONE)
			take(a, &ev);
	} while (ev.type != CN_EV_NONE);
	check(a);
}

static void message(struct stage *s, const struct tp_event *ev)
{
	struct app *a = s->layer;
	if (ev->type == TP_EV_MSG && a->err == OK) {
		fail(a, cn_msg(a->cn, ev->msg, ev->body));
		settle(s);
	}
}

/* ---- the application ---- */

static void send(struct app *a, uint32_t id, size_t n)
{
	struct iovec iov[TP_BULK_MAX];
	size_t niov, room = 0;
	uint32_t before = cn_window_out(a->cn, id);
	err_t e = cn_reserve(a->cn, id, n & 1, n, iov, &niov);
	if (e != OK) {
		result(a, e);
		return;
	}
	PROMISE(niov >= 1 && niov <= TP_BULK_MAX);
	for (size_t i = 0; i < niov; i++) {
		PROMISE(iov[i].iov_len > 0);
		memset(iov[i].iov_base, 'x', iov[i].iov_len);
		room += iov[i].iov_len;
	}
	PROMISE(room <= before && room <= n);
	size_t used = n & 2 ? room : room / 2;
	result(a, cn_commit(a->cn, used));
	PROMISE(cn_window_out(a->cn, id) == before - used);
}

static void open(struct app *a, struct cslice extra)
{
	uint32_t id;
	err_t e = cn_open(a->cn, a->type, extra, &id);
	result(a, e);
	if (e == OK)
		know(a, id);
}

static void own(struct app *a, struct cslice d)
{
	struct cn *cn = a->cn;
	uint8_t what = fuzz_u8(&d), which = fuzz_u8(&d);
	uint32_t id = a->ids_n > 0 ? a->ids[which % a->ids_n] : which;
	size_t n = fuzz_u16(&d);
	switch (what % 14) {
	case 0:
		open(a, d);
		break;
	case 1:
		result(a, cn_accept(cn, id));
		break;
	case 2:
		if (cn_refuse(cn, id, 1, "no") == OK && index_of(a, id) < IDS_MAX)
			a->is_over[index_of(a, id)] = true;
		break;
	case 3:
	case 4:
		send(a, id, n);
		break;
	case 5:
		cn_consumed(cn, id, n);
		break;
	case 6:
		cn_eof(cn, id);
		break;
	case 7:
		cn_close(cn, id);
		break;
	case 8:
		cn_discard_input(cn, id);
		break;
	case 9:
		result(a, cn_request(cn, id, "exec", n & 1, d));
		break;
	case 10:
		result(a, cn_reply(cn, id, n & 1));
		break;
	case 11:
		result(a, cn_global(cn, "keepalive@openssh.com", n & 1, d));
		break;
	case 12:
		result(a, cn_global_reply(cn, n & 1, d));
		break;
	default:
		if (n & 1)
			a->s.is_stalled = !a->s.is_stalled;
		else
			(void)!tp_rekey(a->s.tp);
	}
}

/* By the scene, above the bit that makes a server. */
static const char *const types[] = {
	"session", "auth-agent@openssh.com", "direct-tcpip", "forwarded-tcpip"};

static void start(struct app *a, struct cslice *in)
{
	uint8_t scene = fuzz_u8(in), suite = fuzz_u8(in), how = fuzz_u8(in);
	stage_keyed(&a->s, scene & 1 ? TP_SERVER : TP_CLIENT, suite);
	tp_set_open(a->s.tp);
	a->s.layer = a;
	a->s.event = message;
	a->s.settle = settle;
	a->s.is_stalled = how & 1;
	a->is_diligent = how & 2;
	a->type = types[scene >> 1 & 3];
	a->s.env.limits.high_water = how & 4 ? 4096 : 0;
	a->keep = fuzz_u8(in) % (KEPT_MAX + 1);
	struct cn_env env = {.tp = a->s.tp};
	if (how & 8)
		env.limits = (struct cn_limits){.channels = 3,
			.window_first = 1000,
			.window_max = 3000,
			.max_packet = 600,
			.replies_pending = 4,
			.window_total = 5000};
	PROMISE(cn_new(&a->cn, &env) == OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct cslice in = {data, n};
	struct script_step step;
	struct app a = {.err = OK};
	start(&a, &in);
	while (script_next(&in, &step)) {
		if (!stage_step(&a.s, &step) && a.err == OK)
			own(&a, step.data);
		stage_pump(&a.s);
		check(&a);
	}
	check_end(&a);
	for (size_t i = 0; i < a.kept_n; i++)
		span_drop(&a.kept[i]);
	cn_free(a.cn);
	stage_done(&a.s);
	return 0;
}
