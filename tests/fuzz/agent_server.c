/* SPDX-License-Identifier: ISC */
/*
 * agent_server - the agent's engine, asked by three hostile clients at once
 *
 * The store holds a plain key, one that is confirmed and one with destinations.  A step is a
 * message of the client's own, or one of the honest requests below with bytes of it changed, or
 * bytes, or time, or an answer to a question.  Everything is taken as soon as it is ready.
 *
 * step: what it is (mod 8), client, then its data
 */
#include "agent/ask.h"
#include "agent/server.h"
#include "fuzz.h"
#include "wire/agent.h"

#define CLIENTS   3
#define KEYS      3
#define HOSTS     2
#define TEMPLATES 24
#define STEPS_MAX 400

enum { PLAIN, CONFIRMED, RESTRICTED };

static struct rng_seeded rng;
static struct key *keys[KEYS], *hosts[HOSTS];
static struct buf blobs[KEYS], host_blobs[HOSTS], templates[TEMPLATES], logins[HOSTS];
static size_t templates_n;

static void must(err_t e)
{
	PROMISE(e == OK);
}

static struct buf *template_new(void)
{
	PROMISE(templates_n < TEMPLATES);
	struct buf *b = &templates[templates_n++];
	buf_init(b, AGENT_FRAME_MAX + 4);
	return b;
}

static void make_login(size_t host)
{
	struct buf *b = &logins[host];
	buf_init(b, 4096);
	buf_put_cstring(b, host == 0 ? "session 0" : "session 1");
	buf_put_u8(b, 50);
	buf_put_cstring(b, "me");
	buf_put_cstring(b, "ssh-connection");
	buf_put_cstring(b, "publickey-hostbound-v00@openssh.com");
	buf_put_u8(b, 1);
	buf_put_cstring(b, "ssh-ed25519");
	buf_put_string(b, buf_bytes(&blobs[RESTRICTED]));
	buf_put_string(b, buf_bytes(&host_blobs[host]));
	must(buf_err(b));
}

static void make_bindings(size_t host)
{
	struct buf sig;
	const char *session = host == 0 ? "session 0" : "session 1";
	buf_init(&sig, 4096);
	must(key_sign(hosts[host], cslice_str("ssh-ed25519"), cslice_str(session), &sig));
	for (int forwards = 0; forwards < 2; forwards++) {
		const struct ag_binding b = {buf_bytes(&host_blobs[host]), cslice_str(session),
			buf_bytes(&sig), forwards == 1};
		must(ag_ask_bind(template_new(), &b));
	}
	buf_done(&sig);
}

static void make_limits(struct ag_limits *l, size_t key)
{
	static struct ag_host_key to[HOSTS];
	static struct ag_destination ways[HOSTS];
	for (size_t i = 0; i < HOSTS; i++) {
		to[i] = (struct ag_host_key){buf_bytes(&host_blobs[i]), false};
		ways[i].to = (struct ag_hop){
			.host = cslice_str(i == 0 ? "a" : "b"), .keys = &to[i], .keys_n = 1};
	}
	ways[1].from = ways[0].to;
	*l = (struct ag_limits){0};
	l->confirm = key == CONFIRMED;
	if (key == RESTRICTED) {
		l->destinations = ways;
		l->destinations_n = HOSTS;
	}
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const struct cslice alg = cslice_str("ssh-ed25519");
	(void)argc;
	(void)argv;
	must(crypto_init());
	rng_seeded_init(&rng, 11);
	for (size_t i = 0; i < HOSTS; i++) {
		must(key_generate(&hosts[i], KEY_ED25519, 0, &rng.rng));
		buf_init(&host_blobs[i], 4096);
		must(key_blob(hosts[i], &host_blobs[i]));
	}
	for (size_t i = 0; i < KEYS; i++) {
		must(key_generate(&keys[i], KEY_ED25519, 0, &rng.rng));
		buf_init(&blobs[i], 4096);
		must(key_blob(keys[i], &blobs[i]));
	}
	for (size_t i = 0; i < HOSTS; i++) {
		make_login(i);
		make_bindings(i);
		must(ag_ask_sign(
			template_new(), buf_bytes(&blobs[RESTRICTED]), buf_bytes(&logins[i]), alg));
	}
	for (size_t i = 0; i < KEYS; i++) {
		struct ag_limits l;
		make_limits(&l, i);
		must(ag_ask_add(template_new(), keys[i], cslice_str("comment"), &l));
		must(ag_ask_sign(template_new(), buf_bytes(&blobs[i]), cslice_str("data"), alg));
		must(ag_ask_remove(template_new(), buf_bytes(&blobs[i])));
	}
	must(ag_ask_list(template_new()));
	must(ag_ask_lock(template_new(), true, cslice_str("word")));
	must(ag_ask_lock(template_new(), false, cslice_str("word")));
	must(ag_ask_lock(template_new(), false, cslice_str("wrong")));
	must(ag_ask_extensions(template_new()));
	return 0;
}

