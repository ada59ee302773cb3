/* SPDX-License-Identifier: ISC */
/*
 * world - the world: two ends, two links, one clock; and the list of seeds
 *
 *     sim_ends                 the kept seeds (seeds.txt), then SEEDS more
 *     sim_ends FIRST [COUNT]   those
 *
 * Each seed runs twice, the second time with the transports frozen and thawed at every chance.  All
 * must hold again; and where the plan sends packet by packet, the bytes on both wires and what the
 * layers were told must be the same.
 */
#include <stdio.h>
#include <stdlib.h>

#include "sim.h"

#define STEPS_MAX  2000000u
#define SILENCE_US 120000000u
#define SEEDS      100u

const char *sim_fault;

struct world {
	struct sim_plan plan;
	struct sim_link up, down;
	struct sim_node c, s;
	uint64_t now_us, steps;
	uint64_t carried, carried_us; /* bytes on both wires, and when the last came */
};

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void world_init(struct world *w, uint64_t seed, bool freezes)
{
	*w = (struct world){.now_us = 1000000, .carried_us = 1000000};
	sim_plan_draw(&w->plan, seed);
	sim_link_init(&w->up, &w->plan, &w->plan.up, seed * 7);
	sim_link_init(&w->down, &w->plan, &w->plan.down, seed * 11);
	sim_node_init(&w->c, &w->plan, TP_CLIENT);
	sim_node_init(&w->s, &w->plan, TP_SERVER);
	w->c.out = w->s.in = &w->up;
	w->s.out = w->c.in = &w->down;
	w->c.freezes = w->s.freezes = freezes;
}

static void world_done(struct world *w)
{
	sim_node_done(&w->c);
	sim_node_done(&w->s);
	sim_link_done(&w->up);
	sim_link_done(&w->down);
}

/* When something happens next; bytes that wait for their reader are not an event. */
static uint64_t next_us(const struct world *w)
{
	uint64_t at = least(sim_node_due(&w->c), sim_node_due(&w->s));
	uint64_t up = sim_link_due(&w->up), down = sim_link_due(&w->down);
	if (up > w->now_us)
		at = least(at, up);
	if (down > w->now_us)
		at = least(at, down);
	return at;
}

static bool is_over(const struct world *w)
{
	return w->c.is_over && w->s.is_over;
}

/* An end that has gone reads no more: what is under way to it is lost, and the sender hears. */
static void cut_after(struct world *w)
{
	if (w->c.is_over)
		w->down.first = w->down.n = 0, buf_clear(&w->down.bytes);
	if (w->s.is_over)
		w->up.first = w->up.n = 0, buf_clear(&w->up.bytes);
}

static void run(struct world *w)
{
	while (!is_over(w) && sim_fault == NULL) {
		/* both, until neither moves the other at this moment */
		uint64_t before;
		do {
			before = w->up.in_all + w->down.in_all + w->up.out_all + w->down.out_all;
			sim_node_step(&w->c, w->now_us);
			sim_node_step(&w->s, w->now_us);
			cut_after(w);
		} while (before != w->up.in_all + w->down.in_all + w->up.out_all + w->down.out_all);
		if (is_over(w))
			return;
		if (w->carried != w->up.out_all + w->down.out_all) {
			w->carried = w->up.out_all + w->down.out_all;
			w->carried_us = w->now_us;
		}
		if (w->c.is_over || w->s.is_over) {
			struct sim_node *left = w->c.is_over ? &w->s : &w->c;
			if (left->in->n == 0 && left->err != OK)
				left->is_over = true; /* nobody takes its last words */
		}
		uint64_t at = next_us(w);
		bool is_silent = at == SIM_NEVER || at - w->carried_us > SILENCE_US;
		if (is_silent && w->plan.harm == SIM_HONEST)
			return;  /* a deadlock: judged by the caller */
		if (is_silent) { /* a length that grew, a channel closed by a liar: programs have
				    timers for it */
			sim_node_fail(&w->c, E_TIMEOUT);
			sim_node_fail(&w->s, E_TIMEOUT);
			at = w->now_us;
		}
		w->now_us = at > w->now_us ? at : w->now_us;
		HOLDS(++w->steps < STEPS_MAX);
	}
}

static bool is_complete(const struct sim_node *n)
{
	if (n->cn == NULL)
		return false;
	for (uint32_t i = 0; i < SIM_ALL; i++) {
		const struct sim_chan *c = &n->chans[i];
		if (!sim_plan_has(n->plan, i) || i == n->plan->refused ||
			i == n->plan->refused_back)
			continue;
		for (size_t ext = 0; ext < 2; ext++)
			if (c->in_at[ext] != c->in_want[ext] || c->out[ext].at != c->out[ext].want)
				return false;
	}
	return true;
}

