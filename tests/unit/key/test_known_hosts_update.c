/* SPDX-License-Identifier: ISC */
/* known_hosts_update: what a host's own list of keys changes in a file, and when it may not. */
#include "help.h"
#include "key/known_hosts_update.h"

#define NAMES_MAX 4

struct offered {
	struct buf blobs[NAMES_MAX];
	struct cslice v[NAMES_MAX];
	struct kh_offer o;
};

/* names: of the keys of data/, separated by blanks. */
static void offer(struct offered *f, const char *names, uint16_t port)
{
	char text[128];
	*f = (struct offered){.o = {.host = "a.example", .port = port}};
	(void)snprintf(text, sizeof(text), "%s", names);
	for (char *save, *one = strtok_r(text, " ", &save); one != NULL;
		one = strtok_r(NULL, " ", &save)) {
		struct key *k = help_public(one);
		buf_init(&f->blobs[f->o.n], 65536);
		assert_ok(key_blob(k, &f->blobs[f->o.n]));
		f->v[f->o.n] = buf_bytes(&f->blobs[f->o.n]);
		f->o.n++;
		key_free(k);
	}
	f->o.blobs = f->v;
}

static void offer_done(struct offered *f)
{
	for (size_t i = 0; i < f->o.n; i++)
		buf_done(&f->blobs[i]);
}

#define ED_EC "ed25519 ecdsa_256"

static void the_survey_tells_known_new_and_old(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		const char *known; /* a digit each of ED_EC */
		size_t old_n;
		bool is_complex, is_elsewhere, is_old_elsewhere;
		uint16_t port;
	} cases[] = {
		{"", "00", 0, false, false, false, 22},
		{"a.example %ed\n", "10", 0, false, false, false, 22},
		{"a.example %ed\na.example %ec", "11", 0, false, false, false, 22},
		{"A.example %ed\r\n# a.example %ec\n", "10", 0, false, false, false, 22},
		{"a.example %ed\na.example %rsa\n", "10", 1, false, false, false, 22},
		{"a.example %ed2\na.example %rsa\na.example %rsa\n", "00", 2, false, false, false,
			22},
		{"a.example,192.0.2.1 %ed\n", "10", 0, false, false, false, 22},
		{"a.example,2001:db8::1 %rsa\n", "00", 1, false, false, false, 22},
		{"[a.example]:2222,[192.0.2.1]:2222 %ed\n", "10", 0, false, false, false, 2222},
		{"a.example %rsa\n[a.example]:2222 %ed\n", "10", 0, false, false, false, 2222},
		/* not a line for this host alone */
		{"a.example,b.example %ed\n", "00", 0, true, false, false, 22},
		{"a.example,192.0.2.1,192.0.2.2 %ed\n", "00", 0, true, false, false, 22},
		{"*.example %ed\n", "00", 0, true, false, false, 22},
		{"a.exampl? %rsa\n", "00", 0, true, false, false, 22},
		{"a.example,!b.example %ed\n", "00", 0, true, false, false, 22},
		{"@cert-authority a.example %rsa\na.example %ed\n", "10", 0, true, false, false,
			22},
		{"@cert-authority *.example ssh-dss AAAAB3NzaC1kc3M=\na.example %ed\n", "10", 0,
			true, false, false, 22},
		{"@revoked * %rsa\na.example %ed\n", "10", 0, true, false, false, 22},
		{"@cert-authority b.example %rsa\na.example %ed\n", "10", 0, false, false, false,
			22},
		/* a type that is not built is left alone */
		{"a.example ssh-dss AAAAB3NzaC1kc3M=\na.example %ed\n", "10", 0, false, false,
			false, 22},
		/* known by other names too */
		{"a.example %ed\nb.example %ed\n", "10", 0, false, true, false, 22},
		{"a.example %ed\n192.0.2.1 %ec\n", "10", 0, false, true, false, 22},
		{"a.example %ed\na.example %rsa\nb.example %rsa\n", "10", 1, false, false, true,
			22},
		{"a.example %ed\na.example %rsa\n@revoked b.example %rsa\n", "10", 1, false, false,
			true, 22},
		{"a.example %ed\nb.example %rsa\n", "10", 0, false, false, false, 22},
	};
	for (size_t i = 0; i < ARRAY_N(cases); i++) {
		struct buf file = help_fill_in(cases[i].text);
		struct kh_survey sv = {.old_n = 0};
		struct offered f;
		bool is_old_elsewhere = false;
		offer(&f, ED_EC, cases[i].port);
		assert_ok(kh_survey(buf_bytes(&file), &f.o, &sv));
		assert_ok(kh_old_elsewhere(buf_bytes(&file), &f.o, &sv, &is_old_elsewhere));
		bool is_right = sv.is_known[0] == (cases[i].known[0] == '1') &&
				sv.is_known[1] == (cases[i].known[1] == '1') &&
				sv.old_n == cases[i].old_n &&
				sv.is_complex == cases[i].is_complex &&
				sv.is_elsewhere == cases[i].is_elsewhere &&
				is_old_elsewhere == cases[i].is_old_elsewhere;
		if (!is_right)
			fail_msg("%s", cases[i].text);
		kh_survey_done(&sv);
		offer_done(&f);
		buf_done(&file);
	}
}

