/* SPDX-License-Identifier: ISC */
/* authorized_keys: which line decides, what its options allow, and that every doubt refuses. */
#include "help.h"
#include "key/authorized_keys.h"

static struct buf fill_in(const char *text)
{
	struct buf out;
	struct key *mine = help_public("ed25519"), *other = help_public("ecdsa_256");
	buf_init(&out, (size_t)1 << 20);
	for (; *text != '\0'; text++) {
		if (strncmp(text, "KEY", 3) == 0) {
			assert_ok(key_public_line(mine, NULL, &out));
			text += 2;
		} else if (strncmp(text, "OTHER", 5) == 0) {
			assert_ok(key_public_line(other, NULL, &out));
			text += 4;
		} else {
			buf_put_u8(&out, (uint8_t)*text);
		}
	}
	key_free(other);
	key_free(mine);
	return out;
}

static struct ak_result ask_as(
	const char *text, const char *address, const char *host, uint64_t now_s)
{
	struct buf file = fill_in(text);
	struct key *k = help_public("ed25519");
	struct ak_query q = {.k = k, .address = address, .host = host, .now_s = now_s};
	struct ak_result r = {0};
	assert_ok(ak_check(buf_bytes(&file), &q, &r));
	key_free(k);
	buf_done(&file);
	return r;
}

static struct ak_result ask(const char *text)
{
	return ask_as(text, "192.0.2.7", "pc.example", 1000000000);
}

static uint32_t deciding_line(const char *text)
{
	struct ak_result r = ask(text);
	uint32_t line = r.verdict == AK_ALLOW ? r.line : 0;
	ak_done(&r);
	return line;
}

static void the_first_good_line_decides(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		uint32_t line; /* 0 = denied */
	} cases[] = {
		{"", 0},
		{"KEY", 1},
		{"KEY\n", 1},
		{"KEY comment words\r\n", 1},
		{"\r\n# c\r\nKEY", 3},
		{"OTHER\nKEY\n", 2},
		{"OTHER\n", 0},
		{"#KEY\n", 0},
		{"\tKEY\n", 1},
		{"restrict\tKEY\n", 1},
		{"restrict,pty \t KEY c\n", 1},
		{"ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAABwDLV5lUTt4=\nKEY\n", 2},
		{"garbage line here\nKEY\n", 2},
		{"ssh-x AAAABXNzaC14AAAAAA==\nKEY\n", 2},
		/* a matching key with bad options does not stop the search */
		{"nonsense KEY\nKEY\n", 2},
		{"from=\"198.51.100.0/24\" KEY\nno-pty KEY\n", 2},
		{"command=\"x KEY\n", 0},
		{"command=\"KEY\" OTHER\n", 0},
		{"# KEY\ncommand=\"a b\" KEY", 2},
	};
	for (size_t i = 0; i < ARRAY_N(cases); i++)
		if (deciding_line(cases[i].text) != cases[i].line)
			fail_msg("case %zu: line %u, want %u", i, deciding_line(cases[i].text),
				cases[i].line);
}

static void options_with_a_doubt_refuse_the_line(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"unknown",
		"no-unknown",
		"no-restrict",
		"no-command=\"x\"",
		"pty=\"yes\"",
		"command",
		"command=x",
		"command=",
		"command=\"a\",command=\"b\"",
		"from=\"192.0.2.7\",from=\"192.0.2.7\"",
		"pty,",
		",pty",
		"pty,,no-pty",
		"command=\"a\"x",
		"from=\"192.0.2.7/33\"",
		"from=\"192.0.2.7/24\"",
		"from=\"*,192.0.2.7/x\"",
		"from",
		"environment=\"A\"",
		"environment=\"=x\"",
		"environment=\"A-B=x\"",
		"environment=\"\"",
		"environment=\"A B=x\"",
		"expiry-time=\"\"",
		"expiry-time=\"2030\"",
		"expiry-time=\"20301301\"",
		"expiry-time=\"20300100\"",
		"expiry-time=\"203001011\"",
		"expiry-time=\"2030010124\"",
		"expiry-time=\"203001012460\"",
		"expiry-time=\"invalid0\"",
		"expiry-time=20300101",
		"expiry-time=\"19690101\"",
		"permitopen=\"host\"",
		"permitopen=\"80\"",
		"permitopen=\":80\"",
		"permitopen=\"host:0\"",
		"permitopen=\"host:65536\"",
		"permitopen=\"host:x\"",
		"permitopen=\"2001:db8::1:80\"",
		"permitopen=\"\"",
		"permitlisten=\"host\"",
		"permitlisten=\"0\"",
		"permitlisten=\"host:http\"",
		"cert-authority",
		"principals=\"a\"",
		"cert-authority,principals=\"a\"",
		"tunnel=\"0\"",
		"tunnel",
	};
	for (size_t i = 0; i < ARRAY_N(bad); i++) {
		char text[256];
		(void)snprintf(text, sizeof(text), "%s KEY\n", bad[i]);
		if (deciding_line(text) != 0)
			fail_msg("%s was accepted", bad[i]);
	}
}

