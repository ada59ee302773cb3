/* SPDX-License-Identifier: ISC */
/*
 * Each call of the library fails in turn: every operation must then fail, leave its outputs as they
 * were, and never say yes
 *
 * Each op below does one thing from nothing to the end; faults_sweep runs it once a call that it
 * makes.
 */
#include "faults.h"
#include "help.h"

/* Known to be right; made before any fault. */
static struct {
	uint8_t seed[32], ed_pub[32], ed_sig[64], x_priv[32], x_pub[32];
	struct buf point, d, rsa[6], rsa_sig;
	uint8_t r[EC_FIELD_MAX], s[EC_FIELD_MAX];
	struct secret ec_priv;
	uint8_t ec_pub[EC_POINT_MAX];
	struct pkey *ec, *rsa_key;
} good;

static struct rng_seeded rng;
static const uint8_t message[] = "message";

#define MESSAGE cslice_of(message, sizeof(message))

static bool untouched(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != 0xa5)
			return false;
	return true;
}

/* ---- hashes and ciphers ---- */

static err_t op_hash(void)
{
	uint8_t out[HASH_MAX];
	memset(out, 0xa5, sizeof(out));
	err_t e = hash_once(HASH_SHA256, MESSAGE, out);
	assert_true(e == OK || untouched(out, sizeof(out)));
	return e;
}

static err_t op_hash_steps(void)
{
	uint8_t out[HASH_MAX];
	struct hash *h = NULL;
	memset(out, 0xa5, sizeof(out));
	err_t e = hash_new(&h, HASH_SHA256);
	if (e == OK)
		e = hash_update(h, MESSAGE);
	if (e == OK)
		e = hash_peek(h, out);
	assert_true(e == OK || untouched(out, sizeof(out)));
	hash_free(h);
	return e;
}

static err_t op_hmac(void)
{
	uint8_t out[HASH_MAX], key[100] = {0};
	struct hmac *h = NULL;
	struct cslice part = MESSAGE;
	memset(out, 0xa5, sizeof(out));
	err_t e = hmac_new(&h, HASH_SHA256, cslice_of(key, sizeof(key)));
	if (e == OK)
		e = hmac_tag(h, &part, 1, out);
	assert_true(e == OK || untouched(out, sizeof(out)));
	hmac_free(h);
	return e;
}

static err_t op_ctr(void)
{
	uint8_t data[40] = {0};
	struct cipher *c = NULL;
	err_t e = cipher_new(
		&c, CIPHER_AES128_CTR, cslice_of(good.seed, 16), cslice_of(good.seed, 16), true);
	if (e == OK)
		e = cipher_crypt(c, data, data, sizeof(data));
	if (e == OK)
		e = cipher_seek(c, 5);
	cipher_free(c);
	return e;
}

static err_t op_gcm_seal(void)
{
	uint8_t data[40], tag[16];
	struct gcm *g = NULL;
	memset(data, 0x77, sizeof(data));
	err_t e = gcm_new(&g, cslice_of(good.seed, 16));
	if (e == OK) {
		e = gcm_seal(g, good.seed, MESSAGE, (struct slice){data, sizeof(data)}, tag);
		for (size_t i = 0; e != OK && i < sizeof(data); i++)
			assert_int_equal(data[i], 0); /* neither text nor half-sealed */
	}
	gcm_free(g);
	return e;
}

static err_t op_gcm_open(void)
{
	uint8_t data[40] = {0}, tag[16];
	struct gcm *g = NULL, *other = NULL;
	err_t e = gcm_new(&g, cslice_of(good.seed, 16));
	if (e == OK) { /* seals without a fault */
		struct cslice none = {NULL, 0};
		e = gcm_seal(g, good.seed, none, (struct slice){data, sizeof(data)}, tag);
	}
	if (e == OK)
		e = gcm_new(&other, cslice_of(good.seed, 16));
	if (e == OK) {
		e = gcm_open(other, good.seed, (struct cslice){NULL, 0},
			(struct slice){data, sizeof(data)}, tag);
		for (size_t i = 0; e != OK && i < sizeof(data); i++)
			assert_int_equal(data[i], 0);
	}
	gcm_free(other);
	gcm_free(g);
	return e;
}

