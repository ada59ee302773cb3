/* SPDX-License-Identifier: ISC */
/*
 * Destination constraints: a table of what a key allows, the way that a request came, and what may
 * be done then.
 *
 * Hosts are a, b, c (plain keys) and h (a certificate for the name h of the authority of "@h").
 * allows   pairs FROM>[USER@]TO; FROM empty = where the agent is
 * way      bindings in their order: `a-` forwards, `a.` is logged in to
 */
#include "rig.h"

static struct rig rig;
static struct key *hosts[4], *authority, *user_key;

static const struct key *host(char name)
{
	return hosts[name == 'h' ? 3 : name - 'a'];
}

static void make_hosts(void)
{
	struct signer *s = NULL;
	struct buf names;
	struct cslice name = cslice_str("h");
	const struct cert_draft d = {.kind = CERT_HOST,
		.serial = 1,
		.valid_before = CERT_FOREVER,
		.key_id = cslice_str("host h"),
		.principals = &name,
		.principals_n = 1};
	buf_init(&names, 64);
	rig_start(&rig);
	for (size_t i = 0; i < ARRAY_N(hosts); i++)
		hosts[i] = rig_key(&rig, KEY_ED25519);
	authority = rig_key(&rig, KEY_ED25519);
	user_key = rig_key(&rig, KEY_ED25519);
	struct key *copy = NULL;
	struct buf fields;
	buf_init(&fields, 4096);
	assert_ok(key_put_private_fields(authority, &fields));
	struct rd r = rd_of(buf_bytes(&fields));
	assert_ok(key_read_private_fields(&copy, &r));
	buf_done(&fields);
	assert_ok(signer_from_key(&s, copy));
	assert_ok(cert_sign(hosts[3], &d, s, cslice_of(NULL, 0), &rig.rng.rng));
	s->ops->free(s);
	buf_done(&names);
}

static void free_hosts(void)
{
	for (size_t i = 0; i < ARRAY_N(hosts); i++)
		key_free(hosts[i]);
	key_free(authority);
	key_free(user_key);
	rig_stop(&rig);
}

static struct ag_host_key host_keys[32];
static size_t host_keys_n;

/* "[user@]a" */
static struct ag_hop hop(const char *text, size_t n)
{
	struct ag_hop out = {0};
	const char *at = memchr(text, '@', n);
	if (at != NULL && at > text) {
		out.user = cslice_of(text, (size_t)(at - text));
		n -= (size_t)(at + 1 - text);
		text = at + 1;
	}
	if (n == 0)
		return out;
	bool is_ca = text[n - 1] == 'h';
	out.host = cslice_of(text + n - 1, 1);
	struct ag_host_key *k = &host_keys[host_keys_n++ % ARRAY_N(host_keys)];
	*k = (struct ag_host_key){rig_blob(is_ca ? authority : host(text[n - 1])), is_ca};
	out.keys = k;
	out.keys_n = 1;
	return out;
}

static size_t destinations(const char *text, struct ag_destination out[8])
{
	size_t n = 0;
	while (*text != '\0') {
		size_t len = strcspn(text, " "), from = strcspn(text, ">");
		out[n++] = (struct ag_destination){
			hop(text, from), hop(text + from + 1, len - from - 1)};
		text += len + (text[len] == ' ');
	}
	return n;
}

/* The last session's name. */
static char walk(struct ag *a, const char *way)
{
	char session[2] = "0", last = '0';
	for (; *way != '\0'; way += way[2] == ' ' ? 3 : 2) {
		session[0]++;
		(void)rig_bind(&rig, a, host(way[0]), session, way[1] == '-');
		last = session[0];
	}
	return last;
}

enum { HIDDEN = 0, SEEN = 1, SIGNS = 2 };

