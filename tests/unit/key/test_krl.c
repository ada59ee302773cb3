/* SPDX-License-Identifier: ISC */
/* Revocation lists: OpenSSH's are read, ours hold what went in, and everything damaged revokes. */
#include "base/rng.h"
#include "help.h"
#include "key/krl.h"
#include "wire/codec.h"

static const struct cslice someone[] = {{(const uint8_t *)"alice", 5}};

static struct key *certificate(const char *ca, uint64_t serial, const char *id)
{
	struct rng_seeded rng;
	struct signer *s = NULL;
	struct key *k = help_public("ecdsa_256");
	const struct cert_draft d = {.kind = CERT_USER,
		.serial = serial,
		.valid_before = CERT_FOREVER,
		.key_id = cslice_str(id),
		.principals = someone,
		.principals_n = 1};
	rng_seeded_init(&rng, 1);
	assert_ok(signer_from_key(&s, help_private(ca, "")));
	assert_ok(cert_sign(k, &d, s, cslice_of(NULL, 0), &rng.rng));
	s->ops->free(s);
	return k;
}

static bool is_revoked(const struct krl *r, const struct key *k)
{
	return krl_check(r, k) != KRL_FINE;
}

static bool has_serial(const struct krl *r, const char *ca, uint64_t serial)
{
	struct key *k = certificate(ca, serial, "id");
	bool answer = is_revoked(r, k);
	key_free(k);
	return answer;
}

static struct buf put(struct krl *r)
{
	struct buf b;
	buf_init(&b, KRL_MAX);
	assert_ok(krl_put(r, 1234, &b));
	return b;
}

/* What comes back from the bytes. */
static struct krl *again(struct krl *r)
{
	struct buf b = put(r);
	struct krl *out = NULL;
	assert_ok(krl_parse(&out, buf_bytes(&b)));
	buf_done(&b);
	return out;
}

static void serials_are_found_in_every_form(void **state)
{
	(void)state;
	static const struct {
		uint64_t first, last;
	} in[] = {{1, 4}, {10, 10}, {15, 15}, {30, 30}, {50, 50}, {999, 999}, {502, 502},
		{503, 600}, {599, 701}, {700, 797}, {798, 798}, {10000, 2000000},
		{UINT64_MAX - 3, UINT64_MAX - 3}, {UINT64_MAX - 1, UINT64_MAX},
		{(uint64_t)1 << 40, (uint64_t)1 << 40}};
	static const uint64_t yes[] = {1, 4, 10, 15, 30, 50, 502, 650, 798, 999, 10000, 1999999,
		2000000, UINT64_MAX - 3, UINT64_MAX - 1, UINT64_MAX, (uint64_t)1 << 40};
	static const uint64_t no[] = {0, 5, 9, 11, 14, 16, 29, 49, 51, 501, 799, 998, 1000, 9999,
		2000001, UINT64_MAX - 2, ((uint64_t)1 << 40) + 1};
	struct key *ca = help_public("ed25519");
	struct krl *r = NULL;
	assert_ok(krl_new(&r));
	for (size_t i = 0; i < ARRAY_N(in); i++)
		assert_ok(krl_add_serials(r, ca, in[i].first, in[i].last));
	struct krl *back = again(r);
	for (size_t i = 0; i < ARRAY_N(yes); i++) {
		assert_true(has_serial(r, "ed25519", yes[i]));
		assert_true(has_serial(back, "ed25519", yes[i]));
		assert_false(has_serial(back, "rsa_2048", yes[i])); /* of another authority */
	}
	for (size_t i = 0; i < ARRAY_N(no); i++) {
		assert_false(has_serial(r, "ed25519", no[i]));
		assert_false(has_serial(back, "ed25519", no[i]));
	}
	krl_free(back);
	krl_free(r);
	key_free(ca);
}

