/* SPDX-License-Identifier: ISC */
/*
 * moduli - groups for Diffie-Hellman: -M generate finds candidates, -M screen tests them
 *
 * A candidate is a number q such that neither it nor p = 2q + 1 has a small factor: a sieve over a
 * range behind a random start says so.  Screening keeps those where both are prime, with a
 * generator.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "app/ssh-keygen/moduli.h"
#include "os/ev.h"

#define BITS_DEFAULT 3072u
#define BITS_MIN     512u
#define BITS_MAX     16384u
#define SIEVE_N      ((size_t)1 << 23) /* odd numbers behind the start */
#define PRIMES_BELOW ((uint32_t)1 << 20)
#define PRIMES_MAX   90000u
#define TESTS        100u
#define CHECKPOINT_S 300u
#define FILE_MAX     ((size_t)1 << 30)

struct moduli_options {
	uint32_t bits, generator, tests;
	uint64_t lines, start_line;
	const char *start, *checkpoint, *out;
};

/* ---- numbers ---- */
/* n + more; a carry at the front is lost (pick_start). */
static void add(struct moduli_line *l, uint64_t more)
{
	for (size_t i = l->n_n; i-- > 0 && more > 0; more >>= 8) {
		more += l->n[i];
		l->n[i] = (uint8_t)more;
	}
}

/* 2n + 1 */
static bool double_and_one(struct moduli_line *l)
{
	uint8_t carry = 1;
	for (size_t i = l->n_n; i-- > 0;) {
		uint8_t top = l->n[i] >> 7;
		l->n[i] = (uint8_t)(l->n[i] << 1 | carry);
		carry = top;
	}
	if (carry == 0)
		return true;
	if (l->n_n == sizeof(l->n))
		return false;
	memmove(l->n + 1, l->n, l->n_n++);
	l->n[0] = 1;
	return true;
}

/* (n - 1) / 2 of an odd n */
static void halve(struct moduli_line *l)
{
	uint8_t carry = 0;
	for (size_t i = 0; i < l->n_n; i++) {
		uint8_t low = l->n[i] & 1;
		l->n[i] = (uint8_t)(l->n[i] >> 1 | carry << 7);
		carry = low;
	}
	if (l->n_n > 1 && l->n[0] == 0)
		memmove(l->n, l->n + 1, --l->n_n);
}

static struct cslice number(const struct moduli_line *l)
{
	return cslice_of(l->n, l->n_n);
}

/* ---- -M generate ---- */
/* All odd primes below PRIMES_BELOW. */
static size_t small_primes(uint32_t *primes)
{
	uint8_t *composite = calloc(PRIMES_BELOW, 1);
	size_t n = 0;
	if (composite == NULL)
		return 0;
	for (uint32_t i = 3; i < PRIMES_BELOW; i += 2) {
		if (composite[i] != 0)
			continue;
		if (n < PRIMES_MAX)
			primes[n++] = i;
		for (uint64_t k = (uint64_t)i * i; k < PRIMES_BELOW; k += 2 * (uint64_t)i)
			composite[k] = 1;
	}
	free(composite);
	return n;
}

/* q + 2j is divisible by prime when j = (-q) / 2 modulo it; 2(q + 2j) + 1 when j = -(2q + 1) / 4.
 */
static void strike(uint8_t *struck, uint32_t prime, uint32_t remainder)
{
	uint64_t half = (prime + 1) / 2; /* 1/2 */
	uint64_t first = (uint64_t)(prime - remainder) % prime * half % prime;
	uint64_t twice = (2 * (uint64_t)remainder + 1) % prime;
	uint64_t second = (prime - twice) % prime * (half * half % prime) % prime;
	for (uint64_t j = first; j < SIEVE_N; j += prime)
		struck[j] = 1;
	for (uint64_t j = second; j < SIEVE_N; j += prime)
		struck[j] = 1;
}