/* clang-format off */
static const struct {
	const char *allows, *way, *user;
	int may;
} cases[] = {
	/* allows                 way             user    may */
	{"",                      "",             "u",    SEEN | SIGNS}, /* no limits */
	{"",                      "a- b.",        "u",    SEEN | SIGNS},
	{">a",                    "",             "u",    SEEN},         /* nobody to log in to */
	{">a",                    "a.",           "u",    SEEN | SIGNS},
	{">a",                    "b.",           "u",    HIDDEN},
	{">a",                    "a-",           "u",    HIDDEN},       /* of no use behind a */
	{">a",                    "a- b.",        "u",    HIDDEN},
	{">a a>b",                "a-",           "u",    SEEN},
	{">a a>b",                "a- b.",        "u",    SEEN | SIGNS},
	{">a a>b",                "a.",           "u",    SEEN | SIGNS},
	{">a a>b",                "b.",           "u",    HIDDEN},
	{">a a>b",                "a- c.",        "u",    HIDDEN},
	{">a a>b",                "b- a.",        "u",    HIDDEN},
	{">a a>b",                "a- b-",        "u",    HIDDEN},
	{">a a>b b>c",            "a- b- c.",     "u",    SEEN | SIGNS},
	{">a a>b b>c",            "a- c.",        "u",    HIDDEN},
	{">a a>b b>c",            "b- c.",        "u",    HIDDEN},
	{">a a>b b>c",            "a- b-",        "u",    SEEN},
	{">a a>b b>a a>a a>c",    "a- b- a.",     "u",    SEEN | SIGNS}, /* back again */
	{">a a>b b>a a>a a>c",    "a- b- a- a.",  "u",    SEEN | SIGNS},
	{">a a>b b>a a>a a>c",    "a- b- a- a- c.", "u",  SEEN | SIGNS},
	{">a a>b b>a a>a a>c",    "a- b- a- a-",  "u",    SEEN},
	{"a>b",                   "a- b.",        "u",    HIDDEN},       /* nobody may begin */
	{">u@a",                  "a.",           "u",    SEEN | SIGNS},
	{">u@a",                  "a.",           "v",    SEEN},         /* listing knows no user */
	{">u*@a",                 "a.",           "uwe",  SEEN | SIGNS},
	{">u?@a",                 "a.",           "uwe",  SEEN},
	{">u@a a>v@b",            "a- b.",        "v",    SEEN | SIGNS}, /* of the last step only */
	{">u@a a>v@b",            "a- b.",        "u",    SEEN},
	{">b >a",                 "a.",           "u",    SEEN | SIGNS},
	{">h",                    "h.",           "u",    SEEN | SIGNS},
	{">h",                    "a.",           "u",    HIDDEN},
	{">a",                    "h.",           "u",    HIDDEN},
	{">h h>b",                "h- b.",        "u",    SEEN | SIGNS},
	{">a a>h",                "a- h.",        "u",    SEEN | SIGNS},
	{">a",                    "a. a.",        "u",    HIDDEN},       /* where one logs in the way ends */
	{">a a>b",                "a. b.",        "u",    HIDDEN},
	{">a >b",                 "a. b-",        "u",    HIDDEN},
};
/* clang-format on */

static void keys_go_where_they_may(void **state)
{
	(void)state;
	make_hosts();
	for (size_t i = 0; i < ARRAY_N(cases); i++) {
		struct ag *own = rig_connect(&rig), *a = rig_connect(&rig);
		struct ag_destination d[8];
		struct ag_limits l = {.destinations = d};
		struct buf login;
		l.destinations_n = destinations(cases[i].allows, d);
		assert_int_equal(rig_add(&rig, own, user_key, l.destinations_n > 0 ? &l : NULL),
			AGENT_MSG_success);
		char session[2] = {walk(a, cases[i].way), '\0'};
		size_t steps = strlen(cases[i].way);
		const struct key *to = steps > 0 ? host(cases[i].way[steps - 2]) : hosts[0];
		buf_init(&login, 65536);
		rig_login(&login, &(struct rig_login){session, cases[i].user, user_key, to});
		int may = (rig_count(&rig, a) > 0 ? SEEN : 0) |
			  (rig_sign(&rig, a, user_key, buf_bytes(&login)) == AGENT_MSG_sign_response
					  ? SIGNS
					  : 0);
		if (may != cases[i].may)
			print_message("case %zu: %s | %s | %s\n", i, cases[i].allows, cases[i].way,
				cases[i].user);
		assert_int_equal(may, cases[i].may);
		buf_done(&login);
		ag_free(a);
		ag_free(own);
		ag_store_clear(rig.store);
	}
	free_hosts();
}

