/* SPDX-License-Identifier: ISC */
/* The server engine: nobody gets in but by the verdict OK on a question that this very request
 * asked */
#include "server_fx.h"

static void a_signed_request_asks_once_and_its_verdict_decides(void **state)
{
	(void)state;
	for (int good = 0; good < 2; good++) {
		struct fx f;
		fx_init(&f);
		fx_start(&f);
		body_key(&f, "ssh-ed25519", ed_a, ed_a, NULL);
		assert_int_equal(first_request(&f, "publickey"), OK);
		struct au_event ev = poll_for(&f, AU_EV_ASK_VERIFY);
		assert_true(cslice_eq_str(ev.alg, "ssh-ed25519") &&
			    cslice_eq_str(ev.method, "publickey"));
		assert_true(au_server_busy(f.au));
		dbl_take_none(f.tp);
		assert_int_equal(verify(&f, &ev, good ? ed_a : ed_b), OK);
		assert_false(au_server_busy(f.au));
		if (good) {
			ev = logged_in(&f, "publickey");
			struct key *k;
			assert_int_equal(key_parse_blob(&k, ev.blob), OK);
			assert_true(key_equal_public(k, ed_a));
			key_free(k);
		} else {
			ev = refused(&f, 1);
			assert_true(cslice_eq_str(ev.alg, "ssh-ed25519"));
		}
		fx_done(&f);
	}
}

/* CVE-2024-45337: what was offered has no weight. */
static void a_key_that_was_offered_does_not_help_another_that_signs(void **state)
{
	struct fx f;
	(void)state;
	fx_init(&f);
	fx_start(&f);
	body_key(&f, "ssh-ed25519", ed_a, NULL, NULL);
	assert_int_equal(first_request(&f, "publickey"), OK);
	struct au_event ev = poll_for(&f, AU_EV_ASK_KEY);
	assert_int_equal(au_server_answer(f.au, ev.ask, OK, cslice_of(NULL, 0)), OK);
	struct ssh_pk_ok ok;
	assert_int_equal(ssh_get_pk_ok(dbl_take(f.tp, SSH_MSG_userauth_60), &ok), OK);
	assert_true(cslice_eq_str(ok.alg, "ssh-ed25519"));
	poll_for(&f, AU_EV_NONE);
	assert_false(f.tp->is_open);
	/* signed with B, by B's name: good signature, not authorized */
	body_key(&f, "ssh-ed25519", ed_b, ed_b, NULL);
	assert_int_equal(request(&f, "publickey"), OK);
	ev = poll_for(&f, AU_EV_ASK_VERIFY);
	assert_int_equal(verify(&f, &ev, ed_a), OK);
	refused(&f, 1);
	/* A's name, B's signature */
	body_key(&f, "ssh-ed25519", ed_a, ed_b, NULL);
	assert_int_equal(request(&f, "publickey"), OK);
	ev = poll_for(&f, AU_EV_ASK_VERIFY);
	assert_int_equal(verify(&f, &ev, ed_a), OK);
	refused(&f, 2);
	fx_done(&f);
}

/* Every verdict that is not OK is a no, for every question. */
static void only_ok_is_a_yes(void **state)
{
	(void)state;
	/* clang-format off */
	static const struct { const char *method; enum au_ev_type ask; uint32_t failures; } rows[] = {
		{"none",                 AU_EV_ASK_NONE,           0},
		{"publickey",            AU_EV_ASK_VERIFY,         1},
		{"password",             AU_EV_ASK_PASSWORD_CHECK, 1},
		{"keyboard-interactive", AU_EV_ASK_KBDINT,         1},
	};
	/* clang-format on */
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		for (int e = 0; e <= ERR_N; e++) {
			struct fx f;
			fx_init(&f);
			fx_start(&f);
			if (i == 0)
				buf_clear(&f.body);
			else if (i == 1)
				body_key(&f, "ssh-ed25519", ed_a, ed_a, NULL);
			else if (i == 2)
				body_password(&f, "pw");
			else
				body_kbdint(&f);
			assert_int_equal(first_request(&f, rows[i].method), OK);
			struct au_event ev = poll_for(&f, rows[i].ask);
			assert_int_equal(
				au_server_answer(f.au, ev.ask, (err_t)e, cslice_of(NULL, 0)), OK);
			if (e == OK)
				logged_in(&f, rows[i].method);
			else
				refused(&f, rows[i].failures);
			/* a question is answered once */
			assert_int_equal(
				au_server_answer(f.au, ev.ask, OK, cslice_of(NULL, 0)), E_PHASE);
			assert_int_equal(f.tp->is_open, e == OK);
			fx_done(&f);
		}
	}
}

