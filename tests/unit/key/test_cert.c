/* SPDX-License-Identifier: ISC */
/* Certificates: what OpenSSH made is read, what we make holds, everything damaged is a no. */
#include "base/rng.h"
#include "help.h"
#include "key/cert.h"
#include "wire/codec.h"

static const char *const types[] = {
	"ed25519", "ecdsa_256", "ecdsa_384", "ecdsa_521", "rsa_2048", "mldsa44_ed25519"};

static struct key *help_cert(const char *name)
{
	struct buf text = help_file(name);
	struct key *k = NULL;
	assert_ok(key_parse_line_any(&k, buf_bytes(&text), NULL));
	buf_done(&text);
	return k;
}

static struct buf blob_any(const struct key *k)
{
	struct buf b;
	buf_init(&b, CERT_BLOB_MAX);
	assert_ok(key_blob_any(k, &b));
	return b;
}

static const struct cslice alice_bob[] = {{(const uint8_t *)"alice", 5}, {(const uint8_t *)"*", 1}};

static struct cert_draft draft(enum cert_kind kind)
{
	return (struct cert_draft){
		.kind = kind,
		.serial = 0x1122334455667788,
		.valid_after = 100,
		.valid_before = 200,
		.key_id = cslice_str("the id"),
		.principals = alice_bob,
		.principals_n = 2,
	};
}

/* k becomes a certificate of the CA in the file; alg "" is the CA's own. */
static err_t sign(struct key *k, const struct cert_draft *d, const char *ca, const char *alg)
{
	struct rng_seeded rng;
	struct signer *s = NULL;
	rng_seeded_init(&rng, 1);
	assert_ok(signer_from_key(&s, help_private(ca, "")));
	err_t e = cert_sign(k, d, s, cslice_str(alg), &rng.rng);
	s->ops->free(s);
	return e;
}

static struct key *made(const char *type, const struct cert_draft *d, const char *ca)
{
	struct key *k = help_public(type);
	assert_ok(sign(k, d, ca, ""));
	return k;
}

static void put_option(struct buf *b, const char *name, const char *value)
{
	struct buf data;
	buf_init(&data, 256);
	if (value != NULL)
		buf_put_cstring(&data, value);
	buf_put_cstring(b, name);
	buf_put_string(b, buf_bytes(&data));
	buf_done(&data);
}

static void a_user_certificate_of_openssh_is_read(void **state)
{
	(void)state;
	struct key *k = help_cert("user-cert.pub"), *plain = help_public("ed25519");
	const struct cert *c = key_cert(k);
	assert_non_null(c);
	assert_string_equal(key_name(k), "ssh-ed25519-cert-v01@openssh.com");
	assert_string_equal(key_shown(k), "ED25519-CERT");
	assert_int_equal(c->kind, CERT_USER);
	assert_true(c->serial == 7);
	assert_true(c->valid_after == 1577836800 && c->valid_before == 1893456000);
	assert_true(cslice_eq_str(c->key_id, "user certificate"));
	assert_int_equal(c->principals_n, 2);
	struct cslice rest = c->principals, name;
	assert_true(cert_next_principal(&rest, &name) && cslice_eq_str(name, "alice"));
	assert_true(cert_next_principal(&rest, &name) && cslice_eq_str(name, "bob"));
	assert_false(cert_next_principal(&rest, &name));
	struct key *ca = help_public("rsa_2048");
	assert_true(key_equal_public(c->ca, ca));
	assert_true(key_equal_public(k, plain));
	const char *why = NULL;
	struct cert_query q = {
		.kind = CERT_USER, .now_s = 1600000000, .name = "bob", .reason = &why};
	struct cert_permit p = {0};
	assert_ok(cert_check(k, &q, &p));
	assert_string_equal(p.command, "/bin/true x");
	assert_string_equal(p.source_address, "10.0.0.0/8,2001:db8::/32");
	assert_false(p.permit.pty);
	assert_true(p.permit.x11_forwarding && p.permit.agent_forwarding && p.permit.user_rc &&
		    p.permit.port_forwarding);
	assert_false(p.verify_required || p.no_touch_required);
	cert_permit_done(&p);
	assert_null(why);
	key_free(ca);
	key_free(plain);
	key_free(k);
}