static void before_it_is_put_a_list_answers_the_same(void **state)
{
	(void)state;
	struct key *ca = help_public("ed25519"), *k = help_public("rsa_2048");
	struct krl *r = NULL;
	assert_ok(krl_new(&r));
	assert_ok(krl_add_serials(r, ca, 9, 9));
	assert_ok(krl_add_serials(r, ca, 3, 4));
	assert_ok(krl_add_key(r, k));
	assert_true(has_serial(r, "ed25519", 4));
	assert_true(has_serial(r, "ed25519", 9));
	assert_false(has_serial(r, "ed25519", 5));
	assert_true(is_revoked(r, k));
	assert_false(is_revoked(r, ca));
	krl_free(r);
	key_free(ca);
	key_free(k);
}

static void dense_serials_stay_small(void **state)
{
	(void)state;
	struct key *ca = help_public("ed25519");
	struct krl *r = NULL;
	struct buf text;
	assert_ok(krl_new(&r));
	for (uint64_t i = 1; i < 100000; i += 2)
		assert_ok(krl_add_serials(r, ca, i, i));
	struct buf b = put(r); /* 50,000 of them: 400,000 bytes as a list */
	assert_in_range(b.n, 12500, 13000);
	struct krl *back = NULL;
	assert_ok(krl_parse(&back, buf_bytes(&b)));
	buf_init(&text, KRL_MAX);
	struct buf first;
	buf_init(&first, KRL_MAX);
	assert_ok(krl_dump(r, &first));
	assert_ok(krl_dump(back, &text));
	assert_true(cslice_eq(buf_bytes(&first), buf_bytes(&text)));
	buf_done(&first);
	buf_done(&text);
	buf_done(&b);
	krl_free(back);
	krl_free(r);
	key_free(ca);
}

static void certificates_fall_with_id_key_or_authority(void **state)
{
	(void)state;
	struct key *c = certificate("ed25519", 0, "the id"), *ca = help_public("ed25519"),
		   *k = help_public("ecdsa_256"), *other = help_public("rsa_2048");
	for (int what = 0; what < 8; what++) {
		struct krl *r = NULL;
		uint8_t d[HASH_MAX];
		struct buf blob = help_blob(what == 5 ? ca : k);
		assert_ok(krl_new(&r));
		assert_false(is_revoked(r, c));
		switch (what) {
		case 0:
			assert_ok(krl_add_key_id(r, ca, cslice_str("the id")));
			break;
		case 1:
			assert_ok(krl_add_key_id(r, NULL, cslice_str("the id")));
			break;
		case 2:
			assert_ok(krl_add_key(r, k));
			break;
		case 3:
			assert_ok(krl_add_key(r, ca));
			break;
		case 4:
		case 5:
			assert_ok(hash_once(HASH_SHA256, buf_bytes(&blob), d));
			assert_ok(krl_add_hash(r, HASH_SHA256, cslice_of(d, 32)));
			break;
		case 6:
			assert_ok(hash_once(HASH_SHA1, buf_bytes(&blob), d));
			assert_ok(krl_add_hash(r, HASH_SHA1, cslice_of(d, 20)));
			break;
		default:
			assert_ok(krl_add_any(r, c));
			break; /* no serial: by its id */
		}
		assert_true(is_revoked(r, c));
		/* The plain key only where it is meant itself. */
		assert_int_equal(is_revoked(r, k), what == 2 || what == 4 || what == 6);
		assert_false(is_revoked(r, other));
		struct krl *back = again(r);
		assert_true(is_revoked(back, c));
		assert_false(is_revoked(back, other));
		krl_free(back);
		krl_free(r);
		buf_done(&blob);
	}
	struct krl *r = NULL;
	assert_ok(krl_new(&r));
	assert_ok(krl_add_key_id(r, other, cslice_str("the id")));
	assert_ok(krl_add_key_id(r, ca, cslice_str("the i")));
	assert_ok(krl_add_key_id(r, ca, cslice_str("the id ")));
	assert_false(is_revoked(r, c));
	krl_free(r);
	key_free(c);
	key_free(ca);
	key_free(k);
	key_free(other);
}

