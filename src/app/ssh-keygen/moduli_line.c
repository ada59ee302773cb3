/* SPDX-License-Identifier: ISC */
/* moduli_line - one line of a moduli file: time type tests trials size generator modulus */
#include <time.h>

#include "app/ssh-keygen/moduli.h"

static bool next_word(struct cslice *rest, struct cslice *word)
{
	while (rest->n > 0 && (rest->p[0] == ' ' || rest->p[0] == '\t'))
		*rest = cslice_of(rest->p + 1, rest->n - 1);
	size_t n = 0;
	while (n < rest->n && rest->p[n] != ' ' && rest->p[n] != '\t' && rest->p[n] != '\r')
		n++;
	*word = cslice_of(rest->p, n);
	*rest = cslice_of(rest->p + n, rest->n - n);
	return n > 0;
}

static int digit(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool moduli_number(struct cslice hex, struct moduli_line *out)
{
	while (hex.n > 0 && hex.p[0] == '0')
		hex = cslice_of(hex.p + 1, hex.n - 1);
	if (hex.n == 0 || hex.n > 2 * sizeof(out->n))
		return false;
	out->n_n = (hex.n + 1) / 2;
	for (size_t i = 0; i < out->n_n; i++)
		out->n[i] = 0;
	for (size_t i = 0; i < hex.n; i++) {
		int v = digit(hex.p[hex.n - 1 - i]);
		if (v < 0)
			return false;
		uint8_t *at = &out->n[out->n_n - 1 - i / 2];
		*at = (uint8_t)(*at | (i % 2 == 0 ? v : v << 4));
	}
	return true;
}

uint32_t moduli_bits(const struct moduli_line *l)
{
	uint32_t top = 8;
	if (l->n_n == 0)
		return 0;
	while (top > 0 && (l->n[0] >> (top - 1)) == 0)
		top--;
	return (uint32_t)(l->n_n - 1) * 8 + top;
}

bool moduli_parse(struct cslice text, struct moduli_line *out)
{
	struct cslice word;
	uint64_t time;
	uint32_t *const numbers[] = {&out->type, &out->tests, &out->trials, &out->size};
	if (!next_word(&text, &word) || text_u64(word, &time) != OK)
		return false;
	for (size_t i = 0; i < ARRAY_N(numbers); i++)
		if (!next_word(&text, &word) || text_u32(word, numbers[i]) != OK)
			return false;
	out->generator = 0;
	if (!next_word(&text, &word) || word.n > 7)
		return false;
	for (size_t i = 0; i < word.n; i++) {
		int v = digit(word.p[i]);
		if (v < 0)
			return false;
		out->generator = out->generator << 4 | (uint32_t)v;
	}
	return next_word(&text, &word) && moduli_number(word, out);
}

err_t moduli_put(const struct moduli_line *l, uint64_t now_s, struct buf *out)
{
	char when[32];
	struct tm tm;
	time_t t = (time_t)now_s;
	if (gmtime_r(&t, &tm) == NULL || strftime(when, sizeof(when), "%Y%m%d%H%M%S", &tm) == 0)
		return E_LIMIT;
	buf_printf(out, "%s %u %u %u %u %x ", when, l->type, l->tests, l->trials, l->size,
		l->generator);
	for (size_t i = 0; i < l->n_n; i++)
		buf_printf(out, i == 0 && l->n[0] < 16 ? "%X" : "%02X", l->n[i]);
	buf_put_u8(out, '\n');
	return buf_err(out);
}
