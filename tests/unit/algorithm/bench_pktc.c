/* SPDX-License-Identifier: ISC */
/*
 * How fast is each packet protection on one core: 32 KiB packets in place, seal and open, and short
 * ones.
 *
 * Run it by hand or with `meson test --benchmark`; it is never a pass or a fail.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "algorithm/alg.h"
#include "crypto/pick.h"

#define BULK  32768
#define SHORT 64

static double cpu_now(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Seconds of CPU a packet; opening needs a packet that was sealed, so its cost is the difference.
 */
static double cost(const struct pktc *row, void *seal, void *open, uint8_t *pkt, size_t n)
{
	size_t rounds = 0;
	struct pktc_at at = {0};
	double start = cpu_now(), end = start;
	while (end - start < 0.05) {
		for (size_t i = 0; i < 50; i++) {
			row->seal(seal, at, pkt, n);
			if (open != NULL && row->open(open, at, pkt, n) != OK)
				exit(1);
			at.seq++;
			at.packet++;
			at.block += n / 16 + 1;
		}
		rounds += 50;
		end = cpu_now();
	}
	return (end - start) / (double)rounds;
}

static void measure(const struct alg_cipher *cipher, const struct alg_mac *mac, bool use_fast)
{
	static uint8_t key[64], pkt[BULK + 64];
	const struct pktc *row = pktc_for(cipher, mac, use_fast);
	void *ctx[2];
	for (int dir = 0; dir < 2; dir++) {
		ctx[dir] = aligned_alloc(64, (row->ctx_size + 63) / 64 * 64);
		if (ctx[dir] == NULL)
			abort();
		memset(ctx[dir], 0, row->ctx_size);
		if (row->init(ctx[dir], (enum pktc_dir)dir, cslice_of(key, cipher->key),
			    cslice_of(key, cipher->iv),
			    cslice_of(key, mac != NULL ? mac->key : 0)) != OK)
			exit(1);
	}
	double seal = cost(row, ctx[0], NULL, pkt, BULK),
	       both = cost(row, ctx[0], ctx[1], pkt, BULK);
	double little = cost(row, ctx[0], NULL, pkt, SHORT);
	printf("%-24s%-50s seal %6.2f GB/s  open %6.2f GB/s  %d bytes %5.0f ns\n",
		cipher->prot == PROT_CHACHAPOLY ? "" : cipher->name, row->name, BULK * 1e-9 / seal,
		BULK * 1e-9 / (both - seal), SHORT, little * 1e9);
	for (int dir = 0; dir < 2; dir++) {
		row->done(ctx[dir]);
		free(ctx[dir]);
	}
}

int main(void)
{
	if (crypto_init() != OK)
		return 1;
	for (size_t i = 0; i < alg_ciphers_n; i++)
		for (size_t k = 0; k < (alg_ciphers[i].flags & AF_AEAD ? 1 : alg_macs_n); k++)
			for (int fast = 0; fast < 2; fast++)
				measure(&alg_ciphers[i],
					alg_ciphers[i].flags & AF_AEAD ? NULL : &alg_macs[k],
					fast == 1);
	return 0;
}
