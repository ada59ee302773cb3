/* SPDX-License-Identifier: ISC */
/* Private key files: every format and cipher that OpenSSH writes, the damage that people do, and
 * our own writing. */
#include "help.h"

#define NONE ""

static err_t read_text(const char *text, const char *passphrase)
{
	struct key *k = NULL;
	err_t e = key_read_private(&k, cslice_str(text), cslice_str(passphrase), NULL);
	key_free(k);
	return e;
}

static void files_of_every_format_and_cipher_load(void **state)
{
	(void)state;
	static const struct {
		const char *file, *passphrase, *comment;
	} cases[] = {
		{"ed25519", NONE, "key of ed25519"},
		{"ecdsa_521", NONE, "key of ecdsa_521"},
		{"mldsa44_ed25519", NONE, "key of mldsa44_ed25519"},
		{"rsa_2048", NONE, "key of rsa_2048"},
		{"ed25519_pw", HELP_PASSPHRASE, "encrypted one"},
		{"ed25519_aes192-ctr", HELP_PASSPHRASE, "by aes192-ctr"},
		{"ed25519_aes256-cbc", HELP_PASSPHRASE, "by aes256-cbc"},
		{"ed25519_3des-cbc", HELP_PASSPHRASE, "by 3des-cbc"},
		{"ed25519_aes128-gcm", HELP_PASSPHRASE, "by aes128-gcm@openssh.com"},
		{"ed25519_aes256-gcm", HELP_PASSPHRASE, "by aes256-gcm@openssh.com"},
		{"ed25519_chacha20-poly1305", HELP_PASSPHRASE, "by chacha20-poly1305@openssh.com"},
		{"rsa_pem", NONE, ""},
		{"rsa_pem_pw", HELP_PASSPHRASE, ""},
		{"rsa_des3_pw", HELP_PASSPHRASE, ""},
		{"rsa_pkcs8_pw", HELP_PASSPHRASE, ""},
		{"ecdsa_pkcs8", NONE, ""},
		{"ed25519_pkcs8", NONE, ""},
	};
	for (size_t i = 0; i < ARRAY_N(cases); i++) {
		struct buf file = help_file(cases[i].file), comment;
		struct key *k = NULL, *pub = NULL;
		buf_init(&comment, 256);
		err_t e = key_read_private(
			&k, buf_bytes(&file), cslice_str(cases[i].passphrase), &comment);
		if (e != OK)
			fail_msg("%s: %s", cases[i].file, err_name(e));
		assert_text(&comment, cases[i].comment);
		assert_true(key_is_private(k));
		char path[512];
		(void)snprintf(path, sizeof(path), "%s/%s.pub", KEY_DATA, cases[i].file);
		FILE *f = fopen(path, "r");
		if (f != NULL) {
			(void)fclose(f);
			pub = help_public(cases[i].file);
			assert_true(key_equal_public(k, pub));
		}
		if (cases[i].passphrase[0] != '\0') {
			struct key *no = NULL;
			assert_err(key_read_private(&no, buf_bytes(&file), cslice_str(""), NULL),
				E_PASSPHRASE);
			assert_err(
				key_read_private(&no, buf_bytes(&file), cslice_str("wrong"), NULL),
				E_PASSPHRASE);
			assert_null(no);
		}
		key_free(pub);
		key_free(k);
		buf_done(&comment);
		buf_done(&file);
	}
}

/* Replaces LF by CRLF on the lines chosen by `last_only`, cuts the last line end. */
static struct buf damage(const struct buf *in, bool crlf, bool only_last_line, bool cut_end)
{
	struct buf out;
	size_t lines = 0, line = 0;
	buf_init(&out, 65536);
	for (size_t i = 0; i < in->n; i++)
		lines += in->p[i] == '\n';
	for (size_t i = 0; i < in->n; i++) {
		if (in->p[i] == '\n') {
			line++;
			if (crlf && (!only_last_line || line == lines))
				buf_put_u8(&out, '\r');
			if (cut_end && line == lines)
				break;
		}
		buf_put_u8(&out, in->p[i]);
	}
	return out;
}