static void a_host_certificate_of_openssh_is_read(void **state)
{
	(void)state;
	struct key *k = help_cert("host-cert.pub");
	const struct cert *c = key_cert(k);
	assert_int_equal(c->kind, CERT_HOST);
	assert_true(c->valid_after == 0 && c->valid_before == CERT_FOREVER);
	assert_int_equal(c->critical.n + c->extensions.n, 0);
	struct cert_query q = {.kind = CERT_HOST, .now_s = 5, .name = "a.example.org"};
	assert_ok(cert_check(k, &q, NULL));
	q.name = "host.example.com";
	assert_ok(cert_check(k, &q, NULL));
	q.name = "other.example.com";
	assert_err(cert_check(k, &q, NULL), E_DENIED);
	key_free(k);
}

static void a_plain_parser_never_gives_a_certificate(void **state)
{
	(void)state;
	struct buf text = help_file("user-cert.pub");
	struct key *k = NULL, *cert = help_cert("user-cert.pub");
	struct buf blob = blob_any(cert);
	assert_err(key_parse_public_line(&k, buf_bytes(&text), NULL), E_KEY_TYPE);
	assert_err(key_parse_blob(&k, buf_bytes(&blob)), E_KEY_TYPE);
	assert_null(k);
	buf_done(&blob);
	buf_done(&text);
	key_free(cert);
}

/* Every type below every type of authority, and the way there and back. */
static void every_type_is_certified_by_every_type(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_N(types); i++) {
		for (size_t j = 0; j < ARRAY_N(types); j++) {
			struct cert_draft d = draft(j % 2 == 0 ? CERT_USER : CERT_HOST);
			struct key *k = made(types[i], &d, types[j]), *again = NULL;
			struct key *plain = help_public(types[i]), *ca = help_public(types[j]);
			struct buf blob = blob_any(k), line, comment, back;
			assert_ok(key_parse_any(&again, buf_bytes(&blob)));
			const struct cert *c = key_cert(again);
			assert_true(c->serial == d.serial && c->kind == d.kind);
			assert_true(c->valid_after == 100 && c->valid_before == 200);
			assert_true(cslice_eq_str(c->key_id, "the id"));
			assert_int_equal(c->principals_n, 2);
			assert_true(key_equal_public(again, plain));
			assert_true(key_equal_public(c->ca, ca));
			key_free(again);
			buf_init(&line, CERT_BLOB_MAX * 2);
			buf_init(&comment, 64);
			assert_ok(key_line_any(k, "a comment", &line));
			assert_ok(key_parse_line_any(&again, buf_bytes(&line), &comment));
			assert_text(&comment, "a comment");
			back = blob_any(again);
			assert_true(cslice_eq(buf_bytes(&back), buf_bytes(&blob)));
			buf_done(&back);
			buf_done(&comment);
			buf_done(&line);
			buf_done(&blob);
			key_free(again);
			key_free(ca);
			key_free(plain);
			key_free(k);
		}
	}
}

static void an_rsa_authority_may_choose_its_hash(void **state)
{
	(void)state;
	static const char *const algs[] = {"rsa-sha2-512", "rsa-sha2-256", "ssh-rsa"};
	for (size_t i = 0; i < ARRAY_N(algs); i++) {
		struct cert_draft d = draft(CERT_USER);
		struct key *k = help_public("ed25519");
		assert_ok(sign(k, &d, "rsa_2048", algs[i]));
		struct cert_query q = {.kind = CERT_USER, .now_s = 150, .ca_algs = algs[i]};
		assert_ok(cert_check(k, &q, NULL));
		q.ca_algs = "ssh-ed25519,rsa-sha2";
		assert_err(cert_check(k, &q, NULL), E_DENIED);
		key_free(k);
	}
	struct cert_draft d = draft(CERT_USER);
	struct key *k = help_public("ed25519");
	assert_err(sign(k, &d, "rsa_2048", "ssh-ed25519"), E_NAME);
	assert_null(key_cert(k));
	key_free(k);
}

