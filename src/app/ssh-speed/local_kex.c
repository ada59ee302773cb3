/* SPDX-License-Identifier: ISC */
/*
 * local_kex - each key exchange method: how many a second each side can do
 *
 * The mathematics of algorithm/kex.h alone, with fresh private values each time: no messages, no
 * host key.  A group exchange is measured with a group of GEX_BITS, which is what it picks for a
 * 128-bit cipher or a little more.
 */
#include <stdio.h>

#include "algorithm/kex.h"
#include "app/ssh-speed/measure.h"
#include "os/random.h"

#define GEX_GROUP DH_GROUP16
#define GEX_BITS  "4096"
#define WANT_BITS 256
#define KEX_MAX   ((size_t)64 << 10)

const struct report_column kex_columns[] = {
	{"client_per_s", "client", "/s", REPORT_BAR},
	{"server_per_s", "server", "/s", REPORT_BAR},
	{"both_per_s", "both", "/s", REPORT_PLAIN},
};
const size_t kex_columns_n = ARRAY_N(kex_columns);

struct exchange {
	const struct alg_kex *row;
	const struct kex_group *group;
	struct buf qc, qs, client_k, server_k;
};

static err_t client_part(struct exchange *x, struct kex **client)
{
	TRY(kex_new(client, x->row, os_rng(), x->group, WANT_BITS));
	return kex_start(*client, &x->qc);
}

static err_t server_part(struct exchange *x)
{
	struct kex *server = NULL;
	TRY(kex_new(&server, x->row, os_rng(), x->group, WANT_BITS));
	err_t e = kex_reply(server, buf_bytes(&x->qc), &x->qs, &x->server_k);
	kex_free(server);
	return e;
}

static err_t one_exchange(void *arg, struct measure_parts *p)
{
	struct exchange *x = arg;
	struct kex *client = NULL;
	buf_clear(&x->qc);
	buf_clear(&x->qs);
	buf_clear(&x->client_k);
	buf_clear(&x->server_k);
	double t0 = measure_now();
	err_t e = client_part(x, &client);
	double t1 = measure_now();
	if (e == OK)
		e = server_part(x);
	double t2 = measure_now();
	if (e == OK)
		e = kex_finish(client, buf_bytes(&x->qs), &x->client_k);
	kex_free(client);
	double t3 = measure_now();
	if (e == OK && !cslice_eq(buf_bytes(&x->client_k), buf_bytes(&x->server_k)))
		e = E_BUG;
	p->spent[0] += t1 - t0 + (t3 - t2);
	p->spent[1] += t2 - t1;
	p->done++;
	return e;
}

static err_t measure_row(struct local *l, const struct alg_kex *row, const struct kex_group *group,
	struct report_line *line)
{
	struct exchange x = {.row = row, .group = group};
	struct measure_parts p = {.n = 2};
	buf_init(&x.qc, KEX_MAX);
	buf_init(&x.qs, KEX_MAX);
	buf_init(&x.client_k, KEX_MAX);
	buf_init(&x.server_k, KEX_MAX);
	err_t e = measure_apart(l->options->cell_s, one_exchange, &x, &p);
	if (e == OK) {
		line->v[0] = (double)p.done / p.spent[0];
		line->v[1] = (double)p.done / p.spent[1];
		line->v[2] = (double)p.done / (p.spent[0] + p.spent[1]);
	}
	buf_done(&x.qc);
	buf_done(&x.qs);
	buf_done(&x.client_k);
	buf_done(&x.server_k);
	return e;
}

static const char *by_of(const struct alg_kex *row)
{
	if ((row->flags & AF_PQ) != 0)
		return "own and libcrypto";
	return row->family == KEX_DHGEX ? "libcrypto, " GEX_BITS " bits" : "libcrypto";
}

size_t kex_count(const struct speed_options *o)
{
	(void)o;
	return alg_kexes_n;
}

err_t kex_fill(struct local *l, struct report_sheet *s)
{
	struct dh *example = NULL;
	TRY(dh_new_group(&example, GEX_GROUP, WANT_BITS, os_rng()));
	struct kex_group group = {dh_p(example), dh_g(example)};
	err_t e = OK;
	for (size_t i = 0; e == OK && i < alg_kexes_n; i++) {
		const struct alg_kex *row = &alg_kexes[i];
		struct report_line *line;
		local_step(l, row->name);
		e = report_line(s, row->name, by_of(row), &line);
		if (e == OK)
			e = local_result(
				line, measure_row(l, row, row->family == KEX_DHGEX ? &group : NULL,
					      line));
	}
	dh_free(example);
	return e;
}
