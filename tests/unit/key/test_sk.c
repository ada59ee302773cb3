/* SPDX-License-Identifier: ISC */
/*
 * FIDO keys: what a device signed is verified with its flags, and nothing else passes
 *
 * The device is played here: a key whose private half the test keeps, and frames put together as
 * the device would.
 */
#include "help.h"
#include "key/ops.h"

#define ED       "sk-ssh-ed25519@openssh.com"
#define EC       "sk-ecdsa-sha2-nistp256@openssh.com"
#define WEBAUTHN "webauthn-sk-ecdsa-sha2-nistp256@openssh.com"
#define ORIGIN   "https://www.example.com"

struct device {
	bool is_ec;
	uint8_t seed[32];
	struct pkey *ec;
	struct key *pub;
};

static void device_open(struct device *d, bool is_ec)
{
	struct buf blob, point;
	enum ec_curve c;
	uint8_t pub[32];
	*d = (struct device){.is_ec = is_ec};
	buf_init(&blob, 512);
	buf_init(&point, EC_POINT_MAX);
	buf_put_cstring(&blob, is_ec ? EC : ED);
	if (is_ec) {
		assert_ok(pkey_ec_generate(&d->ec, EC_P256));
		assert_ok(pkey_ec_parts(d->ec, &c, &point, NULL));
		buf_put_cstring(&blob, "nistp256");
		buf_put_string(&blob, buf_bytes(&point));
	} else {
		memset(d->seed, 7, sizeof(d->seed));
		assert_ok(ed25519_public(d->seed, pub));
		buf_put_string(&blob, cslice_of(pub, sizeof(pub)));
	}
	buf_put_cstring(&blob, "ssh:test");
	assert_ok(key_parse_blob(&d->pub, buf_bytes(&blob)));
	buf_done(&point);
	buf_done(&blob);
}

static void device_close(struct device *d)
{
	key_free(d->pub);
	pkey_free(d->ec);
}

struct wish {
	const char *name, *client_data, *extensions;
	uint8_t flags;
};

static void sign_frame(const struct device *d, struct cslice frame, struct buf *sig)
{
	if (d->is_ec) {
		struct buf raw;
		uint8_t r[EC_FIELD_MAX], s[EC_FIELD_MAX];
		buf_init(&raw, 256);
		assert_ok(pkey_ecdsa_sign(d->ec, HASH_SHA256, frame, r, s));
		buf_put_mpint(&raw, cslice_of(r, 32));
		buf_put_mpint(&raw, cslice_of(s, 32));
		buf_put_string(sig, buf_bytes(&raw));
		buf_done(&raw);
	} else {
		uint8_t raw[64];
		assert_ok(ed25519_sign(d->seed, frame, raw));
		buf_put_string(sig, cslice_of(raw, sizeof(raw)));
	}
}

static void device_sign(
	const struct device *d, const struct wish *w, const char *message, struct buf *sig)
{
	uint8_t hash[32];
	struct buf frame;
	buf_init(&frame, 4096);
	assert_ok(hash_once(HASH_SHA256, cslice_str("ssh:test"), hash));
	buf_put(&frame, hash, sizeof(hash));
	buf_put_u8(&frame, w->flags);
	buf_put_u32(&frame, 77);
	if (w->extensions != NULL)
		buf_put(&frame, w->extensions, strlen(w->extensions));
	assert_ok(hash_once(
		HASH_SHA256, cslice_str(w->client_data != NULL ? w->client_data : message), hash));
	buf_put(&frame, hash, sizeof(hash));
	buf_put_cstring(sig, w->name);
	sign_frame(d, buf_bytes(&frame), sig);
	buf_put_u8(sig, w->flags);
	buf_put_u32(sig, 77);
	if (w->client_data != NULL) {
		buf_put_cstring(sig, ORIGIN);
		buf_put_cstring(sig, w->client_data);
		buf_put_cstring(sig, w->extensions != NULL ? w->extensions : "");
	}
	assert_ok(buf_err(sig));
	buf_done(&frame);
}

