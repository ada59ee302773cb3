/* SPDX-License-Identifier: ISC */
/*
 * file_sshcom - private RSA keys of the programs of ssh.com, not encrypted
 *
 * Armour with headers, then a magic number, the names of the key type and the cipher, and numbers
 * with their size in bits in front.  Their u is the inverse of p modulo q: with p and q exchanged
 * it is the one that everybody else keeps.
 */
#include "base/text.h"
#include "key/ops.h"

#define BEGIN "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----"
#define END   "---- END SSH2 ENCRYPTED PRIVATE KEY ----"
#define MAGIC 0x3f6ff9ebu

bool key_sshcom_is(struct cslice text)
{
	return text.n >= strlen(BEGIN) && memcmp(text.p, BEGIN, strlen(BEGIN)) == 0;
}

/* RFC 4716 3: headers have a colon, base64 never; "\" at the end of a header goes on. */
err_t key_ssh2_body(struct cslice text, const char *begin, const char *end, struct buf *base64)
{
	struct cslice line = {NULL, 0};
	bool is_inside = false, is_header = false;
	while (key_next_line(&text, &line)) {
		line = key_trim(line);
		if (cslice_eq_str(line, begin)) {
			is_inside = true;
			continue;
		}
		if (!is_inside)
			continue;
		if (cslice_eq_str(line, end))
			return buf_err(base64);
		bool goes_on = line.n > 0 && line.p[line.n - 1] == '\\';
		if (is_header || (line.n > 0 && memchr(line.p, ':', line.n) != NULL))
			is_header = goes_on;
		else
			buf_put(base64, line.p, line.n);
	}
	return is_inside ? E_KEY_NO_END : E_KEY_FORMAT;
}

/* A magnitude: its size in bits, its bytes. */
static struct cslice rd_bits(struct rd *r)
{
	uint32_t bits = rd_u32(r);
	struct cslice s = rd_take(r, (size_t)bits / 8 + (bits % 8 != 0));
	while (s.n > 0 && s.p[0] == 0)
		s = cslice_of(s.p + 1, s.n - 1);
	return s;
}

static err_t fields_make(struct cslice body, struct buf *out)
{
	struct rd r = rd_of(body);
	uint32_t magic = rd_u32(&r);
	(void)rd_u32(&r); /* size of all */
	struct cslice type = rd_str(&r), cipher = rd_str(&r);
	(void)rd_u32(&r); /* sizes of the private section */
	(void)rd_u32(&r);
	if (r.bad)
		return E_KEY_TRUNCATED;
	if (magic != MAGIC)
		return E_KEY_FORMAT;
	if (!cslice_eq_str(cipher, "none"))
		return E_UNSUPPORTED;
	if (type.n == 0 || memmem(type.p, type.n, "rsa", 3) == NULL)
		return E_KEY_TYPE;
	struct cslice e = rd_bits(&r), d = rd_bits(&r), n = rd_bits(&r), u = rd_bits(&r),
		      q = rd_bits(&r), p = rd_bits(&r);
	const struct cslice order[] = {n, e, d, u, p, q};
	if (r.bad)
		return E_KEY_TRUNCATED;
	buf_put_cstring(out, "ssh-rsa");
	for (size_t i = 0; i < ARRAY_N(order); i++)
		buf_put_mpint(out, order[i]);
	return buf_err(out);
}

err_t key_sshcom_read(struct key **out, struct cslice text)
{
	struct buf base64, body, fields;
	buf_init(&base64, KEY_FILE_MAX);
	buf_init(&body, KEY_FILE_MAX);
	buf_init(&fields, KEY_FILE_MAX);
	err_t e = key_ssh2_body(text, BEGIN, END, &base64);
	if (e == OK)
		e = base64_decode(&body, buf_bytes(&base64), true);
	if (e == E_FORMAT)
		e = E_KEY_FORMAT;
	if (e == OK)
		e = fields_make(buf_bytes(&body), &fields);
	struct rd r = rd_of(buf_bytes(&fields));
	if (e == OK)
		e = key_read_private_fields(out, &r);
	buf_done(&fields);
	buf_done(&body);
	buf_done(&base64);
	return e;
}