/* A key that would do admits nobody, whatever the verdict. */
static void no_verdict_on_a_query_admits(void **state)
{
	(void)state;
	for (int e = 0; e <= ERR_N; e++) {
		struct fx f;
		fx_init(&f);
		fx_start(&f);
		body_key(&f, "ssh-ed25519", ed_a, NULL, NULL);
		assert_int_equal(first_request(&f, "publickey"), OK);
		struct au_event ev = poll_for(&f, AU_EV_ASK_KEY);
		assert_int_equal(
			au_server_answer(f.au, ev.ask, (err_t)e, cslice_str("publickey")), OK);
		if (e == OK)
			(void)dbl_take(f.tp, SSH_MSG_userauth_60);
		else
			refused(&f, 1);
		assert_false(f.tp->is_open);
		fx_done(&f);
	}
}

/* CVE-2026-35387: an algorithm is accepted by its own name only. */
static void algorithms_are_accepted_member_by_member(void **state)
{
	(void)state;
	const struct key *const keys[] = {ed_a, rsa, ecdsa};
	/* clang-format off */
	static const struct { const char *alg; size_t key; const char *accepted; bool asked; } rows[] = {
		{"ssh-ed25519",         0, "ssh-ed25519",                              true},
		{"ssh-ed25519",         0, "rsa-sha2-512",                             false},
		{"ssh-ed25519",         0, "",                                         false},
		{"ssh-ed25519",         0, "ssh-ed25519-cert-v01@openssh.com",         false},
		{"rsa-sha2-512",        1, "rsa-sha2-512",                             true},
		{"rsa-sha2-256",        1, "rsa-sha2-512",                             false},
		{"ssh-rsa",             1, "rsa-sha2-512,rsa-sha2-256",                false},
		{"ssh-rsa",             1, "ssh-rsa",                                  true},
		{"ecdsa-sha2-nistp256", 2, "ecdsa-sha2-nistp384,ecdsa-sha2-nistp521",  false},
		{"ecdsa-sha2-nistp256", 2, "ecdsa-sha2-nistp256",                      true},
		{"ecdsa-sha2-nistp384", 2, "ecdsa-sha2-nistp384,ecdsa-sha2-nistp256",  false}, /* not the blob's type */
		{"rsa-sha2-512",        0, "rsa-sha2-512,ssh-ed25519",                 false},
	};
	/* clang-format on */
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		struct fx f;
		fx_init(&f);
		f.env.pubkey_algs = rows[i].accepted;
		fx_start(&f);
		body_key(&f, rows[i].alg, keys[rows[i].key], NULL, NULL);
		assert_int_equal(first_request(&f, "publickey"), OK);
		if (rows[i].asked)
			poll_for(&f, AU_EV_ASK_KEY);
		else
			refused(&f, 1);
		fx_done(&f);
	}
}

/* RFC8332 3: the name inside the signature is the one of the request. */
static void the_signature_names_the_algorithm_of_the_request(void **state)
{
	struct fx f;
	(void)state;
	fx_init(&f);
	f.env.pubkey_algs = "rsa-sha2-512,rsa-sha2-256,ssh-rsa";
	fx_start(&f);
	body_key(&f, "rsa-sha2-512", rsa, rsa, NULL);
	/* the last "rsa-sha2-512" is the one inside the signature */
	uint8_t *at = NULL;
	for (size_t i = 0; i + 12 <= f.body.n; i++)
		if (memcmp(f.body.p + i, "rsa-sha2-512", 12) == 0)
			at = f.body.p + i;
	assert_non_null(at);
	memcpy(at, "rsa-sha2-256", 12);
	assert_int_equal(first_request(&f, "publickey"), OK);
	refused(&f, 1);
	fx_done(&f);
}

static void the_host_bound_form_must_name_our_host_key(void **state)
{
	(void)state;
	static const char *const hosts[] = {"host key blob", "another host", ""};
	for (size_t i = 0; i < ARRAY_N(hosts); i++) {
		struct fx f;
		fx_init(&f);
		fx_start(&f);
		body_key(&f, "ssh-ed25519", ed_a, ed_a, hosts[i]);
		assert_int_equal(first_request(&f, "publickey-hostbound-v00@openssh.com"), OK);
		if (i == 0) {
			struct au_event ev = poll_for(&f, AU_EV_ASK_VERIFY);
			assert_true(ev.is_hostbound);
			assert_int_equal(verify(&f, &ev, ed_a), OK);
			logged_in(&f, "publickey");
		} else {
			refused(&f, 1);
		}
		fx_done(&f);
	}
}

static void a_method_that_is_off_or_unknown_is_refused_without_a_question(void **state)
{
	(void)state;
	/* clang-format off */
	static const struct { const char *listed, *method; } rows[] = {
		{"password",  "publickey"},
		{"password",  "publickey-hostbound-v00@openssh.com"},
		{"password",  "keyboard-interactive"},
		{"publickey", "password"},
		{"publickey-hostbound-v00@openssh.com", "publickey-hostbound-v00@openssh.com"},
		{"passwordx,xpassword", "password"},
		{"",          "password"},
		{"hostbased", "hostbased"},
		{"publickey", "gssapi-with-mic"},
		{"publickey", ""},
	};
	/* clang-format on */
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		struct fx f;
		fx_init(&f);
		f.env.methods = rows[i].listed;
		fx_start(&f);
		body_password(&f, "pw");
		assert_int_equal(first_request(&f, rows[i].method), OK);
		poll_for(&f, AU_EV_REFUSED);
		failure_taken(&f, rows[i].listed, false);
		assert_int_equal(au_server_failures(f.au), 1);
		fx_done(&f);
	}
}