static void crlf_a_missing_last_line_end_and_text_around_are_no_damage(void **state)
{
	(void)state;
	static const char *const files[] = {
		"ed25519", "rsa_2048", "rsa_pem", "ecdsa_pkcs8", "mldsa44_ed25519"};
	for (size_t f = 0; f < ARRAY_N(files); f++) {
		struct buf file = help_file(files[f]);
		struct key *want = help_private(files[f], "");
		for (unsigned how = 0; how < 8; how++) {
			struct buf bad = damage(&file, how & 1, how & 2, how & 4), around;
			buf_init(&around, 65536);
			buf_printf(&around, "\xef\xbb\xbf\r\n# my key\n");
			buf_put(&around, bad.p, bad.n);
			if (!(how & 4))
				buf_printf(&around, "trailing words\n");
			struct key *a = NULL, *b = NULL;
			assert_ok(key_read_private(&a, buf_bytes(&bad), cslice_str(""), NULL));
			assert_ok(key_read_private(&b, buf_bytes(&around), cslice_str(""), NULL));
			assert_true(key_equal_public(a, want));
			assert_true(key_equal_public(b, want));
			key_free(b);
			key_free(a);
			buf_done(&around);
			buf_done(&bad);
		}
		key_free(want);
		buf_done(&file);
	}
}

static struct buf as_text(const struct buf *in, const char *line_end)
{
	struct buf out;
	buf_init(&out, 65536);
	for (size_t i = 0; i < in->n; i++)
		if (in->p[i] == '\n')
			buf_put(&out, line_end, strlen(line_end));
		else
			buf_put_u8(&out, in->p[i]);
	return out;
}

static void each_kind_of_damage_has_its_own_name(void **state)
{
	(void)state;
	struct buf file = help_file("rsa_2048"), pub = help_file("rsa_2048.pub");
	struct key *k = NULL;
	struct cslice all = buf_bytes(&file);
	const uint8_t *end = memmem(all.p, all.n, "-----END", 8);
	size_t end_at = (size_t)(end - all.p);

	assert_err(key_read_private(&k, buf_bytes(&pub), cslice_str(""), NULL), E_KEY_PUBLIC);
	assert_err(
		read_text("---- BEGIN SSH2 PUBLIC KEY ----\nAAAA\n---- END SSH2 PUBLIC KEY ----\n",
			""),
		E_KEY_PUBLIC);
	assert_err(read_text("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", ""),
		E_KEY_PUBLIC);
	assert_err(
		key_read_private(&k, cslice_of(all.p, end_at), cslice_str(""), NULL), E_KEY_NO_END);
	assert_err(key_read_private(&k, cslice_of(all.p, all.n - 3), cslice_str(""), NULL),
		E_KEY_NO_END);
	assert_err(
		key_read_private(&k, cslice_of(all.p, 20), cslice_str(""), NULL), E_KEY_TRUNCATED);
	static const char *const escapes[] = {"\\n", "\\r\\n"};
	for (size_t i = 0; i < ARRAY_N(escapes); i++) {
		struct buf escaped = as_text(&file, escapes[i]);
		assert_err(key_read_private(&k, buf_bytes(&escaped), cslice_str(""), NULL),
			E_KEY_LINES);
		buf_done(&escaped);
	}
	/* lines lost from the middle, each way */
	for (size_t cut = 40; cut + 80 < end_at; cut += 97) {
		struct buf shorter;
		buf_init(&shorter, 65536);
		buf_put(&shorter, all.p, cut);
		buf_put(&shorter, "\n", 1);
		buf_put(&shorter, all.p + end_at, all.n - end_at);
		assert_err(key_read_private(&k, buf_bytes(&shorter), cslice_str(""), NULL),
			E_KEY_TRUNCATED);
		buf_done(&shorter);
	}
	assert_err(read_text("", ""), E_KEY_FORMAT);
	assert_err(read_text("hello world", ""), E_KEY_FORMAT);
	assert_err(read_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", ""),
		E_KEY_FORMAT);
	assert_err(
		read_text("-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n",
			""),
		E_KEY_FORMAT);
	assert_err(read_text("-----BEGIN OPENSSH PRIVATE KEY-----\nA*AA\n-----END OPENSSH PRIVATE "
			     "KEY-----\n",
			   ""),
		E_KEY_FORMAT);
	assert_err(
		read_text(
			"-----BEGIN OPENSSH PRIVATE KEY-----\n-----END OPENSSH PRIVATE KEY-----\n",
			""),
		E_KEY_TRUNCATED);
	assert_null(k);
	buf_done(&pub);
	buf_done(&file);
}

/* ---- the bytes inside
 * -------------------------------------------------------------------------------------------- */
#define V1_BEGIN "-----BEGIN OPENSSH PRIVATE KEY-----\n"
#define V1_END   "-----END OPENSSH PRIVATE KEY-----\n"