static err_t sieve(const struct moduli_line *start, uint8_t *struck)
{
	uint32_t *primes = calloc(PRIMES_MAX, sizeof(*primes));
	uint32_t *remainders = calloc(PRIMES_MAX, sizeof(*remainders));
	size_t n = primes != NULL && remainders != NULL ? small_primes(primes) : 0;
	err_t e = n > 0 ? prime_remainders(number(start), primes, n, remainders) : E_MEM;
	for (size_t i = 0; e == OK && i < n; i++)
		strike(struck, primes[i], remainders[i]);
	free(remainders);
	free(primes);
	return e;
}

/* An odd number of bits - 1 bits.  A range that passes the end of this size is next to impossible,
 * and screening takes no number of another size. */
static bool pick_start(const struct moduli_options *m, struct moduli_line *l)
{
	if (m->start != NULL) {
		if (!moduli_number(cslice_str(m->start), l) || moduli_bits(l) != m->bits - 1)
			return false;
		l->n[l->n_n - 1] |= 1;
		return true;
	}
	uint32_t bits = m->bits - 1;
	l->n_n = (bits + 7) / 8;
	rng_fill(os_rng(), l->n, l->n_n);
	l->n[0] = (uint8_t)(l->n[0] & ((1u << ((bits - 1) % 8)) - 1));
	l->n[0] = (uint8_t)(l->n[0] | 1u << ((bits - 1) % 8));
	l->n[l->n_n - 1] |= 1;
	return true;
}

static err_t put_candidates(
	const struct moduli_line *start, const uint8_t *struck, FILE *out, size_t *found)
{
	struct buf line;
	struct moduli_line l = *start;
	uint64_t at = 0;
	err_t e = OK;
	buf_init(&line, 8192);
	for (uint64_t j = 0; e == OK && j < SIEVE_N; j++) {
		if (struck[j] != 0)
			continue;
		add(&l, 2 * (j - at));
		at = j;
		buf_clear(&line);
		e = moduli_put(&l, os_wall_s(), &line);
		if (e == OK && fwrite(line.p, 1, line.n, out) != line.n)
			e = E_IO;
		(*found)++;
	}
	buf_done(&line);
	return e;
}

static err_t generate(const struct moduli_options *m, FILE *out, size_t *found)
{
	struct moduli_line *l = calloc(1, sizeof(*l));
	uint8_t *struck = calloc(SIEVE_N, 1);
	err_t e = l != NULL && struck != NULL ? OK : E_MEM;
	if (e == OK && !pick_start(m, l))
		e = E_USAGE;
	if (e == OK) {
		l->type = MODULI_GERMAIN;
		l->tests = MODULI_SIEVED;
		l->size = m->bits - 2; /* of q, less one */
		e = sieve(l, struck);
	}
	if (e == OK)
		e = put_candidates(l, struck, out, found);
	free(struck);
	free(l);
	return e;
}

/* ---- -M screen ---- */
static err_t find_generator(struct moduli_line *p)
{
	uint32_t by_24, by_12, by_10;
	if (p->generator != 0)
		return OK;
	TRY(prime_remainder(number(p), 24, &by_24));
	TRY(prime_remainder(number(p), 12, &by_12));
	TRY(prime_remainder(number(p), 10, &by_10));
	/* a quadratic residue generates the subgroup of order q */
	if (by_24 == 11)
		p->generator = 2;
	else if (by_12 == 5)
		p->generator = 3;
	else if (by_10 == 3 || by_10 == 7)
		p->generator = 5;
	return OK;
}

/* l: as read; p and its fields after a yes. */
static err_t screen_one(const struct moduli_options *m, struct moduli_line *l, bool *is_good)
{
	struct moduli_line q = *l;
	bool yes = false;
	*is_good = false;
	if ((l->tests & MODULI_COMPOSITE) != 0 || l->tests == 0)
		return OK;
	if (l->type == MODULI_GERMAIN) {
		l->generator = 0;
		l->size++;
		if (!double_and_one(l))
			return OK;
	} else if ((l->n[l->n_n - 1] & 1) == 0) {
		return OK;
	} else {
		halve(&q);
	}
	if (moduli_bits(l) != l->size + 1 || moduli_bits(l) < BITS_MIN)
		return OK;
	TRY(find_generator(l));
	if (l->generator == 0 || (m->generator != 0 && m->generator != l->generator))
		return OK;
	TRY(prime_test(number(&q), 1, &yes));
	if (yes)
		TRY(prime_test(number(l), m->tests, &yes));
	if (yes)
		TRY(prime_test(number(&q), m->tests, &yes));
	if (!yes)
		return OK;
	l->trials = (l->tests & MODULI_MR) != 0 ? l->trials + m->tests : m->tests;
	l->type = MODULI_SAFE;
	l->tests |= MODULI_MR;
	*is_good = true;
	return OK;
}