static void another_service_or_a_barred_user_never_reaches_a_question(void **state)
{
	struct fx f;
	(void)state;
	for (int i = 0; i < 2; i++) {
		fx_init(&f);
		fx_start(&f);
		body_password(&f, "pw");
		const char *service = i == 0 ? "ssh-userauth" : CONNECTION;
		assert_int_equal(request_by(&f, "alice", service, "password"), OK);
		struct au_event ev = poll_for(&f, AU_EV_ASK_USER);
		assert_int_equal(
			au_server_answer(f.au, ev.ask, i == 0 ? OK : E_IO, cslice_of(NULL, 0)), OK);
		refused(&f, 1);
		fx_done(&f);
	}
}

static void user_and_service_may_not_change(void **state)
{
	(void)state;
	static const char *const rows[][2] = {{"bob", CONNECTION}, {"alice ", CONNECTION},
		{"", CONNECTION}, {"alice", "ssh-connection2"}};
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		struct fx f;
		fx_init(&f);
		fx_start(&f);
		assert_int_equal(first_request(&f, "x"), OK);
		refused(&f, 1);
		assert_int_equal(request(&f, "x"), OK);
		refused(&f, 2);
		assert_int_equal(request_by(&f, rows[i][0], rows[i][1], "x"), E_UNEXPECTED);
		fx_done(&f);
	}
}

static void none_is_asked_once_and_its_first_failure_is_free(void **state)
{
	struct fx f;
	(void)state;
	fx_init(&f);
	f.env.fail_delay_us = 5000;
	fx_start(&f);
	assert_int_equal(first_request(&f, "none"), OK);
	struct au_event ev = poll_for(&f, AU_EV_ASK_NONE);
	assert_int_equal(au_server_answer(f.au, ev.ask, E_DENIED, cslice_of(NULL, 0)), OK);
	refused(&f, 0); /* and at once */
	assert_int_equal(request(&f, "none"), OK);
	refused(&f, 1);
	fx_done(&f);
}

static void tries_are_limited(void **state)
{
	struct fx f;
	(void)state;
	fx_init(&f);
	f.env.max_tries = 3;
	fx_start(&f);
	body_password(&f, "pw");
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(
			i == 0 ? first_request(&f, "password") : request(&f, "password"), OK);
		struct au_event ev = poll_for(&f, AU_EV_ASK_PASSWORD_CHECK);
		err_t e = au_server_answer(f.au, ev.ask, E_DENIED, cslice_of(NULL, 0));
		assert_int_equal(e, i < 2 ? OK : E_AUTH_TRIES);
		if (i < 2)
			refused(&f, i + 1);
	}
	dbl_take_none(f.tp);
	assert_int_equal(request(&f, "password"), E_AUTH_TRIES);
	fx_done(&f);
}

/* compat 7.3: 1024 requests, whatever they are. */
static void requests_are_limited(void **state)
{
	struct fx f;
	(void)state;
	fx_init(&f);
	fx_start(&f);
	body_key(&f, "ssh-ed25519", ed_a, NULL, NULL);
	uint32_t taken = 1;
	for (; taken < 5000; taken++) {
		err_t e = taken == 1 ? first_request(&f, "publickey") : request(&f, "publickey");
		if (e == E_AUTH_TRIES)
			break;
		assert_int_equal(e, OK);
		struct au_event ev = poll_for(&f, AU_EV_ASK_KEY);
		assert_int_equal(au_server_answer(f.au, ev.ask, OK, cslice_of(NULL, 0)), OK);
		(void)dbl_take(f.tp, SSH_MSG_userauth_60);
	}
	assert_int_equal(taken, 1024); /* the service request was the first of them */
	fx_done(&f);
}

static void a_failure_takes_its_least_time(void **state)
{
	(void)state;
	/* how long the verdict took -> how long the answer takes */
	static const struct {
		uint64_t verdict_us, total_us;
	} rows[] = {{0, 5000}, {4999, 5000}, {5000, 10000}, {7000, 10000}, {39999, 40000},
		{40000, 80000}};
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		struct fx f;
		fx_init(&f);
		f.env.fail_delay_us = 5000;
		fx_start(&f);
		assert_int_equal(au_server_deadline(f.au), UINT64_MAX);
		body_password(&f, "pw");
		uint64_t start = f.now;
		assert_int_equal(first_request(&f, "password"), OK);
		struct au_event ev = poll_for(&f, AU_EV_ASK_PASSWORD_CHECK);
		assert_int_equal(au_server_answer(f.au, ev.ask, E_DENIED, cslice_of(NULL, 0)), OK);
		assert_true(au_server_busy(f.au));
		assert_true(au_server_deadline(f.au) <= start + rows[i].verdict_us);
		assert_int_equal(au_server_tick(f.au, start + rows[i].verdict_us), OK);
		assert_int_equal(au_server_deadline(f.au), start + rows[i].total_us);
		assert_int_equal(au_server_tick(f.au, start + rows[i].total_us - 1), OK);
		dbl_take_none(f.tp);
		assert_int_equal(au_server_tick(f.au, start + rows[i].total_us), OK);
		refused(&f, 1);
		assert_int_equal(au_server_deadline(f.au), UINT64_MAX);
		fx_done(&f);
	}
}

