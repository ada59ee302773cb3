/* SPDX-License-Identifier: ISC */
/*
 * local_bytes - hashes, MACs and ciphers alone, at the block sizes that `openssl speed` has made
 * known
 */
#include <stdio.h>
#include <stdlib.h>

#include "algorithm/pktc_mac.h"
#include "app/ssh-speed/measure.h"
#include "os/random.h"

#define BYTES_MAX 16384

#define SIZES(X)  X(16) X(64) X(256) X(1024) X(8192) X(16384)
#define COLUMN(n) {"mb_s_" #n, #n, "MB/s", n == 1024 || n == 8192 ? REPORT_BAR : REPORT_PLAIN},
#define SIZE(n)   n,
static const size_t sizes[] = {SIZES(SIZE)};
const struct report_column bytes_columns[] = {SIZES(COLUMN)};
const size_t bytes_columns_n = ARRAY_N(bytes_columns);

struct work {
	uint8_t *data; /* BYTES_MAX and a tag */
	size_t n;
	enum hash_id hash;
	struct hmac *hmac;
	struct pktc_mac mac;
	struct cipher *cipher;
	uint32_t seq;
};

/* ---- what one call does -------------------------------------------------------------------------
 */
static err_t hash_op(void *arg)
{
	struct work *w = arg;
	uint8_t sum[HASH_MAX];
	return hash_once(w->hash, cslice_of(w->data, w->n), sum);
}

static err_t hmac_op(void *arg)
{
	struct work *w = arg;
	uint8_t tag[HASH_MAX];
	return hmac_tag(w->hmac, &(struct cslice){w->data, w->n}, 1, tag);
}

static err_t mac_op(void *arg)
{
	struct work *w = arg;
	uint8_t tag[PKTC_MAC_MAX];
	return pktc_mac_tag(&w->mac, w->seq++, w->data, w->n, tag);
}

static err_t cipher_op(void *arg)
{
	struct work *w = arg;
	return cipher_crypt(w->cipher, w->data, w->data, w->n);
}

/* ---- one line -----------------------------------------------------------------------------------
 */
static err_t measure_sizes(
	struct local *l, struct work *w, measure_op *op, const char *name, struct report_line *line)
{
	w->data = malloc(BYTES_MAX);
	if (w->data == NULL)
		return E_MEM;
	memset(w->data, 0x5a, BYTES_MAX);
	err_t e = OK;
	for (size_t i = 0; e == OK && i < ARRAY_N(sizes); i++) {
		double rate = 0;
		w->n = sizes[i];
		local_step(l, name);
		e = measure_rate(l->options->cell_s, op, w, &rate);
		if (e == OK)
			line->v[i] = rate * (double)w->n * 1e-6;
	}
	free(w->data);
	return e;
}

static err_t add_hash(struct local *l, struct report_sheet *s, enum hash_id id)
{
	struct work w = {.hash = id};
	struct report_line *line;
	TRY(report_line(s, hash_name(id), "libcrypto", &line));
	return local_result(line, measure_sizes(l, &w, hash_op, line->name, line));
}

static err_t add_hmac(struct local *l, struct report_sheet *s, enum hash_id id)
{
	struct work w = {.hash = id};
	struct report_line *line;
	uint8_t key[HASH_MAX];
	char name[64];
	(void)snprintf(name, sizeof(name), "hmac-%s", hash_name(id));
	TRY(report_line(s, name, "libcrypto", &line));
	rng_fill(os_rng(), key, sizeof(key));
	err_t e = hmac_new(&w.hmac, id, cslice_of(key, hash_size(id)));
	if (e == OK)
		e = measure_sizes(l, &w, hmac_op, name, line);
	hmac_free(w.hmac);
	wipe(key, sizeof(key));
	return local_result(line, e);
}

static err_t add_cipher(struct local *l, struct report_sheet *s, enum cipher_id id, bool encrypt)
{
	struct work w = {0};
	struct report_line *line;
	uint8_t key[64], iv[16];
	char name[64];
	(void)snprintf(
		name, sizeof(name), "%s %s", cipher_name(id), encrypt ? "encrypt" : "decrypt");
	TRY(report_line(s, name, "libcrypto", &line));
	rng_fill(os_rng(), key, sizeof(key));
	rng_fill(os_rng(), iv, sizeof(iv));
	err_t e = cipher_new(&w.cipher, id, cslice_of(key, cipher_key_size(id)),
		cslice_of(iv, cipher_iv_size(id)), encrypt);
	if (e == OK)
		e = measure_sizes(l, &w, cipher_op, name, line);
	cipher_free(w.cipher);
	wipe(key, sizeof(key));
	return local_result(line, e);
}

static err_t add_mac(struct local *l, struct report_sheet *s, const struct alg_mac *row)
{
	struct work w = {0};
	struct report_line *line;
	uint8_t key[HASH_MAX];
	rng_fill(os_rng(), key, sizeof(key));
	err_t e = pktc_mac_make(&w.mac, row->mac, cslice_of(key, row->key));
	err_t made = report_line(s, row->name, w.mac.umac != NULL ? "own" : "libcrypto", &line);
	if (made == OK && e == OK)
		e = measure_sizes(l, &w, mac_op, row->name, line);
	pktc_mac_done(&w.mac);
	wipe(key, sizeof(key));
	return made != OK ? made : local_result(line, e);
}

/* ---- the tables ---------------------------------------------------------------------------------
 */
/* What stands in a packet, in clear or hidden, is all the same to the MAC. */
static bool is_counted(const struct alg_mac *m)
{
	return (m->flags & AF_ETM) == 0;
}

size_t macs_count(const struct speed_options *o)
{
	size_t n = 0;
	(void)o;
	for (size_t i = 0; i < alg_macs_n; i++)
		n += is_counted(&alg_macs[i]);
	return n * ARRAY_N(sizes);
}

err_t macs_fill(struct local *l, struct report_sheet *s)
{
	for (size_t i = 0; i < alg_macs_n; i++)
		if (is_counted(&alg_macs[i]))
			TRY(add_mac(l, s, &alg_macs[i]));
	return OK;
}

size_t primitives_count(const struct speed_options *o)
{
	(void)o;
	return (2 * (size_t)HASH_N + 2 * (size_t)CIPHER_ID_N) * ARRAY_N(sizes);
}

err_t primitives_fill(struct local *l, struct report_sheet *s)
{
	for (int id = 0; id < HASH_N; id++)
		TRY(add_hash(l, s, (enum hash_id)id));
	for (int id = 0; id < HASH_N; id++)
		TRY(add_hmac(l, s, (enum hash_id)id));
	for (int id = 0; id < CIPHER_ID_N; id++)
		for (int encrypt = 1; encrypt >= 0; encrypt--)
			TRY(add_cipher(l, s, (enum cipher_id)id, encrypt != 0));
	return OK;
}
