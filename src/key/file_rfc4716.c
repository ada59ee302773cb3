/* SPDX-License-Identifier: ISC */
/* file_rfc4716 - public keys as RFC 4716 has them: lines of at most 72 bytes, headers that go on */
#include "base/text.h"
#include "key/ops.h"

#define BEGIN   "---- BEGIN SSH2 PUBLIC KEY ----"
#define END     "---- END SSH2 PUBLIC KEY ----"
#define COLUMNS 70 /* of base64 */
#define LINE    72 /* RFC4716 3.2: bytes of a line without its end */

bool key_rfc4716_is(struct cslice text)
{
	return text.n >= strlen(BEGIN) && memmem(text.p, text.n, BEGIN, strlen(BEGIN)) != NULL;
}

err_t key_parse_rfc4716(struct key **out, struct cslice text)
{
	struct buf base64, blob;
	buf_init(&base64, KEY_FILE_MAX);
	buf_init(&blob, KEY_FILE_MAX);
	err_t e = key_ssh2_body(text, BEGIN, END, &base64);
	if (e == OK)
		e = base64_decode(&blob, buf_bytes(&base64), true);
	if (e == E_FORMAT)
		e = E_KEY_FORMAT;
	if (e == OK)
		e = key_parse_blob(out, buf_bytes(&blob));
	buf_done(&blob);
	buf_done(&base64);
	return e;
}

/* A line that is too long ends in "\" and goes on. */
static void put_header(struct buf *out, struct cslice line)
{
	while (line.n > LINE) {
		buf_put(out, line.p, LINE - 1);
		buf_put(out, "\\\n", 2);
		line = cslice_of(line.p + LINE - 1, line.n - (LINE - 1));
	}
	buf_put(out, line.p, line.n);
	buf_put_u8(out, '\n');
}

err_t key_public_rfc4716(const struct key *k, const char *comment, struct buf *out)
{
	struct buf blob, text, header;
	size_t start = out->n;
	buf_init(&blob, KEY_BLOB_MAX);
	buf_init(&text, KEY_FILE_MAX);
	buf_init(&header, KEY_COMMENT_MAX);
	err_t e = key_blob(k, &blob);
	base64_encode(&text, buf_bytes(&blob));
	buf_printf(&header, "Comment: \"%s\"", comment);
	buf_printf(out, BEGIN "\n");
	put_header(out, buf_bytes(&header));
	for (size_t at = 0; at < text.n; at += COLUMNS) {
		buf_put(out, text.p + at, num_min(COLUMNS, text.n - at));
		buf_put_u8(out, '\n');
	}
	buf_printf(out, END "\n");
	if (e == OK)
		e = buf_err(&text);
	if (e == OK)
		e = buf_err(&header);
	if (e == OK)
		e = buf_err(out);
	if (e != OK)
		out->n = start;
	buf_done(&header);
	buf_done(&text);
	buf_done(&blob);
	return e;
}