/* CVE-2018-15473: refusals by the engine and by the outside look the same. */
static void every_refusal_looks_and_lasts_the_same(void **state)
{
	(void)state;
	for (int kind = 0; kind < 6; kind++) {
		struct fx f;
		fx_init(&f);
		f.env.fail_delay_us = 5000;
		fx_start(&f);
		const char *method = kind < 4 ? "publickey" : "password";
		if (kind < 4)
			body_key(&f, "ssh-ed25519", ed_a, kind % 2 ? ed_a : NULL, NULL);
		else
			body_password(&f, "pw");
		if (kind == 2 || kind == 3) /* a blob that is none */
			f.body.p[1 + 4 + 11 + 4 + 4] ^= 1;
		assert_int_equal(request(&f, method), OK);
		struct au_event ev = poll_for(&f, AU_EV_ASK_USER);
		err_t barred = kind == 5 ? E_DENIED : OK;
		assert_int_equal(au_server_answer(f.au, ev.ask, barred, cslice_of(NULL, 0)), OK);
		assert_int_equal(au_server_poll(f.au, &ev), OK);
		if (ev.type != AU_EV_NONE)
			assert_int_equal(
				au_server_answer(f.au, ev.ask, E_DENIED, cslice_of(NULL, 0)), OK);
		assert_int_equal(au_server_tick(f.au, f.now + 100), OK);
		assert_int_equal(au_server_deadline(f.au), f.now + 5000);
		assert_int_equal(au_server_tick(f.au, f.now + 5000), OK);
		refused(&f, 1);
		dbl_take_none(f.tp);
		fx_done(&f);
	}
}

static void nothing_is_taken_while_a_question_is_open(void **state)
{
	struct fx f;
	(void)state;
	fx_init(&f);
	f.env.fail_delay_us = 5000;
	fx_start(&f);
	body_password(&f, "wrong");
	assert_int_equal(request(&f, "password"), OK);
	assert_int_equal(request(&f, "password"), E_AGAIN);
	struct au_event ev = poll_for(&f, AU_EV_ASK_USER);
	assert_int_equal(au_server_answer(f.au, ev.ask, OK, cslice_of(NULL, 0)), OK);
	ev = poll_for(&f, AU_EV_ASK_PASSWORD_CHECK);
	body_password(&f, "right");
	assert_int_equal(request(&f, "password"), E_AGAIN);
	assert_true(cslice_eq_str(ev.data, "wrong"));
	assert_int_equal(au_server_answer(f.au, ev.ask + 1, OK, cslice_of(NULL, 0)), E_PHASE);
	assert_int_equal(au_server_answer(f.au, ev.ask, E_DENIED, cslice_of(NULL, 0)), OK);
	assert_int_equal(request(&f, "password"), E_AGAIN); /* the failure still waits */
	assert_int_equal(au_server_tick(f.au, f.now), OK);
	assert_int_equal(au_server_tick(f.au, f.now + 5000), OK);
	refused(&f, 1);
	assert_int_equal(request(&f, "password"), OK);
	poll_for(&f, AU_EV_ASK_PASSWORD_CHECK);
	fx_done(&f);
}

static void a_change_of_password_is_refused(void **state)
{
	struct fx f;
	(void)state;
	fx_init(&f);
	fx_start(&f);
	buf_put(&f.body, "\1\0\0\0\3old\0\0\0\3new", 15);
	assert_int_equal(first_request(&f, "password"), OK);
	refused(&f, 1);
	fx_done(&f);
}

static void partial_success_changes_the_list_and_is_no_failure(void **state)
{
	struct fx f;
	(void)state;
	fx_init(&f);
	f.env.fail_delay_us = 5000;
	fx_start(&f);
	body_key(&f, "ssh-ed25519", ed_a, ed_a, NULL);
	assert_int_equal(first_request(&f, "publickey"), OK);
	struct au_event ev = poll_for(&f, AU_EV_ASK_VERIFY);
	assert_int_equal(au_server_answer(f.au, ev.ask, E_PARTIAL, cslice_str("password")), OK);
	failure_taken(&f, "password", true);
	assert_int_equal(au_server_failures(f.au), 0);
	poll_for(&f, AU_EV_NONE);
	/* the first method is no longer in the list */
	assert_int_equal(request(&f, "publickey"), OK);
	assert_int_equal(au_server_tick(f.au, f.now), OK);
	assert_int_equal(au_server_tick(f.au, f.now + 5000), OK);
	poll_for(&f, AU_EV_REFUSED);
	failure_taken(&f, "password", false);
	body_password(&f, "pw");
	assert_int_equal(request(&f, "password"), OK);
	ev = poll_for(&f, AU_EV_ASK_PASSWORD_CHECK);
	assert_int_equal(au_server_answer(f.au, ev.ask, OK, cslice_of(NULL, 0)), OK);
	ev = logged_in(&f, "password");
	assert_int_equal(ev.blob.n, 0); /* not proved by a key */
	fx_done(&f);
}