static void permissions_follow_the_order_of_the_line(void **state)
{
	(void)state;
	static const struct {
		const char *options;
		struct ak_permit want; /* pty, port, agent, x11, rc */
	} cases[] = {
		{"", {true, true, true, true, true}},
		{"restrict", {false, false, false, false, false}},
		{"RESTRICT,PTY", {true, false, false, false, false}},
		{"restrict,pty", {true, false, false, false, false}},
		{"pty,restrict", {false, false, false, false, false}},
		{"no-pty", {false, true, true, true, true}},
		{"No-Pty", {false, true, true, true, true}},
		{"no-port-forwarding", {true, false, true, true, true}},
		{"no-agent-forwarding", {true, true, false, true, true}},
		{"no-X11-forwarding", {true, true, true, false, true}},
		{"no-user-rc", {true, true, true, true, false}},
		{"restrict,port-forwarding,agent-forwarding,x11-forwarding,user-rc",
			{false, true, true, true, true}},
		{"no-touch-required,verify-required", {true, true, true, true, true}},
	};
	for (size_t i = 0; i < ARRAY_N(cases); i++) {
		char text[256];
		(void)snprintf(text, sizeof(text), "%s KEY\n", cases[i].options);
		struct ak_result r = ask(text);
		assert_int_equal(r.verdict, AK_ALLOW);
		assert_memory_equal(&r.permit, &cases[i].want, sizeof(r.permit));
		ak_done(&r);
		assert_int_equal(r.verdict, AK_DENY);
	}
}

static void values_are_read_with_blanks_commas_and_quotes(void **state)
{
	(void)state;
	struct ak_result r = ask(
		"command=\"echo \\\"a, b\\\" \\\\ # x\",environment=\"A=1\",environment=\"B_2=x "
		"y\","
		"environment=\"A=2\",permitopen=\"h.example:80\",permitopen=\"[2001:db8::1]:*\","
		"permitlisten=\"8080\",permitlisten=\"localhost:*\"\tKEY\n");
	assert_int_equal(r.verdict, AK_ALLOW);
	assert_string_equal(r.command, "echo \"a, b\" \\\\ # x");
	assert_int_equal(r.environment_n, 2);
	assert_string_equal(r.environment[0], "A=1");
	assert_string_equal(r.environment[1], "B_2=x y");
	assert_int_equal(r.permitopen_n, 2);
	assert_string_equal(r.permitopen[0], "h.example:80");
	assert_string_equal(r.permitopen[1], "[2001:db8::1]:*");
	assert_int_equal(r.permitlisten_n, 2);
	assert_string_equal(r.permitlisten[0], "*:8080");
	assert_string_equal(r.permitlisten[1], "localhost:*");
	ak_done(&r);
	r = ask("command=\"\" KEY");
	assert_int_equal(r.verdict, AK_ALLOW);
	assert_string_equal(r.command, "");
	ak_done(&r);
	/* nothing of a refused line stays */
	r = ask("command=\"x\",environment=\"A=1\",bad KEY\nKEY\n");
	assert_int_equal(r.verdict, AK_ALLOW);
	assert_null(r.command);
	assert_int_equal(r.environment_n, 0);
	ak_done(&r);
}

static void from_needs_a_match_and_an_address(void **state)
{
	(void)state;
	static const struct {
		const char *from, *address, *host;
		bool may;
	} cases[] = {
		{"192.0.2.7", "192.0.2.7", NULL, true},
		{"192.0.2.*,198.51.100.*", "198.51.100.9", NULL, true},
		{"192.0.2.*,198.51.100.*", "203.0.113.9", NULL, false},
		{"192.0.2.0/24", "192.0.2.200", NULL, true},
		{"192.0.2.0/24", "192.0.3.200", NULL, false},
		{"0.0.0.0/0", "192.0.2.1", NULL, true},
		{"0.0.0.0/0", "2001:db8::1", NULL, false},
		{"2001:db8::/32", "2001:db8:1::2", NULL, true},
		{"2001:db8::/32", "2001:db9::2", NULL, false},
		{"2001:DB8::1", "2001:db8::1", NULL, true},
		{"192.0.2.1", "::ffff:192.0.2.1", NULL, true},
		{"*.example", "192.0.2.1", "pc.example", true},
		{"*.EXAMPLE", "192.0.2.1", "PC.example", true},
		{"*.example", "192.0.2.1", NULL, false},
		{"*,!192.0.2.1", "192.0.2.1", NULL, false},
		{"!192.0.2.1,*", "192.0.2.1", NULL, false},
		{"!192.0.2.0/24,*", "192.0.2.1", "a.example", false},
		{"!*.bad.example,*", "192.0.2.1", "x.bad.example", false},
		{"!*.bad.example,*", "192.0.2.1", "x.good.example", true},
		{"!192.0.2.1", "198.51.100.1", NULL, false},
		{"192.0.2.1,", "192.0.2.1", NULL, true},
		{"", "192.0.2.1", "a.example", false},
		{"*", NULL, NULL, false},
		{"*", NULL, "a.example", false},
	};
	for (size_t i = 0; i < ARRAY_N(cases); i++) {
		char text[256];
		(void)snprintf(text, sizeof(text), "from=\"%s\" KEY\n", cases[i].from);
		struct ak_result r = ask_as(text, cases[i].address, cases[i].host, 1);
		if ((r.verdict == AK_ALLOW) != cases[i].may)
			fail_msg(
				"case %zu: from=\"%s\" for %s", i, cases[i].from, cases[i].address);
		ak_done(&r);
	}
}