static void wrong_numbers_are_refused(void **state)
{
	(void)state;
	struct krl *r = NULL;
	assert_ok(krl_new(&r));
	assert_err(krl_add_serials(r, NULL, 0, 5), E_FORMAT);
	assert_err(krl_add_serials(r, NULL, 6, 5), E_FORMAT);
	assert_err(krl_add_hash(r, HASH_SHA256, cslice_of("x", 1)), E_FORMAT);
	assert_err(krl_add_hash(r, HASH_MD5, cslice_of("0123456789abcdef", 16)), E_FORMAT);
	krl_free(r);
}

static void plain_lists_work_like_revocation_lists(void **state)
{
	(void)state;
	struct buf text = help_file("ed25519.pub"), list;
	struct key *k = help_public("ed25519"), *other = help_public("rsa_2048"),
		   *c = certificate("ed25519", 7, "id"), *mine = help_public("ecdsa_256");
	err_t why;
	buf_init(&list, 65536);
	buf_printf(&list, "# remark\r\n\n  ");
	buf_put(&list, text.p, text.n);
	assert_int_equal(krl_check_text(buf_bytes(&list), k, &why), KRL_REVOKED);
	assert_ok(why);
	assert_int_equal(krl_check_text(buf_bytes(&list), other, NULL), KRL_FINE);
	assert_int_equal(krl_check_text(buf_bytes(&list), mine, NULL), KRL_FINE);
	assert_int_equal(krl_check_text(buf_bytes(&list), c, NULL), KRL_REVOKED); /* its CA */
	assert_int_equal(krl_check_text(cslice_of(NULL, 0), k, &why), KRL_FINE);
	assert_ok(why);
	/* A certificate in the list stands for its key; other types are passed over. */
	buf_clear(&list);
	buf_printf(&list, "ssh-dss AAAAB3NzaC1kc3M= old\n");
	assert_ok(key_line_any(c, "words", &list));
	assert_int_equal(krl_check_text(buf_bytes(&list), mine, &why), KRL_REVOKED);
	assert_ok(why);
	assert_int_equal(krl_check_text(buf_bytes(&list), other, NULL), KRL_FINE);
	/* One line that is none, and nobody is let in. */
	buf_printf(&list, "\nssh-ed25519 AAAA\n");
	assert_int_equal(krl_check_text(buf_bytes(&list), other, &why), KRL_REVOKED);
	assert_err(why, E_KEY_FORMAT);
	buf_done(&list);
	buf_done(&text);
	key_free(k);
	key_free(other);
	key_free(c);
	key_free(mine);
}

/* ---- damage
 * ------------------------------------------------------------------------------------------------------
 */
static struct krl *full(void)
{
	struct krl *r = NULL;
	struct key *ca = help_public("ed25519"), *k = help_public("ecdsa_384");
	uint8_t d[HASH_MAX] = {1, 2, 3};
	assert_ok(krl_new(&r));
	for (uint64_t i = 100; i < 400; i += 3)
		assert_ok(krl_add_serials(r, ca, i, i));
	assert_ok(krl_add_serials(r, ca, 5000, 90000));
	assert_ok(krl_add_serials(r, ca, 100000000, 100000000));
	assert_ok(krl_add_key_id(r, NULL, cslice_str("an id")));
	assert_ok(krl_add_key(r, k));
	assert_ok(krl_add_hash(r, HASH_SHA1, cslice_of(d, 20)));
	assert_ok(krl_add_hash(r, HASH_SHA256, cslice_of(d, 32)));
	key_free(ca);
	key_free(k);
	return r;
}