#define PROMPTS    "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\2\0\0\0\1a\1\0\0\0\1b\0"
#define NO_PROMPTS "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"

static struct au_event kbdint_begin(struct fx *f)
{
	fx_init(f);
	fx_start(f);
	body_kbdint(f);
	assert_int_equal(first_request(f, "keyboard-interactive"), OK);
	struct au_event ev = poll_for(f, AU_EV_ASK_KBDINT);
	assert_int_equal(ev.attempt, 0);
	assert_int_equal(
		au_server_answer(f->au, ev.ask, E_AGAIN, cslice_of(PROMPTS, sizeof(PROMPTS) - 1)),
		OK);
	assert_int_equal(dbl_take(f->tp, SSH_MSG_userauth_60).n, sizeof(PROMPTS) - 1);
	assert_false(au_server_busy(f->au));
	return ev;
}

static void keyboard_interactive_goes_rounds(void **state)
{
	struct fx f;
	(void)state;
	(void)kbdint_begin(&f);
	assert_int_equal(
		say(&f, SSH_MSG_userauth_info_response, "\0\0\0\2\0\0\0\1x\0\0\0\0", 13), OK);
	struct au_event ev = poll_for(&f, AU_EV_ASK_KBDINT);
	assert_int_equal(ev.attempt, 1);
	assert_int_equal(ev.data.n, 9);
	assert_int_equal(au_server_answer(f.au, ev.ask, E_AGAIN,
				 cslice_of(NO_PROMPTS, sizeof(NO_PROMPTS) - 1)),
		OK);
	(void)dbl_take(f.tp, SSH_MSG_userauth_60);
	assert_int_equal(say(&f, SSH_MSG_userauth_info_response, "\0\0\0\0", 4), OK);
	ev = poll_for(&f, AU_EV_ASK_KBDINT);
	assert_int_equal(ev.attempt, 2);
	assert_int_equal(ev.data.n, 0);
	assert_int_equal(au_server_answer(f.au, ev.ask, OK, cslice_of(NULL, 0)), OK);
	logged_in(&f, "keyboard-interactive");
	fx_done(&f);
}

static void responses_must_be_asked_for_and_as_many(void **state)
{
	struct fx f;
	(void)state;
	fx_init(&f);
	fx_start(&f);
	assert_int_equal(say(&f, SSH_MSG_userauth_info_response, "\0\0\0\0", 4), E_UNEXPECTED);
	fx_done(&f);
	/* too few: a failure, RFC4256 3.4 */
	(void)kbdint_begin(&f);
	assert_int_equal(say(&f, SSH_MSG_userauth_info_response, "\0\0\0\1\0\0\0\1x", 9), OK);
	refused(&f, 1);
	/* and the round is over */
	assert_int_equal(say(&f, SSH_MSG_userauth_info_response, "\0\0\0\2\0\0\0\1x\0\0\0\0", 13),
		E_UNEXPECTED);
	fx_done(&f);
	/* a count without the bytes */
	(void)kbdint_begin(&f);
	assert_int_equal(say(&f, SSH_MSG_userauth_info_response, "\0\0\0\2\0\0\0\1x", 9), E_FORMAT);
	fx_done(&f);
	/* another request gives the conversation up */
	(void)kbdint_begin(&f);
	body_password(&f, "pw");
	assert_int_equal(request(&f, "password"), OK);
	/* a longer name of the next method must not move what the event lends */
	struct au_event ev = poll_for(&f, AU_EV_KBDINT_STOPPED);
	assert_true(cslice_eq_str(ev.method, "keyboard-interactive"));
	ev = poll_for(&f, AU_EV_ASK_PASSWORD_CHECK);
	assert_int_equal(au_server_answer(f.au, ev.ask, E_DENIED, cslice_of(NULL, 0)), OK);
	refused(&f, 1);
	assert_int_equal(say(&f, SSH_MSG_userauth_info_response, "\0\0\0\2\0\0\0\1x\0\0\0\0", 13),
		E_UNEXPECTED);
	fx_done(&f);
}