static err_t op_chacha_poly1305(void)
{
	uint8_t data[100] = {0}, tag[16];
	struct chacha *c = NULL;
	struct poly1305 *p = NULL;
	memset(tag, 0xa5, sizeof(tag));
	err_t e = chacha_new(&c, good.seed);
	if (e == OK)
		e = chacha_crypt(c, good.seed, 1, data, sizeof(data));
	if (e == OK)
		e = poly1305_new(&p);
	if (e == OK)
		e = poly1305_tag(p, good.seed, MESSAGE, tag);
	assert_true(e == OK || untouched(tag, sizeof(tag)));
	poly1305_free(p);
	chacha_free(c);
	return e;
}

/* ---- key agreement ---- */

static err_t op_x25519_keypair(void)
{
	uint8_t priv[32], pub[32];
	memset(priv, 0xa5, sizeof(priv));
	memset(pub, 0xa5, sizeof(pub));
	err_t e = x25519_keypair(&rng.rng, priv, pub);
	assert_true(e == OK || (untouched(priv, 32) && untouched(pub, 32)));
	return e;
}

static err_t op_x25519_shared(void)
{
	uint8_t out[32];
	memset(out, 0xa5, sizeof(out));
	err_t e = x25519_shared(good.x_priv, good.x_pub, out);
	assert_true(e == OK || untouched(out, sizeof(out)));
	return e;
}

static err_t op_ecdh_keypair(void)
{
	struct secret priv;
	uint8_t pub[EC_POINT_MAX];
	memset(&priv, 0xa5, sizeof(priv));
	memset(pub, 0xa5, sizeof(pub));
	err_t e = ecdh_keypair(EC_P256, &rng.rng, &priv, pub);
	assert_true(e == OK || (untouched(priv.b, sizeof(priv.b)) && untouched(pub, sizeof(pub))));
	return e;
}

static err_t op_ecdh_shared(void)
{
	uint8_t out[EC_FIELD_MAX];
	memset(out, 0xa5, sizeof(out));
	err_t e = ecdh_shared(EC_P256, &good.ec_priv, cslice_of(good.ec_pub, 65), out);
	assert_true(e == OK || untouched(out, sizeof(out)));
	return e;
}

static err_t op_dh(void)
{
	struct dh *d = NULL;
	struct buf out;
	buf_init(&out, 1024);
	uint8_t peer[100];
	memset(peer, 0x3c, sizeof(peer));
	err_t e = dh_new_group(&d, DH_GROUP1, 128, &rng.rng);
	if (e == OK)
		e = dh_shared(d, cslice_of(peer, sizeof(peer)), &out);
	dh_free(d);
	buf_done(&out);
	return e;
}

/* ---- signatures ---- */

static err_t op_ed25519_public(void)
{
	uint8_t out[32];
	memset(out, 0xa5, sizeof(out));
	err_t e = ed25519_public(good.seed, out);
	assert_true(e == OK || untouched(out, sizeof(out)));
	return e;
}

static err_t op_ed25519_sign(void)
{
	uint8_t out[64];
	memset(out, 0xa5, sizeof(out));
	err_t e = ed25519_sign(good.seed, MESSAGE, out);
	assert_true(e == OK || untouched(out, sizeof(out)));
	return e;
}

static err_t op_ed25519_verify(void)
{
	return ed25519_verify(good.ed_pub, MESSAGE, good.ed_sig);
}

static err_t op_ec_public(void)
{
	struct pkey *k = NULL;
	err_t e = pkey_ec_public(&k, EC_P256, buf_bytes(&good.point));
	assert_true(e == OK || k == NULL);
	pkey_free(k);
	return e;
}

static err_t op_ec_private(void)
{
	struct pkey *k = NULL;
	err_t e = pkey_ec_private(&k, EC_P256, buf_bytes(&good.point), buf_bytes(&good.d));
	assert_true(e == OK || k == NULL);
	pkey_free(k);
	return e;
}

static err_t op_ec_parts(void)
{
	enum ec_curve c = EC_CURVE_N;
	struct buf point, d;
	buf_init(&point, 256);
	buf_init(&d, 256);
	err_t e = pkey_ec_parts(good.ec, &c, &point, &d);
	assert_true(e == OK || (c == EC_CURVE_N && point.n == 0));
	buf_done(&d);
	buf_done(&point);
	return e;
}