static bool zone_one_hour_east(const struct ak_civil *t, uint64_t *out_s)
{
	if (t->year != 2020 || t->month != 2 || t->day != 29 || t->hour != 12)
		return false;
	*out_s = 1582977600 - 3600;
	return true;
}

static void expiry_is_a_moment_in_time(void **state)
{
	(void)state;
	static const struct {
		const char *time;
		uint64_t last_s; /* still good then, not a second later */
	} cases[] = {
		{"20200229Z", 1582934400},
		{"202002291200Z", 1582977600},
		{"20200229120000", 1582977600},
		{"20200229120001z", 1582977601},
		{"19700101", 0},
		{"25250101Z", 17514144000},
		{"20000301Z", 951868800},
		{"20380119031408Z", 2147483648},
	};
	for (size_t i = 0; i < ARRAY_N(cases); i++) {
		char text[128];
		(void)snprintf(text, sizeof(text), "expiry-time=\"%s\" KEY\n", cases[i].time);
		struct ak_result r = ask_as(text, NULL, NULL, cases[i].last_s);
		assert_int_equal(r.verdict, AK_ALLOW);
		ak_done(&r);
		r = ask_as(text, NULL, NULL, cases[i].last_s + 1);
		assert_int_equal(r.verdict, AK_DENY);
		ak_done(&r);
	}
	/* of two the earlier one; local time by the given zone */
	struct ak_result r = ask_as(
		"expiry-time=\"20200229Z\",expiry-time=\"20300101Z\" KEY", NULL, NULL, 1600000000);
	assert_int_equal(r.verdict, AK_DENY);
	ak_done(&r);
	struct key *k = help_public("ed25519");
	struct ak_query q = {.k = k, .now_s = 1582977600 - 3600, .local_time = zone_one_hour_east};
	struct buf file = fill_in("expiry-time=\"202002291200\" KEY");
	assert_ok(ak_check(buf_bytes(&file), &q, &r));
	assert_int_equal(r.verdict, AK_ALLOW);
	ak_done(&r);
	q.now_s++;
	assert_ok(ak_check(buf_bytes(&file), &q, &r));
	assert_int_equal(r.verdict, AK_DENY);
	ak_done(&r);
	buf_done(&file);
	key_free(k);
}

static void long_lines_and_too_many_options_are_skipped(void **state)
{
	(void)state;
	static char text[200000];
	size_t n = (size_t)snprintf(text, sizeof(text), "command=\"");
	memset(text + n, 'a', 60000);
	(void)snprintf(text + n + 60000, sizeof(text) - n - 60000, "\" KEY\n");
	assert_int_equal(deciding_line(text), 1);
	memset(text + n, 'a', 70000);
	(void)snprintf(text + n + 70000, sizeof(text) - n - 70000, "\" KEY\nKEY\n");
	assert_int_equal(deciding_line(text), 2);
	for (size_t count = 1024; count <= 1025; count++) {
		n = 0;
		for (size_t i = 0; i < count; i++)
			n += (size_t)snprintf(
				text + n, sizeof(text) - n, "environment=\"A%zu=1\",", i);
		(void)snprintf(text + n - 1, sizeof(text) - n, " KEY\n");
		assert_int_equal(deciding_line(text), count == 1024);
	}
}

struct said {
	size_t times;
	uint32_t line;
	char text[128];
};

static void say(void *arg, uint32_t line, const char *text)
{
	struct said *s = arg;
	s->times++;
	s->line = line;
	(void)snprintf(s->text, sizeof(s->text), "%s", text);
}