static void a_signature_tells_touch_and_pin(void **state)
{
	(void)state;
	static const uint8_t flags[] = {0x00, 0x01, 0x04, 0x05, 0xc5};
	for (size_t i = 0; i < 2 * ARRAY_N(flags); i++) {
		struct device d;
		struct buf sig;
		struct key_sig_info info = {.counter = 1234};
		uint8_t f = flags[i / 2];
		device_open(&d, i % 2 != 0);
		buf_init(&sig, 4096);
		struct wish w = {d.is_ec ? EC : ED, NULL, NULL, f};
		device_sign(&d, &w, "login", &sig);
		assert_err(key_verify_info(d.pub, cslice_str(w.name), cslice_str("logout"),
				   buf_bytes(&sig), &info),
			E_SIGNATURE);
		assert_int_equal(info.counter, 1234);
		assert_ok(key_verify_info(
			d.pub, cslice_str(w.name), cslice_str("login"), buf_bytes(&sig), &info));
		assert_true(info.is_device);
		assert_int_equal(info.has_touch, (f & 1) != 0);
		assert_int_equal(info.has_pin, (f & 4) != 0);
		assert_int_equal(info.flags, f);
		assert_int_equal(info.counter, 77);
		assert_ok(key_verify(
			d.pub, cslice_str(w.name), cslice_str("login"), buf_bytes(&sig)));
		buf_done(&sig);
		device_close(&d);
	}
}

static void any_byte_changed_or_cut_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct device d;
		struct buf sig;
		device_open(&d, i != 0);
		buf_init(&sig, 4096);
		struct wish w = {i == 0 ? ED : i == 1 ? EC : WEBAUTHN, NULL, NULL, 1};
		if (i == 2)
			w.client_data = "{\"type\":\"webauthn.get\",\"challenge\":\"bG9naW4\","
					"\"origin\":\"" ORIGIN "\"}";
		device_sign(&d, &w, "login", &sig);
		assert_ok(key_verify(
			d.pub, cslice_str(w.name), cslice_str("login"), buf_bytes(&sig)));
		for (size_t at = 0; at < sig.n; at++) {
			sig.p[at] ^= 0x01;
			assert_err(key_verify(d.pub, cslice_str(""), cslice_str("login"),
					   buf_bytes(&sig)),
				E_SIGNATURE);
			sig.p[at] ^= 0x01;
			assert_err(key_verify(d.pub, cslice_str(""), cslice_str("login"),
					   cslice_of(sig.p, at)),
				E_SIGNATURE);
		}
		buf_put_u8(&sig, 0);
		assert_err(key_verify(d.pub, cslice_str(""), cslice_str("login"), buf_bytes(&sig)),
			E_SIGNATURE);
		buf_done(&sig);
		device_close(&d);
	}
}

#define GET    "{\"type\":\"webauthn.get\",\"challenge\":\"bG9naW4\",\"origin\":\"" ORIGIN "\""
#define CREATE "{\"type\":\"webauthn.create\",\"challenge\":\"bG9naW4\",\"origin\":\"" ORIGIN "\""

/* All of these are well signed; only what a browser says about this very login passes. */
static void a_browser_must_speak_of_this_message(void **state)
{
	(void)state;
	static const struct {
		struct wish w;
		bool is_good;
	} cases[] = {
		{{WEBAUTHN, GET "}", NULL, 0x01}, true},
		{{WEBAUTHN, GET ",\"crossOrigin\":false}", NULL, 0x05}, true},
		{{WEBAUTHN, GET "}", "ext", 0x81}, true}, {{WEBAUTHN, GET "}", NULL, 0x00}, true},
		{{WEBAUTHN, GET "}", "ext", 0x01}, false}, {{WEBAUTHN, GET "}", NULL, 0x81}, false},
		{{WEBAUTHN, GET "}", NULL, 0x41}, false},
		{{WEBAUTHN, CREATE "}", NULL, 0x01}, false}, {{WEBAUTHN, GET, NULL, 0x01}, false},
		{{WEBAUTHN, GET "x}", NULL, 0x01}, false},
		{{WEBAUTHN, GET ",\"crossOrigin\":false", NULL, 0x01}, false},
		{{WEBAUTHN,
			 "{\"type\":\"webauthn.get\",\"challenge\":\"bG9naW4=\",\"origin\":"
			 "\"" ORIGIN "\"}",
			 NULL, 0x01},
			false},
		{{WEBAUTHN,
			 "{\"type\":\"webauthn.get\",\"challenge\":\"bG9naW4\",\"origin\":"
			 "\"https://evil.example\"}",
			 NULL, 0x01},
			false},
		{{EC, GET "}", NULL, 0x01}, false}, /* a browser's words under the plain name */
	};
	for (size_t i = 0; i < ARRAY_N(cases); i++) {
		struct device d;
		struct buf sig;
		device_open(&d, true);
		buf_init(&sig, 4096);
		device_sign(&d, &cases[i].w, "login", &sig);
		err_t e = key_verify(d.pub, cslice_str(""), cslice_str("login"), buf_bytes(&sig));
		if (e != (cases[i].is_good ? OK : E_SIGNATURE))
			fail_msg("case %zu: %s", i, err_name(e));
		buf_done(&sig);
		device_close(&d);
	}
}

