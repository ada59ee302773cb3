/* SPDX-License-Identifier: ISC */
/* rig - an agent without a socket, and who asks it */
#include "rig.h"

static struct buf blobs[64];
static size_t blobs_n;

static void say(void *arg, enum log_level level, const char *line)
{
	struct rig *r = arg;
	(void)level;
	(void)snprintf(r->said, sizeof(r->said), "%s", line);
}

void rig_start(struct rig *r)
{
	memset(r, 0, sizeof(*r));
	assert_ok(crypto_init());
	rng_seeded_init(&r->rng, 7);
	r->env = (struct ag_store_env){.rng = &r->rng.rng,
		.providers = "/usr/lib*/*,/usr/local/lib*/*",
		.hash = HASH_SHA256,
		.say = say,
		.say_arg = r};
	r->now = (struct ag_now){1000000, 1800000000};
	assert_ok(ag_store_new(&r->store, &r->env));
}

void rig_stop(struct rig *r)
{
	ag_store_free(r->store);
	rig_forget();
}

struct ag *rig_connect(struct rig *r)
{
	struct ag *a = NULL;
	assert_ok(ag_new(&a, r->store));
	return a;
}

struct key *rig_key(struct rig *r, enum key_type t)
{
	struct key *k = NULL;
	assert_ok(key_generate(&k, t, t == KEY_RSA ? 2048 : 0, &r->rng.rng));
	return k;
}

struct cslice rig_blob(const struct key *k)
{
	struct buf *b = &blobs[blobs_n++ % ARRAY_N(blobs)];
	buf_done(b);
	buf_init(b, 65536);
	assert_ok(key_blob_any(k, b));
	return buf_bytes(b);
}

void rig_forget(void)
{
	for (size_t i = 0; i < ARRAY_N(blobs); i++)
		buf_done(&blobs[i]);
}

err_t rig_put(struct rig *r, struct ag *a, struct cslice frame, struct ag_event *ev)
{
	while (frame.n > 0) {
		struct slice room = ag_space(a);
		size_t n = num_min(room.n, frame.n);
		if (n == 0)
			return E_PHASE;
		memcpy(room.p, frame.p, n);
		ag_fed(a, n);
		frame.p += n;
		frame.n -= n;
	}
	return ag_poll(a, &r->now, ev);
}

uint8_t rig_take(struct ag *a, struct buf *body)
{
	struct cslice out = ag_ready(a);
	if (out.n == 0)
		return 0;
	assert_true(out.n >= 5 && be32_get(out.p) == out.n - 4);
	uint8_t no = out.p[4];
	assert_true(agent_msg_is_for(no, false));
	if (body != NULL)
		buf_put(body, out.p + 5, out.n - 5);
	ag_sent(a, out.n);
	return no;
}

uint8_t rig_ask(struct rig *r, struct ag *a, struct buf *frame, struct buf *body)
{
	struct ag_event ev;
	assert_ok(buf_err(frame));
	assert_ok(rig_put(r, a, buf_bytes(frame), &ev));
	buf_done(frame);
	return rig_take(a, body);
}

void rig_raw(struct buf *frame, uint8_t no, const void *body, size_t n)
{
	buf_init(frame, AGENT_FRAME_MAX + 4);
	buf_put_u32(frame, (uint32_t)n + 1);
	buf_put_u8(frame, no);
	buf_put(frame, body, n);
}

uint8_t rig_add(struct rig *r, struct ag *a, const struct key *k, const struct ag_limits *l)
{
	struct buf f;
	buf_init(&f, AGENT_FRAME_MAX + 4);
	assert_ok(ag_ask_add(&f, k, cslice_str("a comment"), l));
	return rig_ask(r, a, &f, NULL);
}

uint8_t rig_sign(struct rig *r, struct ag *a, const struct key *k, struct cslice tbs)
{
	struct buf f, body, sig;
	const char *alg =
		key_type_of(k) == KEY_RSA ? "rsa-sha2-512" : key_type_name(key_type_of(k));
	buf_init(&f, AGENT_FRAME_MAX + 4);
	buf_init(&body, AGENT_FRAME_MAX);
	buf_init(&sig, AGENT_FRAME_MAX);
	assert_ok(ag_ask_sign(&f, rig_blob(k), tbs, cslice_str(alg)));
	uint8_t no = rig_ask(r, a, &f, &body);
	if (no == AGENT_MSG_sign_response) {
		struct rd whole = rd_of(buf_bytes(&body));
		assert_ok(key_verify(k, cslice_str(alg), tbs, rd_str(&whole)));
		assert_ok(rd_end(&whole));
	}
	buf_done(&sig);
	buf_done(&body);
	return no;
}

uint32_t rig_count(struct rig *r, struct ag *a)
{
	struct buf f, body;
	struct agent_identities_answer m;
	buf_init(&f, 64);
	buf_init(&body, AGENT_FRAME_MAX);
	assert_ok(ag_ask_list(&f));
	assert_int_equal(rig_ask(r, a, &f, &body), AGENT_MSG_identities_answer);
	assert_ok(agent_get_identities_answer(buf_bytes(&body), &m));
	buf_done(&body);
	return m.count;
}

uint8_t rig_bind(struct rig *r, struct ag *a, const struct key *host, const char *session,
	bool is_forwarding)
{
	struct buf f, sig;
	buf_init(&f, AGENT_FRAME_MAX);
	buf_init(&sig, 65536);
	const char *alg =
		key_type_of(host) == KEY_RSA ? "rsa-sha2-512" : key_type_name(key_type_of(host));
	assert_ok(key_sign(host, cslice_str(alg), cslice_str(session), &sig));
	const struct ag_binding b = {
		rig_blob(host), cslice_str(session), buf_bytes(&sig), is_forwarding};
	assert_ok(ag_ask_bind(&f, &b));
	buf_done(&sig);
	return rig_ask(r, a, &f, NULL);
}

void rig_login(struct buf *out, const struct rig_login *l)
{
	buf_put_cstring(out, l->session);
	buf_put_u8(out, 50);
	buf_put_cstring(out, l->user);
	buf_put_cstring(out, "ssh-connection");
	buf_put_cstring(out, l->host != NULL ? "publickey-hostbound-v00@openssh.com" : "publickey");
	buf_put_u8(out, 1);
	buf_put_cstring(out, key_name(l->key));
	buf_put_string(out, rig_blob(l->key));
	if (l->host != NULL)
		buf_put_string(out, rig_blob(l->host));
	assert_ok(buf_err(out));
}