static void every_refusal_has_its_sentence(void **state)
{
	(void)state;
	static const struct {
		enum cert_kind has, want;
		uint64_t now_s;
		const char *name, *reason;
	} rows[] = {
		{CERT_USER, CERT_USER, 99, "alice", "Certificate invalid: not yet valid"},
		{CERT_USER, CERT_USER, 100, "alice", NULL},
		{CERT_USER, CERT_USER, 199, "alice", NULL},
		{CERT_USER, CERT_USER, 200, "alice", "Certificate invalid: expired"},
		{CERT_USER, CERT_HOST, 150, "alice", "Certificate invalid: not a host certificate"},
		{CERT_HOST, CERT_USER, 150, "alice", "Certificate invalid: not a user certificate"},
		{CERT_USER, CERT_USER, 150, NULL, NULL},
		/* a user's star is a name, a host's is a pattern */
		{CERT_USER, CERT_USER, 150, "bob",
			"Certificate invalid: name is not a listed principal"},
		{CERT_USER, CERT_USER, 150, "*", NULL},
		{CERT_USER, CERT_USER, 150, "alic",
			"Certificate invalid: name is not a listed principal"},
		{CERT_USER, CERT_USER, 150, "",
			"Certificate invalid: name is not a listed principal"},
		{CERT_HOST, CERT_HOST, 150, "bob", NULL},
	};
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		struct cert_draft d = draft(rows[i].has);
		struct key *k = made("ed25519", &d, "ed25519");
		const char *why = NULL;
		struct cert_query q = {.kind = rows[i].want,
			.now_s = rows[i].now_s,
			.name = rows[i].name,
			.reason = &why};
		err_t e = cert_check(k, &q, NULL);
		assert_string_equal(err_name(e), rows[i].reason != NULL ? "E_DENIED" : "OK");
		if (rows[i].reason != NULL)
			assert_string_equal(why, rows[i].reason);
		key_free(k);
	}
}

static void no_principals_is_nobody(void **state)
{
	(void)state;
	for (int kind = CERT_USER; kind <= CERT_HOST; kind++) {
		struct cert_draft d = draft((enum cert_kind)kind);
		d.principals_n = 0;
		struct key *k = made("ed25519", &d, "ecdsa_256");
		const char *why = NULL;
		struct cert_query q = {.kind = (enum cert_kind)kind, .now_s = 150, .reason = &why};
		assert_err(cert_check(k, &q, NULL), E_DENIED);
		assert_string_equal(why, "Certificate lacks principal list");
		key_free(k);
	}
	struct key *plain = help_public("ed25519");
	struct cert_query q = {.kind = CERT_USER, .now_s = 150};
	assert_err(cert_check(plain, &q, NULL), E_DENIED);
	key_free(plain);
}

static err_t check_options(enum cert_kind kind, const struct buf *critical, const struct buf *ext)
{
	struct cert_draft d = draft(kind);
	d.critical = buf_bytes(critical);
	d.extensions = buf_bytes(ext);
	struct key *k = made("ed25519", &d, "ed25519");
	struct cert_query q = {.kind = kind, .now_s = 150};
	struct cert_permit p = {.command = NULL};
	err_t e = cert_check(k, &q, &p);
	if (e != OK)
		assert_null(p.command);
	cert_permit_done(&p);
	key_free(k);
	return e;
}