static void only_old_lines_of_the_host_go(void **state)
{
	(void)state;
	static const struct {
		const char *before, *after;
		size_t removed;
	} cases[] = {
		{"", "", 0},
		{"a.example %ed\n", "a.example %ed\n", 0},
		{"# words\r\n\r\na.example %rsa\r\nb.example %ec\ngarbage\na.example %ed # mine",
			"# words\r\n\r\nb.example %ec\ngarbage\na.example %ed # mine", 1},
		{"a.example %rsa\na.example %ed\na.example %ed2", "a.example %ed\n", 2},
		{"a.example ssh-dss AAAAB3NzaC1kc3M=\na.example %rsa\n\n",
			"a.example ssh-dss AAAAB3NzaC1kc3M=\n\n", 1},
		{"a.example,192.0.2.1 %rsa\n#a.example %rsa\n", "#a.example %rsa\n", 1},
	};
	for (size_t i = 0; i < ARRAY_N(cases); i++) {
		struct buf before = help_fill_in(cases[i].before);
		struct buf after = help_fill_in(cases[i].after), out;
		struct kh_survey sv = {.old_n = 0};
		struct offered f;
		size_t removed = 77;
		buf_init(&out, 1 << 20);
		offer(&f, ED_EC, 22);
		assert_ok(kh_survey(buf_bytes(&before), &f.o, &sv));
		assert_ok(kh_without_old(buf_bytes(&before), &f.o, &sv, &out, &removed));
		assert_int_equal(removed, cases[i].removed);
		assert_int_equal(out.n, after.n);
		if (after.n > 0)
			assert_memory_equal(out.p, after.p, after.n);
		kh_survey_done(&sv);
		offer_done(&f);
		buf_done(&before);
		buf_done(&after);
		buf_done(&out);
	}
}

static void hashed_lines_are_lines_of_the_host(void **state)
{
	(void)state;
	struct buf file, out;
	struct rng_seeded seeded;
	struct key *old = help_public("rsa_1024"), *same = help_public("ed25519");
	struct kh_survey sv = {.old_n = 0};
	struct offered f;
	size_t removed;
	rng_seeded_init(&seeded, 5);
	buf_init(&file, 65536);
	buf_init(&out, 65536);
	assert_ok(kh_line("b.example", 22, old, &seeded.rng, &file));
	size_t other = file.n;
	assert_ok(kh_line("a.example", 22, old, &seeded.rng, &file));
	offer(&f, ED_EC, 22);
	assert_ok(kh_survey(buf_bytes(&file), &f.o, &sv));
	assert_int_equal(sv.old_n, 1);
	assert_ok(kh_without_old(buf_bytes(&file), &f.o, &sv, &out, &removed));
	assert_int_equal(removed, 1);
	assert_int_equal(out.n, other);
	assert_memory_equal(out.p, file.p, other);
	/* A hash of another name with an offered key: known elsewhere, though nobody can say where.
	 */
	assert_ok(kh_line("c.example", 22, same, &seeded.rng, &file));
	assert_false(sv.is_elsewhere);
	assert_ok(kh_survey(buf_bytes(&file), &f.o, &sv));
	assert_true(sv.is_elsewhere);
	kh_survey_done(&sv);
	offer_done(&f);
	key_free(old);
	key_free(same);
	buf_done(&file);
	buf_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_survey_tells_known_new_and_old),
		cmocka_unit_test(only_old_lines_of_the_host_go),
		cmocka_unit_test(hashed_lines_are_lines_of_the_host),
	};
	return cmocka_run_group_tests(tests, help_init, NULL);
}