static uint64_t checkpoint_read(const char *path)
{
	struct buf text;
	uint64_t line = 0;
	if (path == NULL)
		return 0;
	buf_init(&text, 64);
	if (keyfile_read(path, &text) == OK) {
		while (text.n > 0 && (text.p[text.n - 1] == '\n' || text.p[text.n - 1] == ' '))
			text.n--;
		if (text_u64(buf_bytes(&text), &line) != OK)
			line = 0;
	}
	buf_done(&text);
	return line;
}

static void checkpoint_write(const char *path, uint64_t line)
{
	char text[32];
	struct keyfile_staged s = {NULL, NULL};
	int n = snprintf(text, sizeof(text), "%llu\n", (unsigned long long)line);
	if (path == NULL || n < 0)
		return;
	err_t e = keyfile_stage(&s, path, cslice_of(text, (size_t)n), 0644);
	if (e == OK)
		e = keyfile_commit(&s);
	if (e != OK)
		(void)kg_say(0, "%s: %s", path, keyfile_reason(e));
	keyfile_drop(&s);
}

static err_t screen_line(
	const struct moduli_options *m, struct cslice text, FILE *out, size_t *found)
{
	struct moduli_line l;
	struct buf line;
	bool is_good = false;
	if (text.n == 0 || text.p[0] == '#' || !moduli_parse(text, &l))
		return OK;
	TRY(screen_one(m, &l, &is_good));
	if (!is_good)
		return OK;
	buf_init(&line, 8192);
	err_t e = moduli_put(&l, os_wall_s(), &line);
	if (e == OK && (fwrite(line.p, 1, line.n, out) != line.n || fflush(out) != 0))
		e = E_IO;
	buf_done(&line);
	(*found)++;
	return e;
}

static err_t screen(const struct moduli_options *m, FILE *in, FILE *out, size_t *found)
{
	char *text = NULL;
	size_t cap = 0;
	uint64_t at = 0, saved_us = os_monotonic_us();
	uint64_t first = num_max(m->start_line, checkpoint_read(m->checkpoint));
	err_t e = OK;
	for (ssize_t n = getline(&text, &cap, in); e == OK && n > 0; n = getline(&text, &cap, in)) {
		if (m->lines != 0 && at >= first + m->lines)
			break;
		if (at++ < first)
			continue;
		while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r'))
			n--;
		e = screen_line(m, cslice_of(text, (size_t)n), out, found);
		if (e == OK && os_monotonic_us() - saved_us >= CHECKPOINT_S * (uint64_t)1000000) {
			checkpoint_write(m->checkpoint, at);
			saved_us = os_monotonic_us();
		}
	}
	free(text);
	if (e == OK && ferror(in))
		e = E_IO;
	if (e == OK && m->checkpoint != NULL)
		(void)unlink(m->checkpoint); /* done: nothing to go on with */
	return e;
}

/* ---- the mode ---- */
static int parse_option(struct moduli_options *m, const char *text, bool is_screen)
{
	const struct {
		const char *name;
		bool for_screen;
		uint32_t *u32;
		uint64_t *u64;
		const char **words;
	} rows[] = {
		{"bits=", false, &m->bits, NULL, NULL},
		{"start=", false, NULL, NULL, &m->start},
		{"lines=", true, NULL, &m->lines, NULL},
		{"start-line=", true, NULL, &m->start_line, NULL},
		{"checkpoint=", true, NULL, NULL, &m->checkpoint},
		{"generator=", true, &m->generator, NULL, NULL},
		{"prime-tests=", true, &m->tests, NULL, NULL},
	};
	for (size_t i = 0; i < ARRAY_N(rows); i++) {
		size_t n = strlen(rows[i].name);
		if (rows[i].for_screen != is_screen || strncmp(text, rows[i].name, n) != 0)
			continue;
		struct cslice value = cslice_str(text + n);
		err_t e = OK;
		if (rows[i].u32 != NULL)
			e = text_u32(value, rows[i].u32);
		else if (rows[i].u64 != NULL)
			e = text_u64(value, rows[i].u64);
		else
			*rows[i].words = text + n;
		return e == OK ? KG_OK : kg_say(KG_FATAL, "Invalid number in -O %s", text);
	}
	return kg_say(KG_FATAL, "Unsupported moduli option %s", text);
}