static void options_out_of_form_refuse(void **state)
{
	(void)state;
	static const struct {
		enum cert_kind kind;
		bool is_critical;
		const char *name, *value, *verdict;
	} rows[] = {
		{CERT_USER, true, "force-command", "ls", "OK"},
		{CERT_USER, true, "force-command", NULL, "E_DENIED"},
		{CERT_USER, true, "source-address", "10.0.0.0/8", "OK"},
		{CERT_USER, true, "source-address", "10.0.0.1/8", "E_DENIED"},
		{CERT_USER, true, "source-address", "10.0.0.0/8,", "E_DENIED"},
		{CERT_USER, true, "source-address", "", "E_DENIED"},
		{CERT_USER, true, "source-address", "!10.0.0.1", "E_DENIED"},
		{CERT_USER, true, "source-address", "*", "E_DENIED"},
		{CERT_USER, true, "source-address", "host.example.com", "E_DENIED"},
		{CERT_USER, true, "verify-required", NULL, "OK"},
		{CERT_USER, true, "verify-required", "x", "E_DENIED"},
		{CERT_USER, true, "permit-pty", NULL, "E_DENIED"},
		{CERT_USER, true, "new@example.com", NULL, "E_DENIED"},
		{CERT_HOST, true, "force-command", "ls", "E_DENIED"},
		{CERT_USER, false, "permit-pty", NULL, "OK"},
		{CERT_USER, false, "permit-pty", "x", "E_DENIED"},
		{CERT_USER, false, "new@example.com", "x", "OK"},
		{CERT_USER, false, "force-command", "ls", "OK"},
		{CERT_HOST, false, "permit-pty", NULL, "OK"},
	};
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		struct buf b, none;
		buf_init(&b, 1024);
		buf_init(&none, 1);
		put_option(&b, rows[i].name, rows[i].value);
		err_t e = check_options(rows[i].kind, rows[i].is_critical ? &b : &none,
			rows[i].is_critical ? &none : &b);
		if (strcmp(err_name(e), rows[i].verdict) != 0)
			fail_msg("row %zu: %s", i, err_name(e));
		buf_done(&none);
		buf_done(&b);
	}
	struct buf twice, none;
	buf_init(&twice, 1024);
	buf_init(&none, 1);
	put_option(&twice, "force-command", "ls");
	put_option(&twice, "force-command", "sh");
	assert_err(check_options(CERT_USER, &twice, &none), E_DENIED);
	buf_done(&none);
	buf_done(&twice);
}

static void any_byte_changed_or_cut_is_refused(void **state)
{
	(void)state;
	static const char *const files[] = {"user-cert.pub", "host-cert.pub"};
	for (size_t i = 0; i < ARRAY_N(files); i++) {
		struct key *k = help_cert(files[i]), *none = NULL;
		struct buf blob = blob_any(k);
		for (size_t at = 0; at < blob.n; at++) {
			for (unsigned bit = 0; bit < 8; bit += 3) {
				blob.p[at] ^= (uint8_t)(1u << bit);
				assert_int_not_equal(key_parse_any(&none, buf_bytes(&blob)), OK);
				blob.p[at] ^= (uint8_t)(1u << bit);
			}
			assert_int_not_equal(key_parse_any(&none, cslice_of(blob.p, at)), OK);
		}
		assert_null(none);
		buf_put_u8(&blob, 0);
		assert_err(key_parse_any(&none, buf_bytes(&blob)), E_KEY_FORMAT);
		buf_done(&blob);
		key_free(k);
	}
}

/* A certificate by hand, with a good signature over whatever the fields are. */
struct raw {
	uint32_t kind;
	struct buf principals, critical, ca;
	bool is_cut;
};

