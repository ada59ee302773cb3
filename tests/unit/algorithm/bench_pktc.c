/* SPDX-License-Identifier: ISC */
/*
 * How fast is each packet protection on one core: runs of 256 KiB, sealed and opened in place, one
 * packet after the other and, where the protection has it, together; and one short packet.
 *
 *     bench_pktc [WORD] [PACKETS]     rows with WORD in their name, so many packets a run (8)
 *
 * Run it by hand or with `meson test --benchmark`; it is never a pass or a fail.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "algorithm/alg.h"
#include "crypto/pick.h"

#define RUN     (256 * 1024)
#define FRONT   64
#define SECONDS 0.06

struct bench {
	const struct pktc *row;
	void *seal, *open;
	struct pktc_at at;
	struct pktc_one v[PKTC_MANY];
	size_t n; /* packets a run */
};

static uint8_t memory[FRONT + RUN + PKTC_MANY * 128];

static double cpu_now(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *ctx_new(const struct pktc *row, enum pktc_dir dir, const struct alg_cipher *cipher,
	const struct alg_mac *mac)
{
	static const uint8_t key[64];
	void *ctx = aligned_alloc(64, (row->ctx_size + 63) / 64 * 64);
	if (ctx == NULL)
		abort();
	memset(ctx, 0, row->ctx_size);
	if (row->init(ctx, dir, cslice_of(key, cipher->key), cslice_of(key, cipher->iv),
		    cslice_of(key, mac != NULL ? mac->key : 0)) != OK)
		exit(1);
	return ctx;
}

/* The next run: packets of n bytes or a little less, in whole blocks. */
static void lay_out(struct bench *b, size_t n)
{
	const struct pktc *row = b->row;
	n = (n - row->clear_len) / row->block * row->block + row->clear_len;
	for (size_t i = 0; i < b->n; i++) {
		b->v[i] = (struct pktc_one){b->at, memory + FRONT + i * (n + row->tag), n};
		be32_put(b->v[i].pkt, (uint32_t)n - 4);
		b->at.seq++;
		b->at.packet++;
		b->at.block += (n - row->clear_len) / row->block;
	}
}

static void seal_run(struct bench *b, bool together)
{
	if (together)
		b->row->seal_many(b->seal, b->v, b->n);
	for (size_t i = 0; i < b->n && !together; i++)
		b->row->seal(b->seal, b->v[i].at, b->v[i].pkt, b->v[i].n);
}

static void open_run(struct bench *b, bool together)
{
	uint32_t length;
	if (together && b->row->open_many != NULL) {
		if (b->row->open_many(b->open, b->v, b->n) != b->n)
			exit(1);
		return;
	}
	for (size_t i = 0; i < b->n; i++)
		if (b->row->length(b->open, b->v[i].at, b->v[i].pkt, &length) != OK ||
			b->row->open(b->open, b->v[i].at, b->v[i].pkt, b->v[i].n) != OK)
			exit(1);
}

/* Bytes a nanosecond of sealing and of opening. */
static void rates(struct bench *b, size_t n, bool together, double *seal, double *open)
{
	double sealing = 0, opening = 0, bytes = 0;
	while (sealing + opening < 2 * SECONDS) {
		lay_out(b, n);
		double start = cpu_now();
		seal_run(b, together);
		double middle = cpu_now();
		open_run(b, together);
		opening += cpu_now() - middle;
		sealing += middle - start;
		bytes += (double)(b->n * b->v[0].n);
	}
	*seal = bytes * 1e-9 / sealing;
	*open = bytes * 1e-9 / opening;
}

static void measure(const struct alg_cipher *cipher, const struct alg_mac *mac,
	const struct pktc *row, size_t n)
{
	struct bench b = {.row = row,
		.n = n,
		.seal = ctx_new(row, PKTC_SEAL, cipher, mac),
		.open = ctx_new(row, PKTC_OPEN, cipher, mac)};
	double seal, open, short_seal, short_open;
	rates(&b, RUN / n, false, &seal, &open);
	printf("%-12.12s %-44s %6.2f %6.2f GB/s", cipher->name, row->name, seal, open);
	if (row->seal_many != NULL) {
		rates(&b, RUN / n, true, &seal, &open);
		printf("  together %6.2f %6.2f", seal, open);
	}
	rates(&b, 84, false, &short_seal, &short_open);
	printf("  80 bytes %5.0f ns\n", 80 / short_seal);
	row->done(b.seal);
	row->done(b.open);
	free(b.seal);
	free(b.open);
}

int main(int argc, char **argv)
{
	size_t n = argc > 2 ? (size_t)strtoul(argv[2], NULL, 10) : 8;
	if (crypto_init() != OK || n == 0 || n > PKTC_MANY)
		return 1;
	for (size_t i = 0; i < alg_ciphers_n; i++)
		for (size_t k = 0; k < (alg_ciphers[i].flags & AF_AEAD ? 1 : alg_macs_n); k++) {
			const struct alg_cipher *c = &alg_ciphers[i];
			const struct alg_mac *m = c->flags & AF_AEAD ? NULL : &alg_macs[k];
			const struct pktc *plain = pktc_for(c, m, false),
					  *fast = pktc_for(c, m, true);
			if (argc > 1 && strstr(c->name, argv[1]) == NULL &&
				strstr(plain->name, argv[1]) == NULL)
				continue;
			measure(c, m, plain, n);
			if (fast != plain)
				measure(c, m, fast, n);
		}
	return 0;
}
