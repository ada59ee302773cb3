/* SPDX-License-Identifier: ISC */
/* known_hosts: which lines speak about a host, and what they say about a key. */
#include "help.h"
#include "key/known_hosts.h"

static struct kh_found check(const char *text, const char *host, uint16_t port, const char *key)
{
	struct buf file = help_fill_in(text);
	struct key *k = help_public(key);
	struct kh_found found = {0};
	assert_ok(kh_check(buf_bytes(&file), host, port, k, &found));
	key_free(k);
	buf_done(&file);
	return found;
}

static void lines_say_what_they_say(void **state)
{
	(void)state;
	static const struct {
		const char *text, *host;
		uint16_t port;
		enum kh_verdict want;
		uint32_t line;
	} cases[] = {
		{"", "a.example", 22, KH_NEW, 0},
		{"a.example %ed\n", "a.example", 22, KH_OK, 1},
		{"a.example %ed", "a.example", 22, KH_OK, 1},
		{"a.example\t%ed\r\n", "a.example", 22, KH_OK, 1},
		{"  a.example %ed comment # x\n", "a.example", 22, KH_OK, 1},
		{"b.example %ed\n", "a.example", 22, KH_NEW, 0},
		{"a.example %ed2\n", "a.example", 22, KH_CHANGED, 1},
		{"a.example %ec\n", "a.example", 22, KH_OTHER, 1},
		{"a.example %ec\na.example %ed2\n", "a.example", 22, KH_CHANGED, 2},
		{"a.example %ed2\na.example %ed\n", "a.example", 22, KH_OK, 2},
		{"x,a.example,y %ed\n", "a.example", 22, KH_OK, 1},
		{"*.example %ed\n", "a.example", 22, KH_OK, 1},
		{"?.example %ed\n", "a.example", 22, KH_OK, 1},
		{"*.example,!a.example %ed\n", "a.example", 22, KH_NEW, 0},
		{"!a.example,*.example %ed\n", "a.example", 22, KH_NEW, 0},
		{"!b.example %ed\n", "a.example", 22, KH_NEW, 0},
		{"A.Example %ed\n", "a.example", 22, KH_OK, 1},
		{"a.example %ed\n", "A.EXAMPLE", 22, KH_OK, 1},
		/* ports */
		{"[a.example]:2222 %ed\n", "a.example", 2222, KH_OK, 1},
		{"a.example %ed\n", "a.example", 2222, KH_NEW, 0},
		{"[a.example]:2222 %ed\n", "a.example", 22, KH_NEW, 0},
		{"2001:db8::10 %ed\n", "2001:db8::10", 22, KH_OK, 1},
		{"[2001:db8::10]:2222 %ed\n", "2001:db8::10", 2222, KH_OK, 1},
		{"[2001:db8::10]:22 %ed\n", "2001:db8::10", 22, KH_NEW, 0},
		/* two names in one bracket never match, the lines behind do */
		{"[h1,h2]:1122 %ed\n[h1]:1122 %ed\n", "h1", 1122, KH_OK, 2},
		{"[h1,h2]:1122 %ed2\n", "h2", 1122, KH_NEW, 0},
		/* markers */
		{"@cert-authority a.example %ed\n", "a.example", 22, KH_NEW, 0},
		{"@revoked * %ed\na.example %ed\n", "a.example", 22, KH_REVOKED, 1},
		{"a.example %ed\n@revoked a.example %ed\n", "a.example", 22, KH_REVOKED, 2},
		{"@revoked a.example %ed2\na.example %ed\n", "a.example", 22, KH_OK, 2},
		{"@revoked b.example %ed\na.example %ed\n", "a.example", 22, KH_OK, 2},
		{"@invented a.example %ed\n", "a.example", 22, KH_NEW, 0},
		{"@revoked @cert-authority a.example %ed\n", "a.example", 22, KH_NEW, 0},
		/* a mixed file: comment, CA, unknown type, broken lines, then the good one */
		{"# a.example %ed2\n\n@cert-authority *.example %ec\n"
		 "a.example ssh-x AAAABXNzaC14AAAAAA==\na.example ssh-ed25519 AAAA\na.example\n"
		 "a.example ssh-rsa %ed\na.example %ed\n",
			"a.example", 22, KH_OK, 8},
		{"a.example ssh-x AAAABXNzaC14AAAAAA==\n", "a.example", 22, KH_NEW, 0},
		/* damaged hashes */
		{"|1|AAAA|AAAA %ed\n|2|x|y %ed\n|1| %ed\n| %ed\n|1|*|* %ed\n", "a.example", 22,
			KH_NEW, 0},
	};
	for (size_t i = 0; i < ARRAY_N(cases); i++) {
		struct kh_found f = check(cases[i].text, cases[i].host, cases[i].port, "ed25519");
		if (f.verdict != cases[i].want || f.line != cases[i].line)
			fail_msg("case %zu: verdict %d line %u, want %d line %u", i, f.verdict,
				f.line, cases[i].want, cases[i].line);
	}
	assert_int_equal(check("a.example %ec\n", "a.example", 22, "ed25519").type, KEY_ECDSA_P256);
}