static err_t raw_parse(const struct raw *w)
{
	struct key *signer = help_private("ed25519", ""), *k = NULL;
	struct buf b, sig, own = help_blob(signer);
	struct cslice pub = cslice_of(own.p + 19, own.n - 19);
	buf_init(&b, CERT_BLOB_MAX);
	buf_init(&sig, 256);
	buf_put_cstring(&b, "ssh-ed25519-cert-v01@openssh.com");
	buf_put_cstring(&b, "nonce");
	buf_put_string(&b, cslice_of(own.p + own.n - 32, 32));
	assert_int_equal(pub.n, 32);
	buf_put_u64(&b, 1);
	buf_put_u32(&b, w->kind);
	buf_put_cstring(&b, "id");
	buf_put_string(&b, buf_bytes(&w->principals));
	buf_put_u64(&b, 0);
	buf_put_u64(&b, CERT_FOREVER);
	buf_put_string(&b, buf_bytes(&w->critical));
	buf_put_cstring(&b, "");
	buf_put_cstring(&b, "");
	buf_put_string(&b, w->ca.n > 0 ? buf_bytes(&w->ca) : buf_bytes(&own));
	assert_ok(key_sign(signer, cslice_str("ssh-ed25519"), buf_bytes(&b), &sig));
	buf_put_string(&b, buf_bytes(&sig));
	err_t e = key_parse_any(&k, buf_bytes(&b));
	key_free(k);
	buf_done(&sig);
	buf_done(&own);
	buf_done(&b);
	key_free(signer);
	return e;
}

static void signed_nonsense_is_refused(void **state)
{
	(void)state;
	struct raw w = {.kind = CERT_USER};
	buf_init(&w.principals, 8192);
	buf_init(&w.critical, 8192);
	buf_init(&w.ca, 8192);
	assert_ok(raw_parse(&w));
	w.kind = 0;
	assert_err(raw_parse(&w), E_KEY_FORMAT);
	w.kind = 3;
	assert_err(raw_parse(&w), E_KEY_FORMAT);
	w.kind = CERT_HOST;
	for (size_t i = 0; i < CERT_PRINCIPALS_MAX; i++)
		buf_put_cstring(&w.principals, "p");
	assert_ok(raw_parse(&w));
	buf_put_cstring(&w.principals, "p");
	assert_err(raw_parse(&w), E_KEY_FORMAT);
	buf_clear(&w.principals);
	buf_put(&w.principals, "\0\0\0\5a", 5);
	assert_err(raw_parse(&w), E_KEY_FORMAT);
	buf_clear(&w.principals);
	buf_put_string(&w.principals, cslice_of("a\0b", 3));
	assert_err(raw_parse(&w), E_KEY_FORMAT);
	buf_clear(&w.principals);
	buf_put_cstring(&w.critical, "name without data");
	assert_err(raw_parse(&w), E_KEY_FORMAT);
	buf_clear(&w.critical);
	/* another key as the authority: the signature is not its own */
	struct key *other = help_public("ecdsa_256"), *cert = help_cert("user-cert.pub");
	assert_ok(key_blob(other, &w.ca));
	assert_err(raw_parse(&w), E_SIGNATURE);
	buf_clear(&w.ca);
	assert_ok(key_blob_any(cert, &w.ca));
	assert_err(raw_parse(&w), E_KEY_FORMAT);
	key_free(cert);
	key_free(other);
	buf_done(&w.ca);
	buf_done(&w.critical);
	buf_done(&w.principals);
}

/* As in the agent protocol; and whole private key files. */
static void private_keys_carry_their_certificate(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_N(types); i++) {
		struct cert_draft d = draft(CERT_USER);
		struct key *cert = made(types[i], &d, "ecdsa_384"), *again = NULL;
		struct key *k = help_private(types[i], "");
		struct buf plain, out, sig;
		buf_init(&plain, 1 << 20);
		buf_init(&out, 1 << 20);
		buf_init(&sig, 8192);
		assert_ok(key_put_private_fields(k, &plain));
		assert_ok(key_take_cert(k, cert));
		assert_ok(key_put_private_fields(k, &out));
		struct rd r = rd_of(buf_bytes(&out));
		assert_ok(key_read_private_fields(&again, &r));
		assert_int_equal(r.n, 0);
		assert_true(key_is_private(again) && key_cert(again) != NULL);
		assert_true(key_equal_public(again, k));
		struct cslice alg = cslice_str(
			key_type_of(k) == KEY_RSA ? "rsa-sha2-256" : key_type_name(key_type_of(k)));
		assert_ok(key_sign(again, alg, cslice_str("m"), &sig));
		assert_ok(key_verify(k, alg, cslice_str("m"), buf_bytes(&sig)));
		key_drop_cert(again);
		buf_clear(&out);
		assert_ok(key_put_private_fields(again, &out));
		assert_true(cslice_eq(buf_bytes(&out), buf_bytes(&plain)));
		key_free(again);
		for (size_t cut = 0; cut < out.n; cut += 7) {
			r = rd_of(cslice_of(out.p, cut));
			assert_int_not_equal(key_read_private_fields(&again, &r), OK);
		}
		buf_done(&sig);
		buf_done(&out);
		buf_done(&plain);
		key_free(k);
		key_free(cert);
	}
}