static void prompts_of_a_bad_form_are_a_no(void **state)
{
	struct fx f;
	(void)state;
	fx_init(&f);
	fx_start(&f);
	body_kbdint(&f);
	assert_int_equal(first_request(&f, "keyboard-interactive"), OK);
	struct au_event ev = poll_for(&f, AU_EV_ASK_KBDINT);
	assert_int_equal(au_server_answer(f.au, ev.ask, E_AGAIN, cslice_of(PROMPTS, 20)), OK);
	refused(&f, 1);
	fx_done(&f);
}

/* ---- messages at the wrong time ---- */
enum situation { S_NEW, S_SERVICE, S_KBDINT, S_IN, S_N };

static void messages_are_taken_only_at_their_time(void **state)
{
	(void)state;
	/* clang-format off */
	static const struct { uint8_t msg; const char *body; size_t n; bool fits[S_N]; } rows[] = {
		/*                                                                     new service kbdint in */
		{SSH_MSG_service_request, SERVICE, 16,                                {1,  1,      1,     0}},
		{SSH_MSG_service_accept,  SERVICE, 16,                                {0,  0,      0,     0}},
		{SSH_MSG_userauth_request, "\0\0\0\5alice\0\0\0\16ssh-connection\0\0\0\1x", 32,
		                                                                      {0,  1,      1,     1}},
		{SSH_MSG_userauth_failure, "\0\0\0\1x\0", 6,                          {0,  0,      0,     0}},
		{SSH_MSG_userauth_success, "", 0,                                     {0,  0,      0,     0}}, /* CVE-2018-10933 */
		{SSH_MSG_userauth_banner,  "\0\0\0\0\0\0\0\0", 8,                     {0,  0,      0,     0}},
		{SSH_MSG_userauth_60,      "\0\0\0\0\0\0\0\0", 8,                     {0,  0,      0,     0}},
		{SSH_MSG_userauth_info_response, "\0\0\0\2\0\0\0\0\0\0\0\0", 12,      {0,  0,      1,     0}},
		{SSH_MSG_global_request,   "\0\0\0\1x\0", 6,                          {0,  0,      0,     0}}, /* CVE-2025-32433 */
		{SSH_MSG_channel_open,     "", 0,                                     {0,  0,      0,     0}},
	};
	/* clang-format on */
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		for (int s = 0; s < S_N; s++) {
			struct fx f;
			if (s == S_KBDINT) {
				(void)kbdint_begin(&f);
			} else {
				fx_init(&f);
				if (s == S_NEW)
					assert_int_equal(au_server_new(&f.au, &f.env), OK);
				else
					fx_start(&f);
			}
			if (s == S_IN) {
				body_password(&f, "pw");
				assert_int_equal(first_request(&f, "password"), OK);
				struct au_event ev = poll_for(&f, AU_EV_ASK_PASSWORD_CHECK);
				assert_int_equal(
					au_server_answer(f.au, ev.ask, OK, cslice_of(NULL, 0)), OK);
				logged_in(&f, "password");
			}
			err_t e = say(&f, rows[i].msg, rows[i].body, rows[i].n);
			if ((e == OK) != rows[i].fits[s])
				fail_msg("message %u in situation %d: %s", rows[i].msg, s,
					err_name(e));
			assert_int_equal(f.tp->is_open, s == S_IN);
			fx_done(&f);
		}
	}
}

/* RFC4252 5.1: silently, and no event. */
static void requests_after_success_are_ignored(void **state)
{
	struct fx f;
	(void)state;
	fx_init(&f);
	fx_start(&f);
	body_password(&f, "pw");
	assert_int_equal(first_request(&f, "password"), OK);
	struct au_event ev = poll_for(&f, AU_EV_ASK_PASSWORD_CHECK);
	assert_int_equal(au_server_answer(f.au, ev.ask, OK, cslice_of(NULL, 0)), OK);
	logged_in(&f, "password");
	for (int i = 0; i < 5000; i++)
		assert_int_equal(request(&f, i % 2 ? "password" : "none"), OK);
	poll_for(&f, AU_EV_NONE);
	dbl_take_none(f.tp);
	fx_done(&f);
}

static void another_service_is_not_available(void **state)
{
	struct fx f;
	(void)state;
	fx_init(&f);
	assert_int_equal(au_server_new(&f.au, &f.env), OK);
	assert_int_equal(
		say(&f, SSH_MSG_service_request, "\0\0\0\16ssh-connection", 18), E_SERVICE);
	assert_int_equal(err_disconnect(E_SERVICE), 7);
	fx_done(&f);
}