static struct buf body_of(const char *name)
{
	struct buf file = help_file(name), body;
	buf_init(&body, 65536);
	size_t first = strlen(V1_BEGIN), last = strlen(V1_END);
	assert_ok(base64_decode(&body, cslice_of(file.p + first, file.n - first - last), true));
	buf_done(&file);
	return body;
}

static err_t read_body(struct cslice body, const char *passphrase)
{
	struct buf text;
	buf_init(&text, 65536);
	buf_printf(&text, V1_BEGIN);
	base64_encode(&text, body);
	buf_printf(&text, "\n" V1_END);
	buf_put_u8(&text, 0);
	err_t e = read_text((const char *)text.p, passphrase);
	buf_done(&text);
	return e;
}

static void no_changed_byte_of_a_plain_file_is_accepted(void **state)
{
	(void)state;
	static const char *const files[] = {"ed25519", "ecdsa_256", "rsa_1024", "mldsa44_ed25519"};
	for (size_t f = 0; f < ARRAY_N(files); f++) {
		struct buf body = body_of(files[f]);
		struct cslice all = buf_bytes(&body);
		const uint8_t *words = memmem(all.p, all.n, "key of", 6);
		assert_ok(read_body(all, ""));
		for (size_t i = 0; i < body.n; i++) {
			bool is_comment =
				body.p + i >= words && body.p + i < words + 7 + strlen(files[f]);
			body.p[i] ^= 0x20;
			if (!is_comment)
				assert_int_not_equal(read_body(buf_bytes(&body), ""), OK);
			body.p[i] ^= 0x20;
		}
		for (size_t n = 0; n < body.n; n++)
			assert_int_not_equal(read_body(cslice_of(body.p, n), ""), OK);
		buf_put_u8(&body, 0);
		assert_err(read_body(buf_bytes(&body), ""), E_KEY_FORMAT);
		buf_done(&body);
	}
}

static void a_public_half_that_differs_from_the_private_one_is_refused(void **state)
{
	(void)state;
	struct buf body = body_of("ed25519"), other = body_of("ed25519_pw");
	/* magic 15, none, none, empty, count: the public blob starts behind them; its last 32 bytes
	 * are the key */
	size_t at = 15 + 8 + 8 + 4 + 4 + 4 + 19;
	body.p[at + 5] ^= 0xff;
	assert_err(read_body(buf_bytes(&body), ""), E_KEY_FORMAT);
	buf_done(&other);
	buf_done(&body);
}

static void hostile_rounds_do_not_work_for_ever(void **state)
{
	(void)state;
	struct buf body = body_of("ed25519_pw");
	struct cslice all = buf_bytes(&body);
	const uint8_t *kdf = memmem(all.p, all.n, "bcrypt", 6);
	assert_non_null(kdf);
	uint8_t *rounds = body.p + (kdf - body.p) + 6 + 4 + 4 + 16;
	be32_put(rounds, 0xffffffff);
	assert_err(read_body(all, HELP_PASSPHRASE), E_KEY_FORMAT);
	be32_put(rounds, 0);
	assert_err(read_body(all, HELP_PASSPHRASE), E_KEY_FORMAT);
	buf_done(&body);
}

/* The tag stands behind everything else; the check words alone would not see a change of it. */
static void a_changed_tag_is_refused(void **state)
{
	(void)state;
	static const char *const files[] = {
		"ed25519_aes128-gcm", "ed25519_aes256-gcm", "ed25519_chacha20-poly1305"};
	for (size_t f = 0; f < ARRAY_N(files); f++) {
		struct buf body = body_of(files[f]);
		assert_ok(read_body(buf_bytes(&body), HELP_PASSPHRASE));
		for (size_t i = body.n - 16; i < body.n; i += 5) {
			body.p[i] ^= 0x80;
			assert_err(read_body(buf_bytes(&body), HELP_PASSPHRASE), E_PASSPHRASE);
			body.p[i] ^= 0x80;
		}
		assert_err(
			read_body(cslice_of(body.p, body.n - 1), HELP_PASSPHRASE), E_KEY_TRUNCATED);
		buf_done(&body);
	}
}

static void the_public_half_is_there_without_the_passphrase(void **state)
{
	(void)state;
	struct buf locked = help_file("ed25519_pw"), open = help_file("rsa_2048"),
		   pem = help_file("rsa_pem_pw"), comment;
	struct key *k = NULL, *want = help_public("ed25519_pw");
	buf_init(&comment, 256);
	assert_ok(key_read_private_public(&k, buf_bytes(&locked), &comment));
	assert_true(key_equal_public(k, want));
	assert_false(key_is_private(k));
	assert_int_equal(comment.n, 0);
	key_free(k);
	k = NULL;
	assert_ok(key_read_private_public(&k, buf_bytes(&open), &comment));
	assert_false(key_is_private(k));
	assert_text(&comment, "key of rsa_2048");
	key_free(k);
	k = NULL;
	assert_err(key_read_private_public(&k, buf_bytes(&pem), &comment), E_PASSPHRASE);
	assert_null(k);
	key_free(want);
	buf_done(&comment);
	buf_done(&pem);
	buf_done(&open);
	buf_done(&locked);
}