static void judge(const struct world *w)
{
	const struct sim_plan *p = &w->plan;
	if (p->harm == SIM_HONEST) {
		HOLDS(w->c.err == E_CANCELLED && w->s.err == E_DISCONNECTED);
		HOLDS(is_complete(&w->c) && is_complete(&w->s)); /* no silent deadlock either */
	} else {
		HOLDS(is_over(w)); /* any error ends both */
		HOLDS(p->harm == SIM_HOSTILE || w->c.err != E_CANCELLED || is_complete(&w->c));
	}
	/* versions and KEXINIT cross; Q_C, Q_S; keys, service, signed request; success */
	if (p->is_quick)
		HOLDS(w->c.in_us - 1000000 <= 5 * p->up.delay_us);
}

struct outcome {
	uint64_t up, down, c, s;
	bool is_bulk;
	uint32_t freezes, rekeys;
	uint32_t backs, backs_rekeyed, backs_half;
};

static struct outcome run_once(uint64_t seed, bool freezes)
{
	static struct world w;
	world_init(&w, seed, freezes);
	run(&w);
	judge(&w);
	struct outcome o = {w.up.hash, w.down.hash, w.c.hash, w.s.hash, w.plan.is_bulk,
		w.c.freezes_n + w.s.freezes_n, w.c.rekeys_n + w.s.rekeys_n, w.s.backs_n,
		w.s.backs_rekeyed_n, w.s.backs_half_n};
	if (sim_fault != NULL)
		printf("seed %llu (%s): not so: %s; at %llu us, client %s, server %s\n",
			(unsigned long long)seed, freezes ? "frozen and thawed" : "plain",
			sim_fault, (unsigned long long)w.now_us, err_name(w.c.err),
			err_name(w.s.err));
	world_done(&w);
	return o;
}

static struct {
	uint32_t passed, failed;
	uint64_t freezes, rekeys;
	uint64_t backs, backs_rekeyed, backs_half;
} total;

static void run_seed(uint64_t seed)
{
	sim_fault = NULL;
	struct outcome a = run_once(seed, false);
	if (sim_fault == NULL) {
		struct outcome b = run_once(seed, true);
		if (sim_fault == NULL && !a.is_bulk &&
			(a.up != b.up || a.down != b.down || a.c != b.c || a.s != b.s)) {
			sim_fault = "a hand-over is invisible";
			printf("seed %llu: not so: %s; they differ in:%s%s%s%s\n",
				(unsigned long long)seed, sim_fault, a.up != b.up ? " up" : "",
				a.down != b.down ? " down" : "", a.c != b.c ? " client" : "",
				a.s != b.s ? " server" : "");
		}
		total.freezes += b.freezes;
	}
	total.rekeys += a.rekeys;
	total.backs += a.backs;
	total.backs_rekeyed += a.backs_rekeyed;
	total.backs_half += a.backs_half;
	if (sim_fault != NULL)
		total.failed++;
	else
		total.passed++;
}

static void run_kept(const char *path)
{
	char line[256];
	FILE *f = fopen(path, "r");
	if (f == NULL) {
		printf("sim: %s cannot be read\n", path);
		total.failed++;
		return;
	}
	while (fgets(line, sizeof(line), f) != NULL)
		if (line[0] >= '0' && line[0] <= '9')
			run_seed(strtoull(line, NULL, 10));
	(void)fclose(f);
}

int main(int argc, char **argv)
{
	uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : argc > 1 ? 1 : SEEDS;
	setvbuf(stdout, NULL, _IOLBF, 0);
	sim_global();
	if (argc == 1)
		run_kept(SIM_SEEDS_FILE);
	for (uint64_t i = 0; i < count; i++)
		run_seed(first + i);
	printf("sim: %llu hand-overs, %llu rekeys\n", (unsigned long long)total.freezes,
		(unsigned long long)total.rekeys);
	printf("sim: the server opened %llu channels; %llu saw new keys, %llu half an end\n",
		(unsigned long long)total.backs, (unsigned long long)total.backs_rekeyed,
		(unsigned long long)total.backs_half);
	/* Of the usual run each must be a part, or it shows nothing about them. */
	if (argc == 1 && (total.backs == 0 || total.backs_rekeyed == 0 || total.backs_half == 0))
		total.failed++;
	printf("%u passed, %u failed\n", total.passed, total.failed);
	return total.failed == 0 ? 0 : 1;
}
