/* SPDX-License-Identifier: ISC */
/*
 * client - frames out of a stream that is cut anywhere, and the life of a client
 *
 * A frame that came whole is looked at where it lies; one that is cut is put together, as large as
 * what has come of it.  DATA is neither: its bytes are lent as they come, so that a file's bytes
 * stay where they were received.
 */
#include <stdlib.h>

#include "sftp/client_int.h"

#define IN_FIRST ((size_t)4096)

/* ---- bytes in ---------------------------------------------------------------------------------
 */
static err_t keep(struct sf_client *c, const uint8_t *p, size_t n)
{
	if (n > c->in_cap - c->in_n) {
		size_t cap = num_max(c->in_cap, IN_FIRST);
		while (cap - c->in_n < n)
			cap *= 2;
		uint8_t *more = realloc(c->in, cap);
		if (more == NULL)
			return E_MEM;
		c->in = more;
		c->in_cap = cap;
	}
	memcpy(c->in + c->in_n, p, n);
	c->in_n += n;
	return OK;
}

/* Adds what is there to the `left` bytes that are wanted; true when they are complete. */
static err_t gather(struct sf_client *c, struct span *in, bool *is_whole)
{
	size_t n = num_min(c->left, in->n);
	TRY(keep(c, in->p, n));
	in->p += n;
	in->n -= n;
	c->left -= n;
	*is_whole = c->left == 0;
	return OK;
}

static void next_frame(struct sf_client *c)
{
	c->in_state = SF_IN_LENGTH;
	c->left = 4;
	c->in_n = 0;
}

static err_t on_length(struct sf_client *c)
{
	uint32_t n = be32_get(c->in);
	if (n == 0 || n > SF_FRAME_MAX)
		return E_LENGTH;
	c->in_n = 0;
	c->left = n;
	c->in_state = c->has_version && n >= SF_DATA_HEAD ? SF_IN_HEAD : SF_IN_FRAME;
	return OK;
}

static err_t step_length(struct sf_client *c, struct span *in)
{
	bool is_whole;
	TRY(gather(c, in, &is_whole));
	return is_whole ? on_length(c) : OK;
}

/* Nine bytes tell whether it is DATA; else they are the begin of a frame like others. */
static err_t step_head(struct sf_client *c, struct span *in)
{
	if (c->in_n == 0 && in->p[0] != SF_MSG_data) {
		c->in_state = SF_IN_FRAME;
		return OK;
	}
	size_t frame_n = c->left + c->in_n, n = num_min(SF_DATA_HEAD - c->in_n, in->n);
	TRY(keep(c, in->p, n));
	in->p += n;
	in->n -= n;
	c->left -= n;
	if (c->in_n < SF_DATA_HEAD)
		return OK;
	TRY(sf_client_data_begin(c, c->in, frame_n));
	c->in_state = SF_IN_DATA;
	return OK;
}

static err_t step_frame(struct sf_client *c, struct span *in)
{
	struct cslice frame;
	if (c->in_n == 0 && in->n >= c->left) {
		frame = cslice_of(in->p, c->left);
		in->p += c->left;
		in->n -= c->left;
	} else {
		bool is_whole;
		TRY(gather(c, in, &is_whole));
		if (!is_whole)
			return OK;
		frame = cslice_of(c->in, c->in_n);
	}
	next_frame(c); /* the memory of the frame is not used again until it was looked at */
	return sf_client_frame(c, frame);
}

static err_t step_data(struct sf_client *c, struct span *in)
{
	size_t n = num_min(c->data_left, in->n);
	struct span piece = {in->c, in->p, n};
	struct sf_ask *a = c->data;
	in->p += n;
	in->n -= n;
	c->left -= n;
	c->data_left -= n;
	if (n > 0) {
		uint32_t at = a->got;
		a->got += (uint32_t)n;
		c->moved += n;
		if (a->on_data != NULL)
			a->on_data(a, at, piece);
		TRY(c->err);
	}
	if (c->data_left > 0)
		return OK;
	c->in_state = SF_IN_SKIP;
	if (c->left == 0)
		next_frame(c);
	sf_client_data_end(c);
	return c->err;
}

