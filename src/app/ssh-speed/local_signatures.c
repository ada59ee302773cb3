/* SPDX-License-Identifier: ISC */
/*
 * local_signatures - each signature algorithm: signatures and verifications a second
 *
 * By key/key.h, so that the SSH form of a signature is part of it.  RSA runs at three sizes; the
 * keys are made for the run.  The private operations of RSA hold up the run, so each size has one
 * key for all its algorithms.
 */
#include <stdio.h>

#include "algorithm/alg.h"
#include "app/ssh-speed/measure.h"
#include "os/random.h"

#define MESSAGE_N                                                                                  \
	256 /* a session id and a request, or an exchange hash: about so much is signed            \
	     */
#define SIG_MAX ((size_t)64 << 10)

const struct report_column signatures_columns[] = {
	{"sign_per_s", "sign", "/s", REPORT_BAR},
	{"verify_per_s", "verify", "/s", REPORT_BAR},
};
const size_t signatures_columns_n = ARRAY_N(signatures_columns);

static const uint32_t rsa_bits[] = {2048, 3072, 4096};
static const uint32_t own_bits[] = {0}; /* the one size that the type has */

struct signing {
	const struct key *key;
	struct cslice alg, message;
	struct buf sig;
};

static err_t sign_once(void *arg)
{
	struct signing *x = arg;
	buf_clear(&x->sig);
	return key_sign(x->key, x->alg, x->message, &x->sig);
}

static err_t verify_once(void *arg)
{
	struct signing *x = arg;
	return key_verify(x->key, x->alg, x->message, buf_bytes(&x->sig));
}

static err_t measure_key(struct local *l, const struct alg_hostkey *row, const struct key *key,
	struct report_line *line)
{
	uint8_t message[MESSAGE_N];
	rng_fill(os_rng(), message, sizeof(message));
	struct signing x = {.key = key,
		.alg = cslice_str(row->name),
		.message = cslice_of(message, sizeof(message))};
	buf_init(&x.sig, SIG_MAX);
	err_t e = measure_rate(l->options->cell_s, sign_once, &x, &line->v[0]);
	if (e == OK)
		e = measure_rate(l->options->cell_s, verify_once, &x, &line->v[1]);
	buf_done(&x.sig);
	return e;
}

static err_t measure_row(struct local *l, struct report_sheet *s, const struct alg_hostkey *row,
	uint32_t bits, struct key **key)
{
	struct report_line *line;
	char name[128];
	if (bits != 0)
		(void)snprintf(name, sizeof(name), "%s %u", row->name, bits);
	else
		(void)snprintf(name, sizeof(name), "%s", row->name);
	local_step(l, name);
	TRY(report_line(s, name, (row->flags & AF_PQ) != 0 ? "own" : "libcrypto", &line));
	err_t e = OK;
	if (*key == NULL)
		e = key_generate(key, row->type, bits, os_rng());
	if (e == OK) {
		key_set_rng(*key, os_rng());
		e = measure_key(l, row, *key, line);
	}
	return local_result(line, e);
}

static size_t sizes_of(enum key_type t, const uint32_t **bits)
{
	*bits = t == KEY_RSA ? rsa_bits : own_bits;
	if (key_type_is_sk(t))
		return 0; /* a device signs, at the speed of a finger */
	return t == KEY_RSA ? ARRAY_N(rsa_bits) : ARRAY_N(own_bits);
}

size_t signatures_count(const struct speed_options *o)
{
	const uint32_t *bits;
	size_t n = 0;
	(void)o;
	for (size_t i = 0; i < alg_hostkeys_n; i++)
		if ((alg_hostkeys[i].flags & AF_CERT) == 0) /* signs as its plain key */
			n += sizes_of(alg_hostkeys[i].type, &bits);
	return n;
}

err_t signatures_fill(struct local *l, struct report_sheet *s)
{
	struct key *keys[KEY_TYPE_N][ARRAY_N(rsa_bits)] = {0};
	err_t e = OK;
	for (size_t i = 0; e == OK && i < alg_hostkeys_n; i++) {
		const struct alg_hostkey *row = &alg_hostkeys[i];
		const uint32_t *bits;
		size_t n = (row->flags & AF_CERT) == 0 ? sizes_of(row->type, &bits) : 0;
		for (size_t k = 0; e == OK && k < n; k++)
			e = measure_row(l, s, row, bits[k], &keys[row->type][k]);
	}
	for (size_t t = 0; t < KEY_TYPE_N; t++)
		for (size_t k = 0; k < ARRAY_N(rsa_bits); k++)
			key_free(keys[t][k]);
	return e;
}