static err_t op_ecdsa_sign(void)
{
	uint8_t r[EC_FIELD_MAX], s[EC_FIELD_MAX];
	memset(r, 0xa5, sizeof(r));
	memset(s, 0xa5, sizeof(s));
	err_t e = pkey_ecdsa_sign(good.ec, HASH_SHA256, MESSAGE, r, s);
	assert_true(e == OK || (untouched(r, sizeof(r)) && untouched(s, sizeof(s))));
	return e;
}

static err_t op_ecdsa_verify(void)
{
	return pkey_ecdsa_verify(
		good.ec, HASH_SHA256, MESSAGE, cslice_of(good.r, 32), cslice_of(good.s, 32));
}

static struct rsa_parts rsa_parts(void)
{
	return (struct rsa_parts){buf_bytes(&good.rsa[0]), buf_bytes(&good.rsa[1]),
		buf_bytes(&good.rsa[2]), buf_bytes(&good.rsa[3]), buf_bytes(&good.rsa[4]),
		buf_bytes(&good.rsa[5])};
}

static err_t op_rsa_public(void)
{
	struct pkey *k = NULL;
	err_t e = pkey_rsa_public(&k, rsa_parts().n, rsa_parts().e);
	assert_true(e == OK || k == NULL);
	pkey_free(k);
	return e;
}

static err_t op_rsa_private(void)
{
	struct pkey *k = NULL;
	struct rsa_parts parts = rsa_parts();
	err_t e = pkey_rsa_private(&k, &parts);
	assert_true(e == OK || k == NULL);
	pkey_free(k);
	return e;
}

static err_t op_rsa_parts(void)
{
	struct buf out[6];
	for (size_t i = 0; i < 6; i++)
		buf_init(&out[i], 1024);
	err_t e = pkey_rsa_parts(good.rsa_key, out);
	for (size_t i = 0; i < 6; i++)
		buf_done(&out[i]);
	return e;
}

static err_t op_rsa_sign(void)
{
	struct buf sig;
	buf_init(&sig, 1024);
	err_t e = pkey_rsa_sign(good.rsa_key, HASH_SHA256, MESSAGE, &sig);
	assert_true(e == OK || sig.n == 0);
	buf_done(&sig);
	return e;
}

static err_t op_rsa_verify(void)
{
	return pkey_rsa_verify(good.rsa_key, HASH_SHA256, MESSAGE, buf_bytes(&good.rsa_sig));
}

/* RFC 8410 10.3 and a P-256 key made for this test. */
static const char pem_ed25519[] =
	"-----BEGIN PRIVATE KEY-----\n"
	"MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n"
	"-----END PRIVATE KEY-----\n";
static const char pem_ec[] = "-----BEGIN EC PRIVATE KEY-----\n"
			     "MHcCAQEEIB2oJmH29JfQ6ozcm20cdKqt7SUjFSycP3b+MGhwRlPMoAoGCCqGSM49\n"
			     "AwEHoUQDQgAEeYpwt7ZW2tomb1ZV4CGDtjANzLtcylaxmBwLFDNW5rwz6+ar3Ur8\n"
			     "fRn7JhLFaoyQXo0/EbnIbChWyvdskQS99g==\n"
			     "-----END EC PRIVATE KEY-----\n";

static err_t pem(const char *text)
{
	struct pem_key k = {0};
	err_t e = pem_private_read(&k, cslice_str(text), (struct cslice){NULL, 0});
	assert_true(e == OK || (k.k == NULL && !k.is_ed25519 && !k.is_rsa));
	pkey_free(k.k);
	return e;
}

static err_t op_pem_ed25519(void)
{
	return pem(pem_ed25519);
}

static err_t op_pem_ec(void)
{
	return pem(pem_ec);
}

/* Each form of a private and a public key; what is written is read back. */
static err_t pem_out(const struct pkey *k, enum pem_form form, const char *passphrase)
{
	struct buf text;
	struct pkey *pub = NULL;
	buf_init(&text, 16384);
	err_t e = pem_private_write(k, form, cslice_str(passphrase), &text);
	assert_true(e == OK || text.n == 0);
	if (e == OK) {
		buf_clear(&text);
		e = pem_public_write(k, form, &text);
		assert_true(e == OK || text.n == 0);
	}
	if (e == OK)
		e = pem_public_read(&pub, buf_bytes(&text));
	assert_int_equal(e == OK, pub != NULL);
	pkey_free(pub);
	buf_done(&text);
	return e;
}

