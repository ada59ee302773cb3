/* SPDX-License-Identifier: ISC */
/*
 * sftp_client - the SFTP client's engine, and directories read by it, told lies by a hostile server
 *
 * Each request is answered once, bytes of a file come in order and are never more than was asked
 * for, names of entries are names, and errors stay.
 *
 * head: bit 0 a right VERSION with all extensions comes first; the others: unused
 */
#include "base/log.h"
#include "script.h"
#include "transfer/remote.h"

#define ASKS     32
#define LISTINGS 4

struct asked {
	struct sf_ask ask;
	bool is_under_way, is_read;
	uint32_t want, got;
};

struct model {
	struct sf_client *c;
	struct asked v[ASKS];
	size_t asked_n, answered;
	struct remote r;
	struct link link;
	struct remote_listing listings[LISTINGS];
	bool is_listing[LISTINGS];
	const uint8_t *fed; /* what is being fed */
	size_t fed_n;
	bool is_over;
	uint8_t sink[4096];
};

/* ---- the other way: all is swallowed ----------------------------------------------------------
 */
static struct model *model_of(struct link *l)
{
	return l->arg;
}

static err_t reserve(struct link *l, size_t want, struct iovec iov[TP_BULK_MAX], size_t *niov)
{
	struct model *m = model_of(l);
	iov[0] = (struct iovec){m->sink, num_min(want, sizeof(m->sink))};
	*niov = 1;
	return OK;
}

static err_t commit(struct link *l, size_t used)
{
	PROMISE(used <= sizeof(model_of(l)->sink));
	return OK;
}

static void nothing(struct link *l)
{
	(void)l;
}

static uint32_t no_rtt(struct link *l)
{
	(void)l;
	return 0;
}

static const struct link_ops ops = {
	.reserve = reserve, .commit = commit, .kick = nothing, .finish = nothing, .rtt_us = no_rtt};

/* ---- answers ----------------------------------------------------------------------------------
 */
static void on_data(struct sf_ask *a, uint32_t at, struct span piece)
{
	struct model *m = a->arg;
	struct asked *x = (struct asked *)(void *)a;
	PROMISE(x->is_under_way && x->is_read && at == x->got);
	PROMISE(piece.n > 0 && piece.n <= x->want - x->got);
	PROMISE(piece.p >= m->fed && piece.n <= m->fed_n - (size_t)(piece.p - m->fed));
	x->got += (uint32_t)piece.n;
}

static void on_reply(struct sf_ask *a, const struct sf_reply *r)
{
	struct model *m = a->arg;
	struct asked *x = (struct asked *)(void *)a;
	PROMISE(x->is_under_way);
	x->is_under_way = false;
	m->answered++;
	if (r->err != OK)
		return;
	if (r->type == SF_MSG_data)
		PROMISE(x->is_read && r->data_n == x->got && r->data_n > 0);
	else
		PROMISE(x->got == 0);
	PROMISE(r->type != SF_MSG_handle || r->handle.n <= 256);
	PROMISE(r->type == SF_MSG_status || r->code == SF_ok);
}

static void on_listed(struct remote_listing *l, err_t e)
{
	struct model *m = l->arg;
	size_t i = (size_t)(l - m->listings);
	PROMISE(i < LISTINGS && m->is_listing[i]);
	(void)e;
	m->is_listing[i] = false;
	for (size_t k = 0; k < l->dir.n; k++) {
		const char *name = l->dir.v[k].name;
		PROMISE(name[0] != '\0' && strchr(name, '/') == NULL);
		PROMISE(l->dir.v[k].longname != NULL);
	}
	remote_dir_free(&l->dir);
}

/* ---- asking -----------------------------------------------------------------------------------
 */
static void list(struct model *m)
{
	for (size_t i = 0; i < LISTINGS; i++) {
		if (m->is_listing[i])
			continue;
		m->is_listing[i] = true;
		m->listings[i].on_done = on_listed;
		m->listings[i].arg = m;
		if (remote_list_start(&m->listings[i], &m->r, "d") != OK)
			m->is_listing[i] = false;
		return;
	}
}

static err_t ask_kind(struct model *m, struct asked *x, uint8_t kind, struct cslice text)
{
	struct sf_ask *a = &x->ask;
	struct sf_head head;
	struct sf_write_at at = {.handle = text, .n = 77};
	text.n = num_min(text.n, 1000);
	switch (kind) {
	case 0:
		return sf_ask_open(m->c, a, &(struct sf_open){.path = text});
	case 1:
		x->is_read = true;
		x->want = 1 + (uint32_t)text.n * 100;
		return sf_ask_read(m->c, a, &(struct sf_read){.handle = text, .n = x->want});
	case 2:
		return sf_ask_readdir(m->c, a, &(struct sf_readdir){.handle = text});
	case 3:
		return sf_ask_stat(m->c, a, &(struct sf_stat){.path = text});
	case 4:
		return sf_ask_remove(m->c, a, &(struct sf_remove){.path = text});
	case 5:
		return sf_ask_statvfs(m->c, a, &(struct sf_statvfs){.path = text});
	case 6:
		return sf_ask_expand_path(m->c, a, &(struct sf_expand_path){.path = text});
	case 7:
		return sf_write_head(m->c, a, &at, &head);
	default:
		return sf_ask_write(m->c, a, &(struct sf_write){.handle = text, .data = text});
	}
}

