/* SPDX-License-Identifier: ISC */
/* handles - what a client has open */
#include <stdlib.h>

#include "sftp/handles.h"

#define NONE    UINT32_MAX
#define FIRST_N 16

void sf_handles_init(struct sf_handles *t, size_t max)
{
	*t = (struct sf_handles){.max = (uint32_t)num_min(max, SF_HANDLES_CAP),
		.free_first = NONE,
		.free_last = NONE};
}

void sf_handles_done(struct sf_handles *t)
{
	free(t->v);
	*t = (struct sf_handles){.free_first = NONE, .free_last = NONE};
}

static void queue(struct sf_handles *t, struct sf_held *h)
{
	h->next = NONE;
	if (t->free_last != NONE)
		t->v[t->free_last].next = h->at;
	else
		t->free_first = h->at;
	t->free_last = h->at;
}

static err_t grow(struct sf_handles *t)
{
	uint32_t n = t->n == 0 ? FIRST_N : t->n * 2;
	n = n < t->max ? n : t->max;
	struct sf_held *v = realloc(t->v, n * sizeof(*v));
	if (v == NULL)
		return E_MEM;
	t->v = v;
	for (uint32_t i = t->n; i < n; i++) {
		v[i] = (struct sf_held){.at = i};
		queue(t, &v[i]);
	}
	t->n = n;
	return OK;
}

err_t sf_handles_add(struct sf_handles *t, enum sf_kind kind, uint64_t fh, const char *name,
	struct sf_held **out)
{
	if (t->open_n >= t->max)
		return E_LIMIT;
	char *copy = strdup(name);
	if (copy == NULL)
		return E_MEM;
	if (t->free_first == NONE && grow(t) != OK) {
		free(copy);
		return E_MEM;
	}
	struct sf_held *h = &t->v[t->free_first];
	t->free_first = h->next;
	if (t->free_first == NONE)
		t->free_last = NONE;
	*h = (struct sf_held){
		.kind = kind, .at = h->at, .uses = h->uses + 1, .fh = fh, .name = copy};
	t->open_n++;
	*out = h;
	return OK;
}

struct sf_held *sf_handles_find(struct sf_handles *t, struct cslice wire, enum sf_kind kind)
{
	struct rd r = rd_of(wire);
	uint32_t at = rd_u32(&r), uses = rd_u32(&r);
	if (rd_end(&r) != OK || at >= t->n)
		return NULL;
	struct sf_held *h = &t->v[at];
	return (h->kind & kind) != 0 && h->uses == uses ? h : NULL;
}

void sf_handles_drop(struct sf_handles *t, struct sf_held *h)
{
	free(h->name);
	h->name = NULL;
	h->kind = SF_H_FREE;
	t->open_n--;
	queue(t, h);
}

void sf_held_wire(const struct sf_held *h, uint8_t out[SF_HANDLE_SIZE])
{
	be32_put(out, h->at);
	be32_put(out + 4, h->uses);
}