static err_t op_pem_write_old(void)
{
	return pem_out(good.rsa_key, PEM_OLD, "pass phrase");
}

static err_t op_pem_write_pkcs8(void)
{
	return pem_out(good.ec, PEM_PKCS8, "pass phrase");
}

static err_t op_pem_write_plain(void)
{
	return pem_out(good.ec, PEM_PKCS8, "");
}

/* clang-format off */
static const struct {
	const char *name;
	fault_op *op;
} ops[] = {
	{"hash", op_hash}, {"hash in steps", op_hash_steps}, {"hmac", op_hmac}, {"ctr", op_ctr},
	{"gcm seal", op_gcm_seal}, {"gcm open", op_gcm_open}, {"chacha poly1305", op_chacha_poly1305},
	{"x25519 keypair", op_x25519_keypair}, {"x25519 shared", op_x25519_shared},
	{"ecdh keypair", op_ecdh_keypair}, {"ecdh shared", op_ecdh_shared}, {"dh", op_dh},
	{"ed25519 public", op_ed25519_public}, {"ed25519 sign", op_ed25519_sign},
	{"ed25519 verify", op_ed25519_verify}, {"ec public", op_ec_public}, {"ec private", op_ec_private},
	{"ec parts", op_ec_parts}, {"ecdsa sign", op_ecdsa_sign}, {"ecdsa verify", op_ecdsa_verify},
	{"rsa public", op_rsa_public}, {"rsa private", op_rsa_private}, {"rsa parts", op_rsa_parts},
	{"rsa sign", op_rsa_sign}, {"rsa verify", op_rsa_verify}, {"pem ed25519", op_pem_ed25519},
	{"pem ec", op_pem_ec}, {"pem write", op_pem_write_old},
	{"pem write pkcs8", op_pem_write_pkcs8}, {"pem write plain", op_pem_write_plain},
};
/* clang-format on */

static void no_operation_succeeds_when_a_call_of_the_library_fails(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_N(ops); i++)
		faults_sweep(ops[i].name, ops[i].op);
}

/* Else a wrapper would be there for nothing, or a call would have got past it. */
static void every_wrapped_function_has_failed_once(void **state)
{
	(void)state;
	size_t all = 0, failed = faults_seen(&all);
	assert_true(all > 0);
	assert_int_equal(failed, all);
}

static int prepare(void **state)
{
	(void)state;
	enum ec_curve c;
	rng_seeded_init(&rng, 21);
	rng_fill(&rng.rng, good.seed, sizeof(good.seed));
	buf_init(&good.point, 256);
	buf_init(&good.d, 256);
	buf_init(&good.rsa_sig, 1024);
	for (size_t i = 0; i < 6; i++)
		buf_init(&good.rsa[i], 1024);
	err_t e[] = {
		crypto_init(),
		ed25519_public(good.seed, good.ed_pub),
		ed25519_sign(good.seed, MESSAGE, good.ed_sig),
		x25519_keypair(&rng.rng, good.x_priv, good.x_pub),
		ecdh_keypair(EC_P256, &rng.rng, &good.ec_priv, good.ec_pub),
		pkey_ec_generate(&good.ec, EC_P256),
		pkey_ec_parts(good.ec, &c, &good.point, &good.d),
		pkey_ecdsa_sign(good.ec, HASH_SHA256, MESSAGE, good.r, good.s),
		pkey_rsa_generate(&good.rsa_key, 1024),
		pkey_rsa_parts(good.rsa_key, good.rsa),
		pkey_rsa_sign(good.rsa_key, HASH_SHA256, MESSAGE, &good.rsa_sig),
	};
	for (size_t i = 0; i < ARRAY_N(e); i++)
		if (e[i] != OK)
			return -1;
	return 0;
}

static int clean(void **state)
{
	(void)state;
	pkey_free(good.rsa_key);
	pkey_free(good.ec);
	for (size_t i = 0; i < 6; i++)
		buf_done(&good.rsa[i]);
	buf_done(&good.rsa_sig);
	buf_done(&good.d);
	buf_done(&good.point);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_operation_succeeds_when_a_call_of_the_library_fails),
		cmocka_unit_test(every_wrapped_function_has_failed_once),
	};
	return cmocka_run_group_tests(tests, prepare, clean);
}