/* Where the sections begin, and the end. */
static size_t borders(struct cslice bytes, size_t *at, size_t most)
{
	struct rd r = rd_of(bytes);
	size_t n = 0;
	(void)rd_take(&r, 8 + 4 + 8 + 8 + 8);
	(void)rd_str(&r);
	(void)rd_str(&r);
	for (at[n++] = bytes.n - r.n; r.n > 0 && n < most; at[n++] = bytes.n - r.n) {
		(void)rd_u8(&r);
		(void)rd_str(&r);
	}
	assert_false(r.bad);
	return n;
}

static void a_cut_list_revokes_or_ends_at_a_section(void **state)
{
	(void)state;
	struct krl *r = full();
	struct buf b = put(r);
	size_t at[16], n = borders(buf_bytes(&b), at, ARRAY_N(at));
	assert_int_equal(n, 6); /* the head, and five sections */
	for (size_t cut = 1; cut <= b.n; cut++) {
		bool is_border = false;
		for (size_t i = 0; i < n; i++)
			is_border = is_border || at[i] == cut;
		struct krl *out = NULL;
		err_t e = krl_parse(&out, cslice_of(b.p, cut));
		if ((e == OK) != is_border)
			fail_msg("cut at %zu of %zu: %s", cut, b.n, err_name(e));
		krl_free(out);
	}
	buf_done(&b);
	krl_free(r);
}

static void flipped_bytes_do_no_harm(void **state)
{
	(void)state;
	struct krl *r = full();
	struct buf b = put(r);
	struct key *k = help_public("ecdsa_384");
	size_t refused = 0;
	for (size_t i = 0; i < b.n * 8; i++) {
		struct krl *out = NULL;
		b.p[i / 8] ^= (uint8_t)(1u << i % 8);
		if (krl_parse(&out, buf_bytes(&b)) == OK)
			(void)krl_check(out, k);
		else
			refused++;
		krl_free(out);
		b.p[i / 8] ^= (uint8_t)(1u << i % 8);
	}
	assert_true(refused > b.n); /* lengths and kinds are noticed, contents cannot be */
	assert_int_equal(krl_check_text(buf_bytes(&b), k, NULL), KRL_REVOKED);
	key_free(k);
	buf_done(&b);
	krl_free(r);
}

static err_t parse_with(uint8_t section, struct cslice body)
{
	struct krl *r = NULL, *out = NULL;
	assert_ok(krl_new(&r));
	struct buf b = put(r);
	buf_put_u8(&b, section);
	buf_put_string(&b, body);
	assert_ok(buf_err(&b));
	err_t e = krl_parse(&out, buf_bytes(&b));
	krl_free(out);
	krl_free(r);
	buf_done(&b);
	return e;
}

static err_t parse_part(uint8_t part, const void *p, size_t n)
{
	struct buf body;
	buf_init(&body, 4096);
	buf_put_cstring(&body, "");
	buf_put_cstring(&body, "");
	buf_put_u8(&body, part);
	buf_put_string(&body, cslice_of(p, n));
	err_t e = parse_with(1, buf_bytes(&body));
	buf_done(&body);
	return e;
}