static void a_key_of_another_application_is_another_key(void **state)
{
	(void)state;
	struct device d;
	struct buf blob = {0}, sig;
	struct key *other = NULL;
	device_open(&d, false);
	blob = help_blob(d.pub);
	blob.p[blob.n - 1] = 'x';
	assert_ok(key_parse_blob(&other, buf_bytes(&blob)));
	assert_false(key_equal_public(other, d.pub));
	buf_init(&sig, 4096);
	struct wish w = {ED, NULL, NULL, 1};
	device_sign(&d, &w, "login", &sig);
	assert_err(key_verify(other, cslice_str(ED), cslice_str("login"), buf_bytes(&sig)),
		E_SIGNATURE);
	buf_done(&sig);
	buf_done(&blob);
	key_free(other);
	device_close(&d);
}

/* The file of a device key: read, written, read again; flags, handle and application stay. */
static void files_keep_what_the_device_needs(void **state)
{
	(void)state;
	static const enum key_form forms[] = {KEY_FORM_OPENSSH, KEY_FORM_PEM, KEY_FORM_PKCS8};
	for (size_t i = 0; i < 2 * ARRAY_N(forms); i++) {
		struct device d;
		struct rng_seeded rng;
		struct key *k = NULL, *again = NULL;
		struct buf text, sig, out;
		device_open(&d, i % 2 != 0);
		rng_seeded_init(&rng, 5);
		buf_init(&text, 65536);
		buf_init(&sig, 4096);
		buf_init(&out, 4096);
		struct buf fields = help_blob(d.pub);
		buf_put_u8(&fields, KEY_SK_TOUCH | KEY_SK_RESIDENT);
		buf_put_cstring(&fields, "the handle");
		buf_put_cstring(&fields, "for later");
		assert_ok(buf_err(&fields));
		struct rd r = rd_of(buf_bytes(&fields));
		assert_ok(key_read_private_fields(&k, &r));
		assert_ok(rd_end(&r));
		struct key_write_opts opts = {.rng = &rng.rng, .form = forms[i / 2]};
		assert_ok(key_write_private(k, &opts, &text));
		assert_ok(key_read_private(&again, buf_bytes(&text), cslice_of(NULL, 0), NULL));
		assert_true(key_equal_public(again, d.pub));
		assert_int_equal(key_sk_flags(again), KEY_SK_TOUCH | KEY_SK_RESIDENT);
		assert_true(cslice_eq_str(key_sk_application(again), "ssh:test"));
		assert_ok(key_put_private_fields(again, &out));
		assert_true(cslice_eq(buf_bytes(&out), buf_bytes(&fields)));
		assert_err(key_sign(again, cslice_str(d.is_ec ? EC : ED), cslice_str("m"), &sig),
			E_KEY_DEVICE);
		assert_int_equal(sig.n, 0);
		assert_err(key_public_pem(again, KEY_FORM_PKCS8, &out), E_KEY_TYPE);
		buf_done(&out);
		buf_done(&fields);
		buf_done(&sig);
		buf_done(&text);
		key_free(again);
		key_free(k);
		device_close(&d);
	}
}

static void a_device_key_is_not_made_without_the_device(void **state)
{
	(void)state;
	struct key *k = NULL;
	assert_err(key_generate(&k, KEY_SK_ED25519, 0, NULL), E_KEY_DEVICE);
	assert_err(key_generate(&k, KEY_SK_ECDSA, 0, NULL), E_KEY_DEVICE);
	assert_null(k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_signature_tells_touch_and_pin),
		cmocka_unit_test(any_byte_changed_or_cut_is_refused),
		cmocka_unit_test(a_browser_must_speak_of_this_message),
		cmocka_unit_test(a_key_of_another_application_is_another_key),
		cmocka_unit_test(files_keep_what_the_device_needs),
		cmocka_unit_test(a_device_key_is_not_made_without_the_device),
	};
	return cmocka_run_group_tests(tests, help_init, NULL);
}