/* ---- writing
 * --------------------------------------------------------------------------------------------------
 */
static void what_is_written_is_read_back(void **state)
{
	(void)state;
	static const char *const files[] = {
		"ed25519", "ecdsa_256", "ecdsa_384", "ecdsa_521", "rsa_1024", "mldsa44_ed25519"};
	static const char *const ciphers[] = {NULL, "aes256-ctr", "aes128-cbc", "3des-cbc",
		"aes256-gcm@openssh.com", "chacha20-poly1305@openssh.com"};
	struct rng_seeded rng;
	rng_seeded_init(&rng, 11);
	for (size_t f = 0; f < ARRAY_N(files); f++) {
		struct key *k = help_private(files[f], "");
		for (size_t c = 0; c < ARRAY_N(ciphers); c++) {
			const char *passphrase = c == 0 ? "" : "secret";
			struct key_write_opts opts = {
				"a comment", cslice_str(passphrase), ciphers[c], 1, &rng.rng};
			struct buf text, comment;
			struct key *again = NULL;
			buf_init(&text, 65536);
			buf_init(&comment, 256);
			assert_ok(key_write_private(k, &opts, &text));
			assert_ok(key_read_private(
				&again, buf_bytes(&text), cslice_str(passphrase), &comment));
			assert_text(&comment, "a comment");
			assert_true(key_equal_public(k, again));
			struct buf sig;
			buf_init(&sig, 4096);
			const char *alg = key_type_of(k) == KEY_RSA ? "rsa-sha2-256"
								    : key_type_name(key_type_of(k));
			assert_ok(key_sign(again, cslice_str(alg), cslice_str("m"), &sig));
			assert_ok(key_verify(k, cslice_str(alg), cslice_str("m"), buf_bytes(&sig)));
			buf_done(&sig);
			key_free(again);
			buf_done(&comment);
			buf_done(&text);
		}
		key_free(k);
	}
}

static void refusals_to_write_leave_the_output_alone(void **state)
{
	(void)state;
	struct rng_seeded rng;
	struct key *k = help_private("ed25519", ""), *pub = help_public("ed25519");
	struct key_write_opts plain = {.rng = &rng.rng}, bad = plain, none = plain,
			      long_work = plain;
	bad.passphrase = none.passphrase = long_work.passphrase = cslice_str("p");
	bad.cipher = "aes256-xyz";
	none.cipher = "none";
	long_work.rounds = KEY_ROUNDS_MAX + 1;
	struct buf out;
	rng_seeded_init(&rng, 1);
	buf_init(&out, 65536);
	buf_put(&out, "x", 1);
	assert_err(key_write_private(pub, &plain, &out), E_KEY_PUBLIC);
	assert_err(key_write_private(k, &bad, &out), E_NAME);
	assert_err(key_write_private(k, &long_work, &out), E_LIMIT);
	assert_err(key_write_private(k, &none, &out), E_NAME);
	out.limit = 100;
	assert_err(key_write_private(k, &plain, &out), E_LIMIT);
	assert_int_equal(out.n, 1);
	assert_false(key_write_cipher_known("aes256-xyz"));
	assert_true(key_write_cipher_known("aes256-ctr"));
	buf_done(&out);
	key_free(pub);
	key_free(k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_of_every_format_and_cipher_load),
		cmocka_unit_test(crlf_a_missing_last_line_end_and_text_around_are_no_damage),
		cmocka_unit_test(each_kind_of_damage_has_its_own_name),
		cmocka_unit_test(no_changed_byte_of_a_plain_file_is_accepted),
		cmocka_unit_test(a_public_half_that_differs_from_the_private_one_is_refused),
		cmocka_unit_test(hostile_rounds_do_not_work_for_ever),
		cmocka_unit_test(a_changed_tag_is_refused),
		cmocka_unit_test(the_public_half_is_there_without_the_passphrase),
		cmocka_unit_test(what_is_written_is_read_back),
		cmocka_unit_test(refusals_to_write_leave_the_output_alone),
	};
	return cmocka_run_group_tests(tests, help_init, NULL);
}
