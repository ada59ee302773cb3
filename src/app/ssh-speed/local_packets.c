/* SPDX-License-Identifier: ISC */
/*
 * local_packets - each packet protection: MB/s of sealing and opening
 *
 * A batch of packets is sealed and then opened, and both are timed apart: opening needs sealed
 * packets, and puts back what can be sealed again.  The batch stays in the cache, as it does in a
 * connection.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "algorithm/alg.h"
#include "app/ssh-speed/measure.h"
#include "crypto/pick.h"
#include "os/random.h"

#define KIB         ((size_t)1024)
#define BATCH_BYTES (256 * KIB)
#define BATCH_MAX   64
#define TAG_MAX     ((size_t)64)
#define ALIGNMENT   ((size_t)64)
#define MEMORY      (ALIGNMENT + 2 * (256 * KIB + TAG_MAX + ALIGNMENT))

#define SIZES(X) X(1) X(16) X(32) X(256)
#define SEAL_COLUMN(k)                                                                             \
	{"seal_" #k "k_mb_s", "seal " #k "K", "MB/s", k == 32 ? REPORT_BAR : REPORT_PLAIN},
#define OPEN_COLUMN(k)                                                                             \
	{"open_" #k "k_mb_s", "open " #k "K", "MB/s", k == 32 ? REPORT_BAR : REPORT_PLAIN},
#define SIZE_KIB(k) k,

static const size_t sizes_kib[] = {SIZES(SIZE_KIB)};
const struct report_column packets_columns[] = {SIZES(SEAL_COLUMN) SIZES(OPEN_COLUMN)};
const size_t packets_columns_n = ARRAY_N(packets_columns);

struct bench {
	const struct pktc *row;
	void *ctx[2]; /* by enum pktc_dir */
	struct pktc_one v[BATCH_MAX];
	size_t batch, n;
	struct pktc_at at;
	uint8_t *memory;
};

/* ---- one batch ----------------------------------------------------------------------------------
 */