/* A key that is bound to a signs a login at a, in this session, and nothing else. */
static void a_restricted_key_signs_logins_only(void **state)
{
	(void)state;
	make_hosts();
	struct ag *a = rig_connect(&rig);
	struct ag_destination d[8];
	struct ag_limits l = {.destinations = d, .destinations_n = destinations(">a a>b", d)};
	struct key *other = rig_key(&rig, KEY_ED25519);
	assert_int_equal(rig_add(&rig, a, user_key, &l), AGENT_MSG_success);
	assert_int_equal(rig_bind(&rig, a, hosts[0], "1", false), AGENT_MSG_success);
	/* clang-format off */
	const struct { struct rig_login login; uint8_t answer; } tries[] = {
		{{"1", "u", user_key, hosts[0]}, AGENT_MSG_sign_response},
		{{"1", "u", user_key, NULL},     AGENT_MSG_sign_response}, /* the first step may be old */
		{{"2", "u", user_key, hosts[0]}, AGENT_MSG_failure},       /* another session */
		{{"1", "u", user_key, hosts[1]}, AGENT_MSG_failure},       /* another host */
		{{"1", "u", other, hosts[0]},    AGENT_MSG_failure},       /* another key inside */
		{{"",  "u", user_key, hosts[0]}, AGENT_MSG_failure},
	};
	/* clang-format on */
	struct buf tbs;
	buf_init(&tbs, 65536);
	for (size_t i = 0; i < ARRAY_N(tries); i++) {
		buf_clear(&tbs);
		rig_login(&tbs, &tries[i].login);
		assert_int_equal(rig_sign(&rig, a, user_key, buf_bytes(&tbs)), tries[i].answer);
	}
	buf_clear(&tbs);
	rig_login(&tbs, &tries[0].login);
	for (size_t cut = 0; cut < tbs.n; cut++)
		assert_int_equal(
			rig_sign(&rig, a, user_key, cslice_of(tbs.p, cut)), AGENT_MSG_failure);
	buf_put_u8(&tbs, 0);
	assert_int_equal(rig_sign(&rig, a, user_key, buf_bytes(&tbs)), AGENT_MSG_failure);
	assert_int_equal(rig_sign(&rig, a, user_key, cslice_str("SSHSIG...")), AGENT_MSG_failure);
	/* Behind a first step a login must name its host. */
	struct ag *far = rig_connect(&rig);
	assert_int_equal(rig_bind(&rig, far, hosts[0], "1", true), AGENT_MSG_success);
	assert_int_equal(rig_bind(&rig, far, hosts[1], "2", false), AGENT_MSG_success);
	buf_clear(&tbs);
	rig_login(&tbs, &(struct rig_login){"2", "u", user_key, NULL});
	assert_int_equal(rig_sign(&rig, far, user_key, buf_bytes(&tbs)), AGENT_MSG_failure);
	buf_clear(&tbs);
	rig_login(&tbs, &(struct rig_login){"2", "u", user_key, hosts[1]});
	assert_int_equal(rig_sign(&rig, far, user_key, buf_bytes(&tbs)), AGENT_MSG_sign_response);
	buf_done(&tbs);
	key_free(other);
	ag_free(far);
	ag_free(a);
	free_hosts();
}