static void the_banner_and_the_algorithms_come_before_the_first_answer(void **state)
{
	struct fx f;
	(void)state;
	fx_init(&f);
	f.tp->exts[0].name = "ext-info-in-auth@openssh.com";
	f.tp->exts[0].value = "0";
	fx_start(&f);
	assert_int_equal(request(&f, "none"), OK);
	struct au_event ev = poll_for(&f, AU_EV_ASK_USER);
	/* the Match blocks of the user */
	f.env.methods = "publickey";
	f.env.pubkey_algs = "ssh-ed25519";
	f.env.max_tries = 2;
	f.env.banner = cslice_str("hi\n");
	assert_int_equal(au_server_answer(f.au, ev.ask, OK, cslice_of(NULL, 0)), OK);
	struct ssh_ext_info x;
	assert_int_equal(ssh_get_ext_info(dbl_take(f.tp, SSH_MSG_ext_info), &x), OK);
	struct rd r = rd_of(x.items);
	assert_int_equal(x.count, 1);
	assert_true(cslice_eq_str(rd_str(&r), "server-sig-algs"));
	assert_true(cslice_eq_str(rd_str(&r), "ssh-ed25519"));
	assert_int_equal(rd_end(&r), OK);
	struct ssh_userauth_banner b;
	assert_int_equal(ssh_get_userauth_banner(dbl_take(f.tp, SSH_MSG_userauth_banner), &b), OK);
	assert_true(cslice_eq_str(b.message, "hi\n"));
	ev = poll_for(&f, AU_EV_ASK_NONE);
	assert_int_equal(au_server_answer(f.au, ev.ask, E_DENIED, cslice_of(NULL, 0)), OK);
	poll_for(&f, AU_EV_REFUSED);
	failure_taken(&f, "publickey", false);
	/* once */
	body_password(&f, "pw");
	assert_int_equal(request(&f, "password"), OK);
	poll_for(&f, AU_EV_REFUSED);
	failure_taken(&f, "publickey", false);
	dbl_take_none(f.tp);
	assert_int_equal(request(&f, "password"), E_AUTH_TRIES); /* max_tries 2 */
	fx_done(&f);
}

/* RFC 4253 6.1: no packet above 35,000 bytes before anything larger was agreed. */
static void a_long_banner_comes_in_parts(void **state)
{
	static const struct {
		const char *unit;
		size_t times, parts;
	} rows[] = {{"a line of sixteen", 5000, 3}, /* 17 bytes, no line end: cut anywhere */
		{"sixteen in all.\n", 4001, 3}, {"\xe2\x82\xac", 20000, 2}, {"x", 32000, 1},
		{"x", 32001, 2}};
	(void)state;
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		struct fx f;
		struct buf text, got;
		fx_init(&f);
		buf_init(&text, 1 << 20);
		buf_init(&got, 1 << 20);
		for (size_t k = 0; k < rows[i].times; k++)
			buf_printf(&text, "%s", rows[i].unit);
		f.env.banner = buf_bytes(&text);
		fx_start(&f);
		assert_int_equal(request(&f, "none"), OK);
		struct au_event ev = poll_for(&f, AU_EV_ASK_USER);
		assert_int_equal(au_server_answer(f.au, ev.ask, OK, cslice_of(NULL, 0)), OK);
		for (size_t k = 0; k < rows[i].parts; k++) {
			struct ssh_userauth_banner b;
			assert_int_equal(ssh_get_userauth_banner(
						 dbl_take(f.tp, SSH_MSG_userauth_banner), &b),
				OK);
			assert_in_range(b.message.n, 1, 34000);
			assert_int_not_equal(b.message.p[0] & 0xc0, 0x80); /* a character whole */
			if (rows[i].unit[15 * (rows[i].times == 4001)] == '\n')
				assert_int_equal(b.message.p[b.message.n - 1], '\n');
			buf_put(&got, b.message.p, b.message.n);
		}
		poll_for(&f, AU_EV_ASK_NONE);
		dbl_take_none(f.tp);
		assert_true(cslice_eq(buf_bytes(&got), buf_bytes(&text)));
		buf_done(&got);
		buf_done(&text);
		fx_done(&f);
	}
}

static void success_counts_only_once_it_is_out(void **state)
{
	struct fx f;
	(void)state;
	fx_init(&f);
	fx_start(&f);
	body_password(&f, "pw");
	assert_int_equal(first_request(&f, "password"), OK);
	struct au_event ev = poll_for(&f, AU_EV_ASK_PASSWORD_CHECK);
	f.tp->is_rekeying = true;
	assert_int_equal(au_server_answer(f.au, ev.ask, OK, cslice_of(NULL, 0)), OK);
	poll_for(&f, AU_EV_NONE);
	assert_false(f.tp->is_open);
	f.tp->is_rekeying = false;
	ev = poll_for(&f, AU_EV_LOGGED_IN);
	(void)dbl_take(f.tp, SSH_MSG_userauth_success);
	assert_true(f.tp->is_open);
	fx_done(&f);
}