/* Lines that OpenSSH hashed: names a.example and [b.example]:2222 (key ed25519). */
static void hashes_of_openssh_match(void **state)
{
	(void)state;
	struct buf file = help_file("known_hosts_hashed");
	struct key *k = help_public("ed25519");
	static const struct {
		const char *host;
		uint16_t port;
		enum kh_verdict want;
	} cases[] = {
		{"a.example", 22, KH_OK},
		{"A.example", 22, KH_OK},
		{"a.example", 2222, KH_NEW},
		{"b.example", 2222, KH_OK},
		{"b.example", 22, KH_NEW},
		{"c.example", 22, KH_NEW},
	};
	for (size_t i = 0; i < ARRAY_N(cases); i++) {
		struct kh_found f = {0};
		assert_ok(kh_check(buf_bytes(&file), cases[i].host, cases[i].port, k, &f));
		assert_int_equal(f.verdict, cases[i].want);
	}
	key_free(k);
	buf_done(&file);
}

static void new_lines_are_found_again(void **state)
{
	(void)state;
	static const struct {
		const char *host, *start;
		uint16_t port;
	} cases[] = {
		{"a.example", "a.example ssh-ed25519 ", 22},
		{"A.example", "a.example ssh-ed25519 ", 22},
		{"a.example", "[a.example]:7999 ssh-ed25519 ", 7999},
		{"2001:db8::10", "2001:db8::10 ssh-ed25519 ", 22},
		{"2001:db8::10", "[2001:db8::10]:2222 ssh-ed25519 ", 2222},
	};
	struct rng_seeded rng;
	rng_seeded_init(&rng, 5);
	struct key *k = help_public("ed25519");
	for (size_t i = 0; i < ARRAY_N(cases); i++) {
		for (int hashed = 0; hashed < 2; hashed++) {
			struct buf line;
			struct kh_found f = {0};
			buf_init(&line, 1024);
			assert_ok(kh_line(
				cases[i].host, cases[i].port, k, hashed ? &rng.rng : NULL, &line));
			const char *start = hashed ? "|1|" : cases[i].start;
			assert_memory_equal(line.p, start, strlen(start));
			assert_int_equal(line.p[line.n - 1], '\n');
			assert_ok(kh_check(buf_bytes(&line), cases[i].host, cases[i].port, k, &f));
			assert_int_equal(f.verdict, KH_OK);
			assert_ok(kh_check(buf_bytes(&line), cases[i].host, 1, k, &f));
			assert_int_equal(f.verdict, KH_NEW);
			buf_done(&line);
		}
	}
	static const char *const never[] = {
		"", "a b", "a*", "a?", "x,y", "@a", "a|b", "[a]", "a#", "!a", "a\nb", "a\\b"};
	for (size_t i = 0; i < ARRAY_N(never); i++) {
		struct buf line;
		buf_init(&line, 1024);
		assert_err(kh_line(never[i], 22, k, NULL, &line), E_NAME);
		assert_int_equal(line.n, 0);
		buf_done(&line);
	}
	key_free(k);
}

static void the_types_of_a_host_are_collected(void **state)
{
	(void)state;
	struct buf file = help_fill_in(
		"a.example %ed\n*.example %rsa\nb.example %ec\n@revoked a.example %ec\n"
		"@cert-authority a.example %ec\n");
	uint32_t types = 0;
	assert_ok(kh_types(buf_bytes(&file), "a.example", 22, &types));
	assert_int_equal(types, 1u << KEY_ED25519 | 1u << KEY_RSA);
	buf_done(&file);
}

struct walked {
	size_t n, ca, revoked;
	uint32_t last;
};

static void walk_step(void *arg, const struct kh_entry *entry, const struct key *k)
{
	struct walked *w = arg;
	assert_non_null(k);
	assert_true(entry->text.n > 20);
	w->n++;
	w->ca += entry->marker == KH_MARK_CA;
	w->revoked += entry->marker == KH_MARK_REVOKED;
	w->last = entry->line;
}

static void every_line_of_a_host_is_walked(void **state)
{
	(void)state;
	struct walked w = {0};
	struct buf file =
		help_fill_in("a.example %ed\n# c\n@cert-authority *.example %rsa\nb.example %ec\n"
			     "@revoked a.example %ec\nbroken\na.example %ec");
	assert_ok(kh_each(buf_bytes(&file), "a.example", 22, walk_step, &w));
	assert_int_equal(w.n, 4);
	assert_int_equal(w.ca, 1);
	assert_int_equal(w.revoked, 1);
	assert_int_equal(w.last, 7);
	buf_done(&file);
}

static void merging_keeps_the_gravest(void **state)
{
	(void)state;
	for (int a = KH_NEW; a <= KH_REVOKED; a++) {
		for (int b = KH_NEW; b <= KH_REVOKED; b++) {
			struct kh_found x = {.verdict = (enum kh_verdict)a},
					y = {.verdict = (enum kh_verdict)b};
			kh_merge(&x, &y);
			assert_int_equal(x.verdict, a > b ? a : b);
		}
	}
	/* the order itself is the promise */
	assert_true(KH_NEW == 0 && KH_NEW < KH_OTHER && KH_OTHER < KH_CHANGED &&
		    KH_CHANGED < KH_OK && KH_OK < KH_REVOKED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_say_what_they_say),
		cmocka_unit_test(hashes_of_openssh_match),
		cmocka_unit_test(new_lines_are_found_again),
		cmocka_unit_test(the_types_of_a_host_are_collected),
		cmocka_unit_test(every_line_of_a_host_is_walked),
		cmocka_unit_test(merging_keeps_the_gravest),
	};
	return cmocka_run_group_tests(tests, help_init, NULL);
}