static void fields_out_of_range_are_errors(void **state)
{
	(void)state;
	static const uint8_t zero[8], ones[] = "\xff\xff\xff\xff\xff\xff\xff\xff";
	uint8_t two[16];
	/* serials */
	assert_err(parse_part(0x20, zero, 8), E_FORMAT);
	assert_err(parse_part(0x20, ones, 7), E_FORMAT);
	assert_ok(parse_part(0x20, ones, 8));
	/* ranges */
	memcpy(two, ones, 8);
	memcpy(two + 8, "\0\0\0\0\0\0\0\5", 8);
	assert_err(parse_part(0x21, two, 16), E_FORMAT);
	memcpy(two, zero, 8);
	assert_err(parse_part(0x21, two, 16), E_FORMAT);
	two[7] = 1;
	assert_ok(parse_part(0x21, two, 16));
	assert_err(parse_part(0x21, two, 15), E_FORMAT);
	/* bitmaps: bit 0 of offset 0 is serial 0; over the end; negative */
	assert_err(parse_part(0x22, "\0\0\0\0\0\0\0\0\0\0\0\1\1", 13), E_FORMAT);
	assert_ok(parse_part(0x22, "\0\0\0\0\0\0\0\0\0\0\0\1\2", 13));
	assert_err(parse_part(0x22, "\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\1\2", 13), E_FORMAT);
	assert_err(parse_part(0x22, "\0\0\0\0\0\0\0\0\0\0\0\1\x82", 13), E_FORMAT);
	assert_err(parse_part(0x22, "\0\0\0\0\0\0\0\0\0\0\0\1\2x", 14), E_FORMAT);
	/* extensions */
	assert_ok(parse_part(0x39, "\0\0\0\1x\0\0\0\0\0", 10));
	assert_err(parse_part(0x39, "\0\0\0\1x\1\0\0\0\0", 10), E_UNSUPPORTED);
	assert_ok(parse_with(255, cslice_of("\0\0\0\1x\0\0\0\0\0", 10)));
	assert_err(parse_with(255, cslice_of("\0\0\0\1x\1\0\0\0\0", 10)), E_UNSUPPORTED);
	/* what is not known, and signatures */
	assert_err(parse_part(0x24, "", 0), E_UNSUPPORTED);
	assert_err(parse_with(4, cslice_of("\0\0\0\1x", 5)), E_UNSUPPORTED);
	assert_err(parse_with(9, cslice_of("", 0)), E_UNSUPPORTED);
	/* hashes of a wrong length, an empty key, an authority that is none */
	assert_err(parse_with(3, cslice_of("\0\0\0\1x", 5)), E_FORMAT);
	assert_err(parse_with(5, cslice_of("\0\0\0\1x", 5)), E_FORMAT);
	assert_err(parse_with(2, cslice_of("\0\0\0\0", 4)), E_FORMAT);
	assert_err(parse_with(1, cslice_of("\0\0\0\1x\0\0\0\0", 9)), E_KEY_FORMAT);
}

static void the_list_is_shown_as_openssh_shows_it(void **state)
{
	(void)state;
	struct krl *r = NULL;
	struct key *k = help_public("ed25519");
	struct buf text;
	uint8_t d[32] = {0xab};
	assert_ok(krl_new(&r));
	krl_set_version(r, 7);
	buf_init(&text, 65536);
	assert_ok(krl_add_serials(r, NULL, 5, 6));
	assert_ok(krl_add_serials(r, NULL, 1, 1));
	assert_ok(krl_add_key_id(r, NULL, cslice_str("a\nb")));
	assert_ok(krl_add_key_id(r, NULL, cslice_str("a\nb")));
	assert_ok(krl_add_hash(r, HASH_SHA256, cslice_of(d, 32)));
	struct krl *back = again(r);
	assert_int_equal(krl_version(back), 7);
	assert_int_equal(krl_made_s(back), 1234);
	assert_ok(krl_dump(back, &text));
	assert_text(&text, "\nhash: SHA256:ab000000000000000000000000000000000000000000000000000000"
			   "00000000\n\n# Wildcard CA\nserial: 1\nserial: 5-6\nid: a\\012b\n");
	krl_free(back);
	krl_free(r);
	buf_done(&text);
	key_free(k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(serials_are_found_in_every_form),
		cmocka_unit_test(before_it_is_put_a_list_answers_the_same),
		cmocka_unit_test(dense_serials_stay_small),
		cmocka_unit_test(certificates_fall_with_id_key_or_authority),
		cmocka_unit_test(wrong_numbers_are_refused),
		cmocka_unit_test(plain_lists_work_like_revocation_lists),
		cmocka_unit_test(a_cut_list_revokes_or_ends_at_a_section),
		cmocka_unit_test(flipped_bytes_do_no_harm),
		cmocka_unit_test(fields_out_of_range_are_errors),
		cmocka_unit_test(the_list_is_shown_as_openssh_shows_it),
	};
	return cmocka_run_group_tests(tests, help_init, NULL);
}