struct client {
	struct ag *a;
	uint32_t ask; /* 0: nothing is asked */
	bool was_confirmed, is_over;
};

struct model {
	struct ag_store *store;
	struct ag_now now;
	struct client c[CLIENTS];
};

static void say(void *arg, enum log_level level, const char *line)
{
	(void)arg;
	PROMISE(level >= LOG_L_FATAL && line[0] != '\0');
}

static void start(struct model *m)
{
	static struct ag_store_env env;
	rng_seeded_init(&rng, 12);
	env = (struct ag_store_env){
		.rng = &rng.rng, .providers = "/usr/lib*/*", .hash = HASH_SHA256, .say = say};
	*m = (struct model){.now = {1000, 1800000000}};
	must(ag_store_new(&m->store, &env));
	for (size_t i = 0; i < CLIENTS; i++)
		must(ag_new(&m->c[i].a, m->store));
}

/* Was the key to be used for that? */
static void check_signature(const struct model *m, const struct client *c, struct cslice body)
{
	struct agent_sign_response r;
	PROMISE(agent_get_sign_response(body, &r) == OK);
	PROMISE(!ag_store_is_locked(m->store));
	/* "data" is what an honest client has signed with each key, and no login. */
	const struct ag_key *k = ag_store_find(m->store, buf_bytes(&blobs[RESTRICTED]));
	if (k != NULL && k->to.n > 0)
		PROMISE(key_verify(keys[RESTRICTED], cslice_of(NULL, 0), cslice_str("data"),
				r.signature) != OK);
	k = ag_store_find(m->store, buf_bytes(&blobs[CONFIRMED]));
	if (k != NULL && k->confirm &&
		key_verify(keys[CONFIRMED], cslice_of(NULL, 0), cslice_str("data"), r.signature) ==
			OK)
		PROMISE(c->was_confirmed);
}

static void check_reply(const struct model *m, const struct client *c, struct cslice out)
{
	PROMISE(out.n >= 5 && out.n <= AGENT_FRAME_MAX + 4 && be32_get(out.p) == out.n - 4);
	uint8_t no = out.p[4];
	struct cslice body = {out.p + 5, out.n - 5};
	struct agent_identities_answer list;
	struct agent_identity one;
	PROMISE(agent_msg_is_for(no, false));
	if (no == AGENT_MSG_identities_answer) {
		PROMISE(agent_get_identities_answer(body, &list) == OK);
		PROMISE(list.count <= AG_STORE_KEYS_MAX);
		PROMISE(list.count == 0 || !ag_store_is_locked(m->store));
		for (; list.count > 0; list.count--)
			PROMISE(agent_next_identity(&list.identities, &one) == OK);
		PROMISE(list.identities.n == 0);
	} else if (no == AGENT_MSG_sign_response)
		check_signature(m, c, body);
	else
		PROMISE(body.n == 0 || no == AGENT_MSG_extension_response);
}