static void ask(struct model *m, struct cslice how)
{
	uint8_t kind = fuzz_u8(&how) % 10;
	if (kind == 9) {
		list(m);
		return;
	}
	for (size_t i = 0; i < ASKS; i++) {
		struct asked *x = &m->v[i];
		if (x->is_under_way)
			continue;
		*x = (struct asked){.ask = {.on = on_reply, .on_data = on_data, .arg = m}};
		x->is_under_way = ask_kind(m, x, kind, how) == OK;
		m->asked_n += x->is_under_way;
		return;
	}
}

/* ---- the server -------------------------------------------------------------------------------
 */
static void feed(struct model *m, struct cslice bytes)
{
	if (bytes.n == 0 || m->is_over)
		return;
	uint8_t *copy = malloc(bytes.n); /* so that a read past its end is seen */
	PROMISE(copy != NULL);
	memcpy(copy, bytes.p, bytes.n);
	m->fed = copy;
	m->fed_n = bytes.n;
	err_t e = sf_client_fed(m->c, (struct span){NULL, copy, bytes.n});
	m->fed_n = 0;
	free(copy);
	m->is_over = e != OK;
	PROMISE(e == sf_client_fed(m->c, (struct span){NULL, NULL, 0}));
}

/* Small numbers mean a request that is under way. */
static uint32_t some_id(const struct model *m, uint32_t id)
{
	for (size_t i = 0; id < ASKS && i < ASKS; i++) {
		const struct asked *x = &m->v[(id + i) % ASKS];
		if (x->is_under_way)
			return x->ask.id;
	}
	return id;
}

/* A frame in pieces of so many bytes; 0: whole. */
static void say(struct model *m, struct cslice message, size_t piece)
{
	static uint8_t frame[4 + 65536];
	if (message.n == 0)
		return;
	be32_put(frame, (uint32_t)message.n);
	memcpy(frame + 4, message.p, message.n);
	if (message.n >= 5 && message.p[0] != SF_MSG_version)
		be32_put(frame + 5, some_id(m, be32_get(frame + 5)));
	size_t n = 4 + message.n;
	for (size_t at = 0; at < n; at += piece != 0 ? piece : n)
		feed(m, cslice_of(frame + at, num_min(piece != 0 ? piece : n, n - at)));
}

static void say_version(struct model *m)
{
	uint8_t body[1024];
	struct wr w = wr_of((struct slice){body, sizeof(body)});
	wr_u8(&w, SF_MSG_version);
	wr_u32(&w, SF_VERSION);
	for (int i = 0; i < SF_EXT_N; i++) {
		if (i == SF_EXT_limits)
			continue;
		wr_str(&w, cslice_str(sf_ext_wire((enum sf_ext)i)));
		wr_str(&w, cslice_str(sf_ext_value((enum sf_ext)i)));
	}
	PROMISE(!w.bad);
	say(m, cslice_of(body, w.n), 0);
	PROMISE(sf_client_is_ready(m->c));
}

static void step(struct model *m, struct script_step *s)
{
	size_t piece;
	switch (s->kind) {
	case SCRIPT_RAW:
		feed(m, s->data);
		break;
	case SCRIPT_OWN:
		ask(m, s->data);
		break;
	case SCRIPT_DRAIN:
		piece = fuzz_u16(&s->data);
		sf_client_sent(m->c, num_min(piece, sf_client_ready(m->c).n));
		break;
	case SCRIPT_ODD:
		piece = fuzz_u8(&s->data);
		(void)fuzz_u8(&s->data);
		say(m, s->data, piece);
		break;
	default:
		say(m, s->data, 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct model m;
	static const struct sf_client_env env = {NULL};
	struct cslice in = {data, n};
	struct script_step s;
	struct cslice head = fuzz_take(&in, SCRIPT_HEAD);
	m = (struct model){0};
	PROMISE(sf_client_new(&m.c, &env) == OK);
	m.link = (struct link){.ops = &ops, .arg = &m};
	m.r = (struct remote){.link = &m.link, .sf = m.c};
	if (head.n > 0 && (head.p[0] & 1) != 0)
		say_version(&m);
	while (script_next(&in, &s))
		step(&m, &s);
	struct sf_caps caps = sf_client_caps(m.c);
	PROMISE(caps.read >= 1 && caps.read <= SF_DATA_MAX);
	PROMISE(caps.write >= 1 && caps.write <= SF_DATA_MAX);
	m.r.end = E_CLOSED;
	sf_client_end(m.c, E_CLOSED);
	PROMISE(sf_client_pending(m.c) == 0 && m.answered == m.asked_n);
	for (size_t i = 0; i < LISTINGS; i++)
		PROMISE(!m.is_listing[i]);
	sf_client_free(m.c);
	return 0;
}