static err_t step_skip(struct sf_client *c, struct span *in)
{
	size_t n = num_min(c->left, in->n);
	in->p += n;
	in->n -= n;
	c->left -= n;
	if (c->left == 0)
		next_frame(c);
	return OK;
}

typedef err_t step_fn(struct sf_client *c, struct span *in);
static step_fn *const steps[] = {
	[SF_IN_LENGTH] = step_length,
	[SF_IN_HEAD] = step_head,
	[SF_IN_FRAME] = step_frame,
	[SF_IN_DATA] = step_data,
	[SF_IN_SKIP] = step_skip,
};

static void note_first(struct sf_client *c, struct span in)
{
	size_t n = c->has_version ? 0 : num_min(in.n, SF_FIRST_MAX - c->first_n);
	if (n > 0)
		memcpy(c->first + c->first_n, in.p, n);
	c->first_n += n;
}

/* DATA of no bytes is complete with its head. */
static bool has_step(const struct sf_client *c, const struct span *in)
{
	return in->n > 0 || (c->in_state == SF_IN_DATA && c->data_left == 0);
}

err_t sf_client_fed(struct sf_client *c, struct span in)
{
	note_first(c, in);
	while (c->err == OK && has_step(c, &in)) {
		err_t e = steps[c->in_state](c, &in);
		if (c->err == OK)
			c->err = e;
	}
	return c->err;
}

/* ---- bytes out --------------------------------------------------------------------------------
 */
struct cslice sf_client_ready(const struct sf_client *c)
{
	return cslice_of(c->out + c->out_at, c->out_n - c->out_at);
}

void sf_client_sent(struct sf_client *c, size_t n)
{
	assert(n <= c->out_n - c->out_at);
	c->out_at += n;
	if (c->out_at == c->out_n)
		c->out_at = c->out_n = 0;
}

/* ---- what is known ----------------------------------------------------------------------------
 */
bool sf_client_is_ready(const struct sf_client *c)
{
	return c->is_ready;
}

uint32_t sf_client_version(const struct sf_client *c)
{
	return c->version;
}

bool sf_client_has(const struct sf_client *c, enum sf_ext x)
{
	return (c->exts >> x & 1) != 0;
}

struct sf_caps sf_client_caps(const struct sf_client *c)
{
	return c->caps;
}

size_t sf_client_pending(const struct sf_client *c)
{
	return c->pending.n;
}

uint64_t sf_client_moved(const struct sf_client *c)
{
	return c->moved;
}

struct cslice sf_client_first(const struct sf_client *c)
{
	return cslice_of(c->first, c->first_n);
}

/* ---- life -------------------------------------------------------------------------------------
 */
void sf_client_end(struct sf_client *c, err_t why)
{
	struct sf_reply r = {.err = why, .type = SF_MSG_status, .code = SF_connection_lost};
	if (c->err == OK)
		c->err = why;
	c->data = NULL;
	struct sf_ask *a = sf_pending_take_all(&c->pending, c->next_id);
	while (a != NULL) {
		struct sf_ask *next = a->next;
		a->next = NULL;
		a->on(a, &r);
		a = next;
	}
}

err_t sf_client_new(struct sf_client **out, const struct sf_client_env *env)
{
	(void)env;
	_Static_assert(SF_EXT_N <= 32, "a bit each");
	struct sf_client *c = calloc(1, sizeof(*c));
	if (c == NULL)
		return E_MEM;
	c->caps = (struct sf_caps){
		.packet = SF_FRAME_MAX, .read = SF_DATA_SAFE, .write = SF_DATA_SAFE};
	next_frame(c);
	err_t e = sf_pending_init(&c->pending);
	if (e == OK)
		e = sf_client_put_init(c);
	if (e != OK) {
		sf_client_free(c);
		return e;
	}
	*out = c;
	return OK;
}

void sf_client_free(struct sf_client *c)
{
	if (c == NULL)
		return;
	if (c->pending.buckets != NULL) {
		sf_client_end(c, E_CLOSED);
		sf_pending_done(&c->pending);
	}
	free(c->out);
	free(c->in);
	free(c);
}