/* Until nothing moves; each reply is looked at when it is made. */
static void go_on(struct model *m, struct client *c)
{
	struct ag_event ev;
	for (;;) {
		(void)ag_store_expire(m->store, m->now.us);
		err_t e = ag_poll(c->a, &m->now, &ev);
		PROMISE(e == OK || e == E_LENGTH);
		PROMISE(!c->is_over || e != OK);
		c->is_over = e != OK;
		if (ev.type == AG_EV_CONFIRM) {
			PROMISE(c->ask == 0 && ev.ask != 0 && strlen(ev.question) > 0);
			c->ask = ev.ask;
			c->was_confirmed = false;
		}
		struct cslice out = ag_ready(c->a);
		if (out.n == 0)
			return;
		check_reply(m, c, out);
		ag_sent(c->a, out.n);
	}
}

static void feed(struct model *m, struct client *c, struct cslice bytes)
{
	while (bytes.n > 0) {
		struct slice room = ag_space(c->a);
		size_t n = num_min(room.n, bytes.n);
		if (n == 0)
			return; /* it waits, or is over */
		memcpy(room.p, bytes.p, n);
		ag_fed(c->a, n);
		bytes = cslice_of(bytes.p + n, bytes.n - n);
		go_on(m, c);
	}
}

static void own_message(struct model *m, struct client *c, struct cslice *in)
{
	uint8_t head[5];
	uint8_t no = fuzz_u8(in);
	struct cslice body = fuzz_take(in, fuzz_u8(in));
	be32_put(head, (uint32_t)body.n + 1);
	head[4] = no;
	feed(m, c, cslice_of(head, sizeof(head)));
	feed(m, c, body);
}

static void changed_template(struct model *m, struct client *c, struct cslice *in)
{
	const struct buf *t = &templates[fuzz_u8(in) % templates_n];
	uint8_t changes = fuzz_u8(in);
	uint8_t *copy = malloc(t->n);
	size_t n = t->n;
	PROMISE(copy != NULL);
	memcpy(copy, t->p, n);
	for (unsigned i = 0; i < (changes & 3u); i++) {
		size_t at = fuzz_u16(in) % n;
		copy[at] ^= fuzz_u8(in);
	}
	if ((changes & 4) != 0) /* shorter, but a whole frame */
		n = 5 + fuzz_u16(in) % (n - 4);
	if ((changes & 4) != 0)
		be32_put(copy, (uint32_t)n - 4);
	feed(m, c, cslice_of(copy, n));
	free(copy);
}

static void step(struct model *m, struct cslice *in)
{
	uint8_t op = fuzz_u8(in);
	struct client *c = &m->c[(op >> 3) % CLIENTS];
	switch (op % 8) {
	case 0:
	case 1:
		own_message(m, c, in);
		return;
	case 2:
		feed(m, c, fuzz_take(in, fuzz_u8(in)));
		return;
	case 3:
		m->now.us += fuzz_u32(in);
		for (size_t i = 0; i < CLIENTS; i++)
			go_on(m, &m->c[i]);
		return;
	case 4: {
		bool yes = (fuzz_u8(in) & 1) != 0;
		err_t e = ag_answer(c->a, c->ask, yes ? OK : E_DENIED);
		PROMISE((e == OK) == (c->ask != 0));
		c->ask = 0;
		c->was_confirmed = e == OK && yes;
		go_on(m, c);
		c->was_confirmed = false;
		return;
	}
	default:
		changed_template(m, c, in);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct model m;
	struct cslice in = {data, n};
	start(&m);
	for (size_t i = 0; i < STEPS_MAX && in.n > 0; i++)
		step(&m, &in);
	PROMISE(ag_store_count(m.store) <= AG_STORE_KEYS_MAX);
	for (size_t i = 0; i < CLIENTS; i++)
		ag_free(m.c[i].a);
	ag_store_free(m.store);
	return 0;
}