static void lay_out(struct bench *b)
{
	uint64_t blocks = (b->n - b->row->clear_len) / b->row->cost_block;
	size_t stride = (b->n + TAG_MAX + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	assert(ALIGNMENT + b->batch * stride <= MEMORY);
	for (size_t i = 0; i < b->batch; i++) {
		b->v[i].at = b->at;
		b->v[i].n = b->n;
		b->v[i].pkt = b->memory + ALIGNMENT + i * stride;
		b->at.seq++;
		b->at.packet++;
		b->at.block += blocks;
		uint32_t length = (uint32_t)b->n - 4;
		uint8_t head[4] = {(uint8_t)(length >> 24), (uint8_t)(length >> 16),
			(uint8_t)(length >> 8), (uint8_t)length};
		memcpy(b->v[i].pkt, head, sizeof(head));
	}
}

static void seal_batch(struct bench *b)
{
	const struct pktc *row = b->row;
	for (size_t i = 0; i < b->batch; i += PKTC_MANY) {
		size_t n = num_min(PKTC_MANY, b->batch - i);
		if (row->seal_many != NULL && n > 1) {
			row->seal_many(b->ctx[PKTC_SEAL], b->v + i, n);
			continue;
		}
		for (size_t k = i; k < i + n; k++)
			row->seal(b->ctx[PKTC_SEAL], b->v[k].at, b->v[k].pkt, b->v[k].n);
	}
}

static err_t ask_length(struct bench *b, const struct pktc_one *p)
{
	uint32_t length = 0;
	TRY(b->row->length(b->ctx[PKTC_OPEN], p->at, p->pkt, &length));
	return length == p->n - 4 ? OK : E_BUG;
}

static err_t open_batch(struct bench *b)
{
	const struct pktc *row = b->row;
	void *ctx = b->ctx[PKTC_OPEN];
	size_t ahead = 0; /* opened by open_many, their turn is to come */
	for (size_t i = 0; i < b->batch; i++) {
		const struct pktc_one *p = &b->v[i];
		TRY(ask_length(b, p));
		if (ahead == 0 && row->open_many != NULL && i + 1 < b->batch)
			ahead = row->open_many(ctx, p, num_min(PKTC_MANY, b->batch - i));
		if (ahead > 0)
			ahead--;
		else
			TRY(row->open(ctx, p->at, p->pkt, p->n));
	}
	return OK;
}

static err_t one_batch(void *arg, struct measure_parts *p)
{
	struct bench *b = arg;
	lay_out(b);
	double begin = measure_now();
	seal_batch(b);
	double between = measure_now();
	TRY(open_batch(b));
	p->spent[1] += measure_now() - between;
	p->spent[0] += between - begin;
	p->done += b->batch;
	return OK;
}

/* ---- one protection -----------------------------------------------------------------------------
 */
static err_t make_contexts(struct bench *b, const struct alg_cipher *c, const struct alg_mac *m)
{
	uint8_t key[256];
	rng_fill(os_rng(), key, sizeof(key));
	size_t size = (b->row->ctx_size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	err_t e = OK;
	for (int dir = 0; e == OK && dir < 2; dir++) {
		b->ctx[dir] = aligned_alloc(ALIGNMENT, size);
		if (b->ctx[dir] == NULL) {
			e = E_MEM;
			break;
		}
		memset(b->ctx[dir], 0, size);
		e = b->row->init(b->ctx[dir], (enum pktc_dir)dir, cslice_of(key, c->key),
			cslice_of(key + 64, c->iv), cslice_of(key + 128, m != NULL ? m->key : 0));
	}
	wipe(key, sizeof(key));
	return e;
}

static void free_contexts(struct bench *b)
{
	for (int dir = 0; dir < 2; dir++) {
		if (b->ctx[dir] == NULL)
			continue;
		b->row->done(b->ctx[dir]);
		free(b->ctx[dir]);
		b->ctx[dir] = NULL;
	}
}

static err_t measure_size(struct bench *b, double cell_s, size_t bytes, double *seal, double *open)
{
	struct measure_parts p = {.n = 2};
	b->n = bytes + b->row->clear_len;
	b->batch = num_min(BATCH_MAX, num_max(BATCH_BYTES / bytes, 2));
	TRY(measure_apart(cell_s, one_batch, b, &p));
	double mb = (double)(p.done * bytes) * 1e-6;
	*seal = mb / p.spent[0];
	*open = mb / p.spent[1];
	return OK;
}

static const char *by_of(const struct pktc *row)
{
	const char *by = strstr(row->name, " by ");
	return by != NULL ? by + 4 : row->name;
}

/* One line of the table. */
struct protection {
	const struct alg_cipher *cipher;
	const struct alg_mac *mac; /* NULL: the cipher needs none */
	const struct pktc *row;
	bool is_beside;
};

static err_t measure_row(struct local *l, struct report_sheet *s, const struct protection *p)
{
	const struct alg_mac *m = p->mac;
	struct bench b = {.row = p->row};
	struct report_line *line;
	char name[128];
	(void)snprintf(name, sizeof(name), "%s%s%s", p->cipher->name, m != NULL ? " " : "",
		m != NULL ? m->name : "");
	TRY(report_line(s, name, by_of(p->row), &line));
	line->is_beside = p->is_beside;
	b.memory = aligned_alloc(ALIGNMENT, MEMORY);
	if (b.memory == NULL)
		return E_MEM;
	memset(b.memory, 0x5a, MEMORY);
	err_t e = make_contexts(&b, p->cipher, m);
	for (size_t i = 0; e == OK && i < ARRAY_N(sizes_kib); i++) {
		local_step(l, name);
		e = measure_size(&b, l->options->cell_s, sizes_kib[i] * KIB, &line->v[i],
			&line->v[ARRAY_N(sizes_kib) + i]);
	}
	free_contexts(&b);
	free(b.memory);
	return local_result(line, e);
}

/* ---- all of them --------------------------------------------------------------------------------
 */
static err_t measure_pair(struct local *l, struct report_sheet *s, const struct alg_cipher *c,
	const struct alg_mac *m)
{
	const struct pktc *fast = pktc_for(c, m, true), *plain = pktc_for(c, m, false);
	if (fast == NULL)
		return OK;
	TRY(measure_row(l, s, &(struct protection){c, m, fast, false}));
	if (l->options->compare && plain != NULL && plain != fast)
		TRY(measure_row(l, s, &(struct protection){c, m, plain, true}));
	return OK;
}

static bool is_legacy(uint32_t flags)
{
	return (flags & AF_LEGACY) != 0;
}

static const struct alg_mac *first_mac(void)
{
	const struct alg_mac *best = NULL;
	for (size_t i = 0; i < alg_macs_n; i++)
		if (alg_macs[i].rank != 0 && (best == NULL || alg_macs[i].rank < best->rank))
			best = &alg_macs[i];
	return best;
}

static const struct alg_cipher *first_cipher(void)
{
	for (size_t i = 0; i < alg_ciphers_n; i++)
		if ((alg_ciphers[i].flags & (AF_AEAD | AF_LEGACY)) == 0)
			return &alg_ciphers[i];
	return NULL;
}

/* Old ciphers and old MACs have one partner each, unless all pairs are wanted. */
static bool is_wanted(
	const struct speed_options *o, const struct alg_cipher *c, const struct alg_mac *m)
{
	if (o->all)
		return true;
	return (!is_legacy(c->flags) || m == first_mac()) &&
	       (!is_legacy(m->flags) || c == first_cipher());
}

size_t packets_count(const struct speed_options *o)
{
	size_t pairs = 0;
	for (size_t i = 0; i < alg_ciphers_n; i++) {
		const struct alg_cipher *c = &alg_ciphers[i];
		for (size_t k = 0; (c->flags & AF_AEAD) == 0 && k < alg_macs_n; k++)
			pairs += is_wanted(o, c, &alg_macs[k]);
		pairs += (c->flags & AF_AEAD) != 0;
	}
	return pairs * ARRAY_N(sizes_kib) * (o->compare ? 2 : 1);
}

err_t packets_fill(struct local *l, struct report_sheet *s)
{
	for (size_t i = 0; i < alg_ciphers_n; i++) {
		const struct alg_cipher *c = &alg_ciphers[i];
		if ((c->flags & AF_AEAD) != 0)
			TRY(measure_pair(l, s, c, NULL));
		for (size_t k = 0; (c->flags & AF_AEAD) == 0 && k < alg_macs_n; k++)
			if (is_wanted(l->options, c, &alg_macs[k]))
				TRY(measure_pair(l, s, c, &alg_macs[k]));
	}
	return OK;
}