static int parse_options(const struct kg_options *o, struct moduli_options *m, bool is_screen)
{
	for (size_t i = 0; i < o->options_n; i++) {
		int state = parse_option(m, o->options[i], is_screen);
		if (state != KG_OK)
			return state;
	}
	if (m->bits < BITS_MIN || m->bits > BITS_MAX)
		return kg_say(KG_FATAL, "Invalid number of bits: %u to %u are possible", BITS_MIN,
			BITS_MAX);
	if (m->tests < 4)
		return kg_say(KG_FATAL, "Too few prime tests: at least 4");
	return KG_OK;
}

static int run(const struct kg_options *o, const struct moduli_options *m, bool is_screen)
{
	bool from_stdin = o->file == NULL || strcmp(o->file, "-") == 0;
	FILE *in = !is_screen ? NULL : from_stdin ? stdin : fopen(o->file, "re");
	size_t found = 0;
	if (is_screen && in == NULL)
		return kg_say(
			KG_FATAL, "Couldn't open moduli file \"%s\": %s", o->file, strerror(errno));
	FILE *out = strcmp(m->out, "-") == 0 ? stdout : fopen(m->out, is_screen ? "ae" : "we");
	int state = KG_OK;
	if (out == NULL)
		state = kg_say(KG_FATAL, "Couldn't open moduli output file \"%s\": %s", m->out,
			strerror(errno));
	err_t e = state != KG_OK ? OK
		  : is_screen    ? screen(m, in, out, &found)
				 : generate(m, out, &found);
	if (out != NULL && fflush(out) != 0 && e == OK)
		e = E_IO;
	if (e == E_USAGE)
		state = kg_say(KG_FATAL, "Invalid start: a number of %u bits in hex is needed",
			m->bits - 1);
	else if (e != OK)
		state = kg_say(KG_FATAL, "%s: %s", m->out, keyfile_reason(e));
	else if (state == KG_OK && !o->quiet)
		(void)kg_say(
			0, is_screen ? "%zu safe primes found" : "%zu candidates found", found);
	if (out != NULL && out != stdout && fclose(out) != 0 && state == KG_OK)
		state = kg_say(KG_FATAL, "%s: %s", m->out, strerror(errno));
	if (in != NULL && in != stdin)
		(void)fclose(in);
	return state;
}

int kg_moduli(struct kg_options *o, char **files, size_t files_n)
{
	bool is_screen = strcmp(o->moduli, "screen") == 0;
	struct moduli_options m = {.bits = BITS_DEFAULT, .tests = TESTS, .out = "-"};
	if (!is_screen && strcmp(o->moduli, "generate") != 0)
		return kg_say(KG_FATAL, "Unsupported moduli action %s", o->moduli);
	if (files_n > 1)
		return kg_say(KG_USAGE, "Too many arguments: one file takes the output.");
	if (files_n == 1)
		m.out = files[0];
	else if (!is_screen)
		return kg_say(KG_USAGE, "No output file: ssh-keygen -M generate FILE");
	if (o->bits != NULL && text_u32(cslice_str(o->bits), &m.bits) != OK)
		return kg_say(KG_FATAL, "Bits has bad value %s (invalid)", o->bits);
	if (o->rounds != NULL)
		m.tests = o->write.rounds;
	int state = parse_options(o, &m, is_screen);
	return state == KG_OK ? run(o, &m, is_screen) : state;
}