static void malformed_requests_end_it(void **state)
{
	(void)state;
	/* clang-format off */
	static const struct { const char *method, *body; size_t n; } rows[] = {
		{"none",      "x", 1},
		{"password",  "", 0},
		{"password",  "\0\0\0\0\2x", 6},
		{"password",  "\0\0\0\0\1xy", 7},
		{"password",  "\1\0\0\0\1x", 6},
		{"password",  "\1\0\0\0\1x\0\0\0\1yz", 12},
		{"publickey", "\0\0\0\0\1a\0\0\0\1b\0\0\0\0", 15},
		{"publickey", "\1\0\0\0\1a\0\0\0\1b", 11},
		{"publickey", "\1\0\0\0\1\0\0\0\0\1b\0\0\0\0", 15},
		{"publickey-hostbound-v00@openssh.com", "\0\0\0\0\1a\0\0\0\1b", 11},
		{"keyboard-interactive", "\0\0\0\0", 4},
	};
	/* clang-format on */
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		struct fx f;
		fx_init(&f);
		fx_start(&f);
		buf_put(&f.body, rows[i].body, rows[i].n);
		err_t e = first_request(&f, rows[i].method);
		if (err_kind_of(e) != ERR_KIND_PEER)
			fail_msg("row %zu: %s", i, err_name(e));
		fx_done(&f);
	}
	/* a NUL byte in the user's name */
	struct fx f;
	fx_init(&f);
	fx_start(&f);
	assert_int_equal(say(&f, SSH_MSG_userauth_request,
				 "\0\0\0\6root\0x\0\0\0\16ssh-connection\0\0\0\4none", 36),
		E_FORMAT);
	fx_done(&f);
}

/* Each allocation fails in turn, with every verdict a no: nobody is let in, and the failure is
 * told. */
static err_t attack(struct fx *f)
{
	struct au_event ev;
	TRY(au_server_new(&f->au, &f->env));
	TRY(say(f, SSH_MSG_service_request, SERVICE, 16));
	TRY(au_server_msg(f->au, SSH_MSG_userauth_request, buf_bytes(&f->b), f->now));
	for (int i = 0; i < 8; i++) {
		TRY(au_server_poll(f->au, &ev));
		if (ev.ask != 0)
			TRY(au_server_answer(f->au, ev.ask,
				ev.type == AU_EV_ASK_USER ? OK : E_DENIED, cslice_of(NULL, 0)));
	}
	return OK;
}

static void no_failed_allocation_reads_as_yes(void **state)
{
	size_t n = 0;
	(void)state;
	for (bool hit = true; hit; n++) {
		struct fx f;
		fx_init(&f);
		f.tp->is_rekeying = n % 2; /* with and without the need to keep what is sent */
		f.env.banner = cslice_str("banner");
		body_key(&f, "ssh-ed25519", ed_a, ed_a, NULL);
		buf_put_cstring(&f.b, "alice");
		buf_put_cstring(&f.b, CONNECTION);
		buf_put_cstring(&f.b, "publickey");
		buf_put(&f.b, f.body.p, f.body.n);
		fault_after(n / 2);
		err_t e = attack(&f);
		hit = fault_off();
		assert_int_equal(e == OK, !hit);
		assert_false(f.tp->is_open);
		fx_done(&f);
	}
	assert_true(n > 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_signed_request_asks_once_and_its_verdict_decides),
		cmocka_unit_test(a_key_that_was_offered_does_not_help_another_that_signs),
		cmocka_unit_test(only_ok_is_a_yes),
		cmocka_unit_test(no_verdict_on_a_query_admits),
		cmocka_unit_test(algorithms_are_accepted_member_by_member),
		cmocka_unit_test(the_signature_names_the_algorithm_of_the_request),
		cmocka_unit_test(the_host_bound_form_must_name_our_host_key),
		cmocka_unit_test(a_method_that_is_off_or_unknown_is_refused_without_a_question),
		cmocka_unit_test(another_service_or_a_barred_user_never_reaches_a_question),
		cmocka_unit_test(user_and_service_may_not_change),
		cmocka_unit_test(none_is_asked_once_and_its_first_failure_is_free),
		cmocka_unit_test(tries_are_limited),
		cmocka_unit_test(requests_are_limited),
		cmocka_unit_test(a_failure_takes_its_least_time),
		cmocka_unit_test(every_refusal_looks_and_lasts_the_same),
		cmocka_unit_test(nothing_is_taken_while_a_question_is_open),
		cmocka_unit_test(a_change_of_password_is_refused),
		cmocka_unit_test(partial_success_changes_the_list_and_is_no_failure),
		cmocka_unit_test(keyboard_interactive_goes_rounds),
		cmocka_unit_test(responses_must_be_asked_for_and_as_many),
		cmocka_unit_test(prompts_of_a_bad_form_are_a_no),
		cmocka_unit_test(messages_are_taken_only_at_their_time),
		cmocka_unit_test(requests_after_success_are_ignored),
		cmocka_unit_test(another_service_is_not_available),
		cmocka_unit_test(the_banner_and_the_algorithms_come_before_the_first_answer),
		cmocka_unit_test(a_long_banner_comes_in_parts),
		cmocka_unit_test(success_counts_only_once_it_is_out),
		cmocka_unit_test(malformed_requests_end_it),
		cmocka_unit_test(no_failed_allocation_reads_as_yes),
	};
	return cmocka_run_group_tests(tests, make_keys, free_keys);
}