static void the_reason_of_a_refusal_is_told(void **state)
{
	(void)state;
	struct said s = {0};
	struct key *k = help_public("ed25519");
	struct ak_query q = {.k = k, .address = "192.0.2.1", .now_s = 1, .why = say, .arg = &s};
	struct buf file = fill_in("OTHER\nfrom=\"198.51.100.1\" KEY\n");
	struct ak_result r;
	assert_ok(ak_check(buf_bytes(&file), &q, &r));
	assert_int_equal(r.verdict, AK_DENY);
	assert_int_equal(s.times, 1);
	assert_int_equal(s.line, 2);
	assert_string_equal(s.text, "correct key but not from a permitted host");
	ak_done(&r);
	buf_done(&file);
	key_free(k);
}

struct refusal {
	int times;
	uint32_t line;
	char from[64];
	uint64_t expiry_s;
};

static void take_refusal(void *arg, uint32_t line, const char *from, uint64_t expiry_s)
{
	struct refusal *r = arg;
	*r = (struct refusal){.times = r->times + 1, .line = line, .expiry_s = expiry_s};
	if (from != NULL)
		(void)snprintf(r->from, sizeof(r->from), "%s", from);
}

static void only_the_right_key_is_told_as_refused_by_its_line(void **state)
{
	(void)state;
	static const struct {
		const char *file, *address;
		struct refusal want;
	} cases[] = {
		{"OTHER\nfrom=\"198.51.100.1\" KEY\n", "192.0.2.1", {1, 2, "198.51.100.1", 0}},
		{"from=\"*\" KEY\n", NULL, {1, 1, "*", 0}},
		{"\n\nexpiry-time=\"19700102Z\" KEY\n", "192.0.2.1", {1, 3, "", 86400}},
		{"from=\"198.51.100.1\" OTHER\n", "192.0.2.1", {0, 0, "", 0}},
		{"no-such-option KEY\n", "192.0.2.1", {0, 0, "", 0}},
		{"from=\"192.0.2.1\" KEY\n", "192.0.2.1", {0, 0, "", 0}},
	};
	struct key *k = help_public("ed25519");
	for (size_t i = 0; i < ARRAY_N(cases); i++) {
		struct refusal got = {0};
		struct ak_query q = {.k = k,
			.address = cases[i].address,
			.now_s = 100000,
			.refused = take_refusal,
			.arg = &got};
		struct buf file = fill_in(cases[i].file);
		struct ak_result r;
		assert_ok(ak_check(buf_bytes(&file), &q, &r));
		assert_int_equal(got.times, cases[i].want.times);
		assert_int_equal(got.line, cases[i].want.line);
		assert_string_equal(got.from, cases[i].want.from);
		assert_int_equal(got.expiry_s, cases[i].want.expiry_s);
		ak_done(&r);
		buf_done(&file);
	}
	key_free(k);
}

static void lists_tell_match_from_negation_and_damage(void **state)
{
	(void)state;
	static const struct {
		const char *list;
		enum addr_verdict want;
	} cases[] = {
		{"192.0.2.1", ADDR_MATCH},
		{"192.0.2.0/24", ADDR_MATCH},
		{"192.0.2.2", ADDR_DENY},
		{"!192.0.2.1", ADDR_NEGATED},
		{"*,!192.0.2.1", ADDR_NEGATED},
		{"!192.0.2.2", ADDR_DENY},
		{"192.0.2.1/24", ADDR_BAD_LIST},
		{"*,10.0.1.0/8", ADDR_BAD_LIST},
		{"!192.0.2.1,10.0.1.0/8", ADDR_BAD_LIST},
		{"::1/129", ADDR_BAD_LIST},
		{"", ADDR_DENY},
		{",", ADDR_DENY},
		{"!", ADDR_DENY},
	};
	for (size_t i = 0; i < ARRAY_N(cases); i++)
		if (addr_match_list(cslice_str(cases[i].list), "192.0.2.1", NULL) != cases[i].want)
			fail_msg("%s", cases[i].list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_good_line_decides),
		cmocka_unit_test(options_with_a_doubt_refuse_the_line),
		cmocka_unit_test(permissions_follow_the_order_of_the_line),
		cmocka_unit_test(values_are_read_with_blanks_commas_and_quotes),
		cmocka_unit_test(from_needs_a_match_and_an_address),
		cmocka_unit_test(expiry_is_a_moment_in_time),
		cmocka_unit_test(long_lines_and_too_many_options_are_skipped),
		cmocka_unit_test(the_reason_of_a_refusal_is_told),
		cmocka_unit_test(only_the_right_key_is_told_as_refused_by_its_line),
		cmocka_unit_test(lists_tell_match_from_negation_and_damage),
	};
	return cmocka_run_group_tests(tests, help_init, NULL);
}
