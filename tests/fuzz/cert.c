/* SPDX-License-Identifier: ISC */
/*
 * cert - certificates: parse, show, check
 *
 * A guessed signature is never right, so there are two ways in: whole blobs, and the fields behind
 * the key, which the target signs with an authority of its own.
 */
#include "base/rng.h"
#include "base/text.h"
#include "fuzz.h"
#include "key/cert.h"
#include "wire/codec.h"

static struct key *authority, *subject;

/* The key of seed 0, 1, ...: enough for a signature that must hold. */
static struct key *key_of_seed(uint64_t seed)
{
	struct rng_seeded rng;
	struct key *k = NULL;
	rng_seeded_init(&rng, seed);
	PROMISE(key_generate(&k, KEY_ED25519, 0, &rng.rng) == OK);
	return k;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	if (crypto_init() != OK)
		return -1;
	authority = key_of_seed(0);
	subject = key_of_seed(1);
	return 0;
}

static bool is_name(const struct cert *c, const struct cert_query *q)
{
	struct cslice rest = c->principals, one;
	while (cert_next_principal(&rest, &one))
		if (q->kind == CERT_HOST ? glob_match(one, cslice_str(q->name))
					 : cslice_eq_str(one, q->name))
			return true;
	return false;
}

/* What a yes must mean, told again in other words. */
static void allowed(const struct cert *c, const struct cert_query *q, const struct cert_permit *p)
{
	struct cslice rest = c->critical, name, data;
	PROMISE(c->kind == q->kind && c->principals_n > 0);
	PROMISE(c->valid_after <= q->now_s && q->now_s < c->valid_before);
	PROMISE(q->name == NULL || is_name(c, q));
	PROMISE(q->kind == CERT_USER || c->critical.n == 0);
	while (cert_next_option(&rest, &name, &data)) {
		bool is_command = cslice_eq_str(name, "force-command"),
		     is_source = cslice_eq_str(name, "source-address");
		PROMISE(is_command || is_source ||
			(cslice_eq_str(name, "verify-required") && p->verify_required));
		PROMISE(!is_command || p->command != NULL);
		PROMISE(!is_source || p->source_address != NULL);
	}
}

static void check(const struct key *k, uint8_t how, uint64_t now_s)
{
	static const char *const names[] = {NULL, "", "alice", "host.example.com"};
	static const char *const algs[] = {NULL, "ssh-ed25519", "rsa-sha2-512,ssh-ed25519", ""};
	const char *why = NULL;
	struct cert_query q = {
		.kind = how & 1 ? CERT_HOST : CERT_USER,
		.now_s = now_s,
		.name = names[how >> 1 & 3],
		.ca_algs = algs[how >> 3 & 3],
		.reason = &why,
	};
	struct cert_permit p = {.command = NULL};
	err_t e = cert_check(k, &q, &p);
	PROMISE(e == OK || e == E_DENIED);
	PROMISE((e == OK) == (why == NULL));
	if (e == OK)
		allowed(key_cert(k), &q, &p);
	else
		PROMISE(p.command == NULL && p.source_address == NULL);
	cert_permit_done(&p);
}

static void use(struct key *k, struct cslice blob, uint8_t how, uint64_t now_s)
{
	struct buf out;
	struct key *again = NULL;
	buf_init(&out, CERT_BLOB_MAX * 2);
	PROMISE(key_blob_any(k, &out) == OK && cslice_eq(buf_bytes(&out), blob));
	PROMISE(key_public_copy(&again, k) == OK && key_equal_public(k, again));
	PROMISE((key_cert(k) != NULL) == (key_cert(again) != NULL));
	key_free(again);
	again = NULL;
	buf_clear(&out);
	PROMISE(key_line_any(k, "words", &out) == OK);
	PROMISE(key_parse_line_any(&again, buf_bytes(&out), NULL) == OK);
	key_free(again);
	if (key_cert(k) != NULL)
		check(k, how, now_s);
	buf_done(&out);
	key_free(k);
}

/* type, nonce and key in front; the authority and a signature behind. */
static err_t complete(struct cslice fields, struct buf *out)
{
	struct buf plain, ca, sig;
	buf_init(&plain, 1024);
	buf_init(&ca, 1024);
	buf_init(&sig, 1024);
	PROMISE(key_blob(subject, &plain) == OK && key_blob(authority, &ca) == OK);
	struct rd r = rd_of(buf_bytes(&plain));
	(void)rd_str(&r);
	buf_put_cstring(out, key_type_cert_name(KEY_ED25519));
	buf_put_cstring(out, "nonce");
	buf_put(out, r.p, r.n);
	buf_put(out, fields.p, fields.n);
	buf_put_cstring(out, "");
	buf_put_string(out, buf_bytes(&ca));
	err_t e = buf_err(out);
	if (e == OK) {
		PROMISE(key_sign(authority, cslice_str("ssh-ed25519"), buf_bytes(out), &sig) == OK);
		buf_put_string(out, buf_bytes(&sig));
		e = buf_err(out);
	}
	buf_done(&sig);
	buf_done(&ca);
	buf_done(&plain);
	return e;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct cslice in = {data, n};
	uint8_t how = fuzz_u8(&in);
	uint64_t now_s = fuzz_u32(&in);
	struct key *k = NULL;
	struct buf blob;
	buf_init(&blob, CERT_BLOB_MAX);
	if (how & 0x80)
		buf_put(&blob, in.p, in.n);
	bool is_blob = how & 0x80 ? buf_err(&blob) == OK : complete(in, &blob) == OK;
	if (is_blob && key_parse_any(&k, buf_bytes(&blob)) == OK)
		use(k, buf_bytes(&blob), how, now_s);
	else
		PROMISE(k == NULL);
	buf_done(&blob);
	return 0;
}