/* Behind the certificate stands only what is not in it, as OpenSSH's agent wants it. */
static void a_security_key_carries_its_certificate(void **state)
{
	(void)state;
	struct cert_draft d = draft(CERT_USER);
	struct buf fields, out;
	struct key *k = NULL, *cert = NULL, *again = NULL;
	buf_init(&fields, 4096);
	buf_init(&out, 1 << 16);
	buf_put_cstring(&fields, "sk-ssh-ed25519@openssh.com");
	buf_put_cstring(&fields, "thirty-two bytes of a public key");
	buf_put_cstring(&fields, "ssh:words");
	buf_put_u8(&fields, 1);
	buf_put_cstring(&fields, "a handle");
	buf_put_cstring(&fields, "");
	struct rd r = rd_of(buf_bytes(&fields));
	assert_ok(key_read_private_fields(&k, &r));
	assert_ok(key_public_copy(&cert, k));
	assert_ok(sign(cert, &d, "ed25519", ""));
	assert_ok(key_take_cert(k, cert));
	assert_ok(key_put_private_fields(k, &out));
	r = rd_of(buf_bytes(&out));
	struct buf blob = blob_any(cert);
	assert_true(cslice_eq_str(rd_str(&r), "sk-ssh-ed25519-cert-v01@openssh.com"));
	assert_true(cslice_eq(rd_str(&r), buf_bytes(&blob)));
	assert_true(cslice_eq_str(rd_str(&r), "ssh:words"));
	assert_int_equal(rd_u8(&r), 1);
	assert_true(cslice_eq_str(rd_str(&r), "a handle"));
	assert_int_equal(rd_str(&r).n, 0);
	assert_ok(rd_end(&r));
	r = rd_of(buf_bytes(&out));
	assert_ok(key_read_private_fields(&again, &r));
	assert_true(key_cert(again) != NULL && key_equal_public(again, k));
	key_drop_cert(again);
	buf_clear(&out);
	assert_ok(key_put_private_fields(again, &out));
	assert_true(cslice_eq(buf_bytes(&out), buf_bytes(&fields)));
	buf_done(&blob);
	key_free(again);
	key_free(cert);
	key_free(k);
	buf_done(&out);
	buf_done(&fields);
}

static void a_private_key_file_may_hold_one(void **state)
{
	(void)state;
	struct cert_draft d = draft(CERT_HOST);
	struct key *cert = made("rsa_2048", &d, "ed25519"), *again = NULL;
	struct key *k = help_private("rsa_2048", ""), *other = help_private("ed25519", "");
	struct rng_seeded rng;
	struct buf file;
	rng_seeded_init(&rng, 2);
	struct key_write_opts o = {.comment = "c", .rng = &rng.rng};
	buf_init(&file, 1 << 20);
	assert_err(key_take_cert(other, cert), E_KEY_TYPE);
	assert_err(key_take_cert(k, other), E_KEY_TYPE);
	assert_null(key_cert(k));
	assert_ok(key_take_cert(k, cert));
	assert_ok(key_write_private(k, &o, &file));
	assert_ok(key_read_private(&again, buf_bytes(&file), cslice_str(""), NULL));
	assert_true(key_is_private(again) && key_cert(again) != NULL);
	key_free(again);
	struct key *copy = NULL;
	assert_ok(key_public_copy(&copy, k));
	assert_true(!key_is_private(copy) && key_cert(copy) != NULL);
	key_free(copy);
	buf_done(&file);
	key_free(other);
	key_free(k);
	key_free(cert);
}

