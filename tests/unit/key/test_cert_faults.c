/* SPDX-License-Identifier: ISC */
/*
 * Certificates while memory runs out and the library fails: never a yes, never half a result
 *
 * Built with the wrappers of tests/unit/crypto/faults.c.
 */
#include "base/rng.h"
#include "faults.h"
#include "help.h"
#include "key/cert.h"
#include "wire/codec.h"

static struct key *cert, *subject, *private_key;
static struct signer *authority;
static struct buf blob, fields;
static struct rng_seeded rng;

static err_t op_parse(void)
{
	struct key *k = NULL;
	err_t e = key_parse_any(&k, buf_bytes(&blob));
	assert_true((e == OK) == (k != NULL));
	key_free(k);
	return e;
}

static err_t op_check(void)
{
	struct cert_query q = {.kind = CERT_USER, .now_s = 1600000000, .name = "alice"};
	struct cert_permit p = {.command = NULL};
	err_t e = cert_check(cert, &q, &p);
	assert_true((e == OK) == (p.command != NULL) && (e == OK) == (p.source_address != NULL));
	cert_permit_done(&p);
	return e;
}

static err_t op_sign(void)
{
	struct cslice names[] = {cslice_str("alice")};
	struct cert_draft d = {.kind = CERT_HOST,
		.valid_before = 5,
		.key_id = cslice_str("id"),
		.principals = names,
		.principals_n = 1};
	err_t e = cert_sign(subject, &d, authority, cslice_of(NULL, 0), &rng.rng);
	assert_true((e == OK) == (key_cert(subject) != NULL));
	key_drop_cert(subject);
	return e;
}

static err_t op_copy(void)
{
	struct key *k = NULL;
	err_t e = key_public_copy(&k, cert);
	assert_true(e != OK || key_cert(k) != NULL);
	key_free(k);
	return e;
}

static err_t op_private(void)
{
	struct key *k = NULL;
	struct rd r = rd_of(buf_bytes(&fields));
	err_t e = key_read_private_fields(&k, &r);
	assert_true(e != OK || key_cert(k) != NULL);
	key_free(k);
	return e;
}

static err_t op_put_private(void)
{
	struct buf out;
	buf_init(&out, 65536);
	err_t e = key_put_private_fields(private_key, &out);
	buf_done(&out);
	return e;
}

static void load_cert(const char *file)
{
	struct buf text = help_file(file);
	assert_ok(key_parse_line_any(&cert, buf_bytes(&text), NULL));
	buf_done(&text);
	buf_init(&blob, CERT_BLOB_MAX);
	assert_ok(key_blob_any(cert, &blob));
}

static void no_fault_is_a_yes(void **state)
{
	(void)state;
	load_cert("user-cert.pub");
	faults_sweep("parse", op_parse);
	faults_sweep("check", op_check);
	faults_sweep("copy", op_copy);
	key_free(cert);
	buf_done(&blob);
}

static void no_fault_makes_half_a_certificate(void **state)
{
	(void)state;
	static const char *const types[] = {"ed25519", "ecdsa_256", "rsa_1024"};
	for (size_t i = 0; i < ARRAY_N(types); i++) {
		subject = help_public(types[i]);
		private_key = help_private(types[i], "");
		assert_ok(signer_from_key(&authority, help_private(types[i], "")));
		faults_sweep("sign", op_sign);
		struct cert_draft d = {.kind = CERT_USER};
		assert_ok(cert_sign(private_key, &d, authority, cslice_of(NULL, 0), &rng.rng));
		buf_init(&fields, 65536);
		assert_ok(key_put_private_fields(private_key, &fields));
		faults_sweep("read private", op_private);
		faults_sweep("put private", op_put_private);
		buf_done(&fields);
		authority->ops->free(authority);
		key_free(private_key);
		key_free(subject);
	}
}

/* A certificate that is a no stays one, whatever fails. */
static void a_no_stays_a_no(void **state)
{
	(void)state;
	static const struct cert_query no[] = {
		{.kind = CERT_USER, .now_s = 1600000000, .name = "carol"},
		{.kind = CERT_HOST, .now_s = 1600000000, .name = "alice"},
		{.kind = CERT_USER, .now_s = 1, .name = "alice"},
		{.kind = CERT_USER, .now_s = 1600000000, .ca_algs = "ssh-ed25519"},
	};
	load_cert("user-cert.pub");
	for (size_t i = 0; i < ARRAY_N(no); i++) {
		const char *hit = "";
		for (size_t n = 1; hit != NULL; n++) {
			faults_arm(n, false);
			assert_int_not_equal(cert_check(cert, &no[i], NULL), OK);
			hit = faults_hit();
		}
	}
	blob.p[blob.n - 1] ^= 1;
	for (int negative = 0; negative < 2; negative++) {
		const char *hit = "";
		for (size_t n = 1; hit != NULL; n++) {
			struct key *k = NULL;
			faults_arm(n, negative != 0);
			assert_int_not_equal(key_parse_any(&k, buf_bytes(&blob)), OK);
			assert_null(k);
			hit = faults_hit();
		}
	}
	faults_arm(0, false);
	key_free(cert);
	buf_done(&blob);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_fault_is_a_yes),
		cmocka_unit_test(no_fault_makes_half_a_certificate),
		cmocka_unit_test(a_no_stays_a_no),
	};
	rng_seeded_init(&rng, 1);
	return cmocka_run_group_tests(tests, help_init, NULL);
}
