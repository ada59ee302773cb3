/* SPDX-License-Identifier: ISC */
/* moduli - safe primes for the group exchange, from the moduli file or the fixed groups
 * (compat 5.7) */
#include <errno.h>
#include <string.h>

#include "app/sshd/files.h"
#include "app/sshd/monitor.h"
#include "os/random.h"

#define FILE_MAX_  ((size_t)4 * 1024 * 1024)
#define BITS_LEAST 2048
#define BITS_MOST  8192

/* timestamp type tests trials size generator modulus */
struct row {
	struct cslice word[7];
	uint32_t bits;
};

static bool next_line(struct cslice *rest, struct cslice *line)
{
	if (rest->n == 0)
		return false;
	const uint8_t *end = memchr(rest->p, '\n', rest->n);
	size_t n = end != NULL ? (size_t)(end - rest->p) : rest->n;
	*line = cslice_of(rest->p, n);
	*rest = cslice_of(rest->p + n + (end != NULL), rest->n - n - (end != NULL));
	return true;
}

static bool parse_row(struct cslice line, struct row *out)
{
	size_t words = 0, at = 0;
	while (at < line.n && words < 7) {
		while (at < line.n && (line.p[at] == ' ' || line.p[at] == '\t'))
			at++;
		size_t begin = at;
		while (at < line.n && line.p[at] != ' ' && line.p[at] != '\t' && line.p[at] != '\r')
			at++;
		if (at > begin)
			out->word[words++] = cslice_of(line.p + begin, at - begin);
		else
			at++;
	}
	uint32_t tests, bits;
	if (words != 7 || out->word[0].p[0] == '#' || !cslice_eq_str(out->word[1], "2") ||
		text_u32(out->word[2], &tests) != OK || (tests & 4) == 0 || (tests & 1) != 0 ||
		text_u32(out->word[4], &bits) != OK || bits > BITS_MOST)
		return false;
	out->bits = bits + 1;
	/* The modulus must be what the line says. */
	return out->word[6].n == (size_t)(out->bits + 3) / 4;
}

static int nibble(uint8_t c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

static err_t put_hex(struct cslice hex, struct buf *out)
{
	size_t at = hex.n % 2;
	int high = at == 1 ? nibble(hex.p[0]) : 0;
	if (high < 0)
		return E_FORMAT;
	if (at == 1)
		buf_put_u8(out, (uint8_t)high);
	for (; at < hex.n; at += 2) {
		int a = nibble(hex.p[at]), b = nibble(hex.p[at + 1]);
		if (a < 0 || b < 0)
			return E_FORMAT;
		buf_put_u8(out, (uint8_t)(a << 4 | b));
	}
	return buf_err(out);
}

/* The size to use: the smallest that reaches `want`, else the largest of those allowed; 0 = none.
 */
static uint32_t choose_size(struct cslice text, const struct ps_req_moduli *w, size_t *count)
{
	uint32_t best = 0;
	struct cslice line;
	struct row row;
	*count = 0;
	while (next_line(&text, &line)) {
		if (!parse_row(line, &row) || row.bits < w->min || row.bits > w->max ||
			row.bits < BITS_LEAST)
			continue;
		bool is_better = best == 0 || (best < w->want && row.bits > best) ||
				 (row.bits >= w->want && row.bits < best);
		if (is_better && row.bits != best) {
			best = row.bits;
			*count = 0;
		}
		*count += row.bits == best;
	}
	return best;
}

err_t moduli_pick(struct cslice text, const struct ps_req_moduli *want, struct rng *rng,
	struct buf *p, struct buf *g)
{
	size_t count;
	uint32_t size = choose_size(text, want, &count);
	struct cslice line;
	struct row row;
	if (size == 0)
		return E_NOT_FOUND;
	uint32_t skip = rng_below(rng, (uint32_t)count);
	while (next_line(&text, &line)) {
		if (!parse_row(line, &row) || row.bits != size || skip-- > 0)
			continue;
		TRY(put_hex(row.word[6], p));
		return put_hex(row.word[5], g);
	}
	return E_BUG;
}

static err_t fixed_group(const struct ps_req_moduli *want, struct buf *p, struct buf *g)
{
	struct dh *dh;
	enum dh_group id = want->max < 3072   ? DH_GROUP14
			   : want->max < 6144 ? DH_GROUP16
					      : DH_GROUP18;
	if (want->max < BITS_LEAST)
		return E_NOT_FOUND;
	TRY(dh_new_group(&dh, id, 256, os_rng()));
	struct cslice dp = dh_p(dh), dg = dh_g(dh);
	buf_put(p, dp.p, dp.n);
	buf_put(g, dg.p, dg.n);
	dh_free(dh);
	TRY(buf_err(p));
	return buf_err(g);
}

err_t moduli_choose(
	const char *file, const struct ps_req_moduli *want, struct buf *p, struct buf *g)
{
	struct buf text;
	buf_init(&text, FILE_MAX_ + 65536);
	err_t e = file != NULL ? file_read(file, FILE_MAX_, &text) : E_NOT_FOUND;
	if (e != OK) {
		log_put(LOG_L_INFO, "WARNING: could not open %s (%s), using fixed modulus",
			file != NULL ? file : "(none)", errno != 0 ? strerror(errno) : err_text(e));
		e = fixed_group(want, p, g);
	} else {
		e = moduli_pick(buf_bytes(&text), want, os_rng(), p, g);
		if (e == E_NOT_FOUND)
			log_put(LOG_L_ERROR, "WARNING: no suitable primes in %s", file);
	}
	buf_done(&text);
	return e;
}