/* Private fields of one key behind the certificate of another. */
static void a_strangers_certificate_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_N(types); i++) {
		struct cert_draft d = draft(CERT_USER);
		struct rng_seeded rng;
		struct key *k = NULL, *other = NULL, *none = NULL,
			   *own = help_private(types[i], "");
		rng_seeded_init(&rng, 3);
		assert_ok(key_generate(
			&k, key_type_of(own), key_type_of(own) == KEY_RSA ? 2048 : 0, &rng.rng));
		assert_ok(key_public_copy(&other, own));
		assert_ok(sign(other, &d, "ed25519", ""));
		assert_ok(sign(k, &d, "ed25519", ""));
		struct buf mine = blob_any(k), theirs = blob_any(other), fields, mixed;
		buf_init(&fields, 1 << 20);
		buf_init(&mixed, 1 << 20);
		assert_ok(key_put_private_fields(k, &fields));
		struct rd r = rd_of(buf_bytes(&fields));
		(void)rd_str(&r);
		(void)rd_str(&r);
		buf_put_cstring(&mixed, key_name(k));
		buf_put_string(&mixed, buf_bytes(&theirs));
		buf_put(&mixed, r.p, r.n);
		r = rd_of(buf_bytes(&mixed));
		assert_int_not_equal(key_read_private_fields(&none, &r), OK);
		assert_null(none);
		buf_done(&mixed);
		buf_done(&fields);
		buf_done(&theirs);
		buf_done(&mine);
		key_free(own);
		key_free(other);
		key_free(k);
	}
}

static void source_lists_hold_addresses_only(void **state)
{
	(void)state;
	static const struct {
		const char *list, *address;
		enum addr_verdict verdict;
	} rows[] = {
		{"10.0.0.0/8", "10.1.2.3", ADDR_MATCH},
		{"10.0.0.0/8", "11.1.2.3", ADDR_DENY},
		{"192.0.2.1,2001:db8::/32", "2001:db8::1", ADDR_MATCH},
		{"192.0.2.1", "::ffff:192.0.2.1", ADDR_MATCH},
		{"192.0.2.1", NULL, ADDR_DENY},
		{"192.0.2.1", "UNKNOWN", ADDR_DENY},
		{"192.0.2.*", "192.0.2.1", ADDR_BAD_LIST},
		{"192.0.2.1,", "192.0.2.1", ADDR_BAD_LIST},
		{"", "192.0.2.1", ADDR_BAD_LIST},
	};
	for (size_t i = 0; i < ARRAY_N(rows); i++)
		assert_int_equal(addr_match_cidr(cslice_str(rows[i].list), rows[i].address),
			rows[i].verdict);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_user_certificate_of_openssh_is_read),
		cmocka_unit_test(a_host_certificate_of_openssh_is_read),
		cmocka_unit_test(a_plain_parser_never_gives_a_certificate),
		cmocka_unit_test(every_type_is_certified_by_every_type),
		cmocka_unit_test(an_rsa_authority_may_choose_its_hash),
		cmocka_unit_test(every_refusal_has_its_sentence),
		cmocka_unit_test(no_principals_is_nobody),
		cmocka_unit_test(options_out_of_form_refuse),
		cmocka_unit_test(any_byte_changed_or_cut_is_refused),
		cmocka_unit_test(signed_nonsense_is_refused),
		cmocka_unit_test(private_keys_carry_their_certificate),
		cmocka_unit_test(a_security_key_carries_its_certificate),
		cmocka_unit_test(a_private_key_file_may_hold_one),
		cmocka_unit_test(a_strangers_certificate_is_refused),
		cmocka_unit_test(source_lists_hold_addresses_only),
	};
	return cmocka_run_group_tests(tests, help_init, NULL);
}