static void bindings_are_checked(void **state)
{
	(void)state;
	make_hosts();
	struct ag *a = rig_connect(&rig);
	struct ag_destination d[8];
	struct ag_limits l = {.destinations = d, .destinations_n = destinations(">a a>b", d)};
	assert_int_equal(rig_add(&rig, a, user_key, &l), AGENT_MSG_success);
	/* The same again is fine, another host for the session is not. */
	assert_int_equal(rig_bind(&rig, a, hosts[0], "1", true), AGENT_MSG_success);
	assert_int_equal(rig_bind(&rig, a, hosts[0], "1", true), AGENT_MSG_success);
	assert_int_equal(rig_count(&rig, a), 1);
	assert_int_equal(rig_bind(&rig, a, hosts[1], "1", true), AGENT_MSG_extension_failure);
	assert_int_equal(rig_count(&rig, a), 0); /* who is behind is not known any more */
	ag_free(a);
	/* No more than 16; names of sessions of 1 to 128 bytes. */
	a = rig_connect(&rig);
	char session[130] = "";
	for (int i = 0; i < 16; i++) {
		(void)snprintf(session, sizeof(session), "s%d", i);
		assert_int_equal(rig_bind(&rig, a, hosts[0], session, true), AGENT_MSG_success);
	}
	assert_int_equal(rig_bind(&rig, a, hosts[0], "s16", true), AGENT_MSG_extension_failure);
	ag_free(a);
	a = rig_connect(&rig);
	memset(session, 'x', 129);
	assert_int_equal(rig_bind(&rig, a, hosts[0], session, true), AGENT_MSG_extension_failure);
	assert_int_equal(rig_bind(&rig, a, hosts[0], "", true), AGENT_MSG_extension_failure);
	session[128] = '\0';
	assert_int_equal(rig_bind(&rig, a, hosts[0], session, true), AGENT_MSG_success);
	ag_free(a);
	/* A signature of somebody else. */
	a = rig_connect(&rig);
	struct buf sig, f;
	buf_init(&sig, 4096);
	buf_init(&f, 65536);
	assert_ok(key_sign(hosts[1], cslice_str("ssh-ed25519"), cslice_str("1"), &sig));
	assert_ok(ag_ask_bind(&f,
		&(struct ag_binding){rig_blob(hosts[0]), cslice_str("1"), buf_bytes(&sig), false}));
	assert_int_equal(rig_ask(&rig, a, &f, NULL), AGENT_MSG_extension_failure);
	assert_int_equal(rig_count(&rig, a), 0);
	buf_done(&sig);
	ag_free(a);
	free_hosts();
}

static void constraints_out_of_form_refuse_the_key(void **state)
{
	(void)state;
	make_hosts();
	struct ag *a = rig_connect(&rig);
	const struct ag_host_key key = {rig_blob(hosts[0]), false},
				 cert = {rig_blob(hosts[3]), true},
				 junk = {cslice_str("junk"), false};
	const struct ag_hop to = {.host = cslice_str("a"), .keys = &key, .keys_n = 1}, here = {0};
	const struct ag_destination bad[] = {
		{{.user = cslice_str("u")}, to},
		{{.host = cslice_str("x")}, to},     /* a host without keys */
		{{.keys = &key, .keys_n = 1}, to},   /* keys without a host */
		{here, {.keys = &key, .keys_n = 1}}, /* to nowhere */
		{here, {.host = cslice_str("a")}},   /* to a host without keys */
		{here, {.host = cslice_str("h"), .keys = &cert, .keys_n = 1}},
		{here, {.host = cslice_str("a"), .keys = &junk, .keys_n = 1}},
	};
	for (size_t i = 0; i < ARRAY_N(bad); i++) {
		const struct ag_destination two[2] = {{here, to}, bad[i]};
		const struct ag_limits l = {.destinations = two, .destinations_n = 2};
		assert_int_equal(rig_add(&rig, a, user_key, &l), AGENT_MSG_failure);
	}
	const struct ag_destination good = {here, to};
	const struct ag_limits l = {.destinations = &good, .destinations_n = 1};
	assert_int_equal(ag_store_count(rig.store), 0);
	assert_int_equal(rig_add(&rig, a, user_key, &l), AGENT_MSG_success);
	ag_free(a);
	free_hosts();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_go_where_they_may),
		cmocka_unit_test(a_restricted_key_signs_logins_only),
		cmocka_unit_test(bindings_are_checked),
		cmocka_unit_test(constraints_out_of_form_refuse_the_key),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
