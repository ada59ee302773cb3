/* SPDX-License-Identifier: ISC */
/* sshsig - signatures of files: what is signed, and the armoured text (compat 5.5) */
#include "base/text.h"
#include "key/ops.h"
#include "key/sshsig.h"

#define MAGIC    "SSHSIG"
#define VERSION  1
#define BEGIN    "-----BEGIN SSH SIGNATURE-----"
#define END      "-----END SSH SIGNATURE-----"
#define COLUMNS  70
#define TEXT_MAX ((size_t)128 << 10)

err_t sshsig_hash_from_name(struct cslice name, enum hash_id *out)
{
	static const enum hash_id ids[] = {HASH_SHA256, HASH_SHA512};

	for (size_t i = 0; i < ARRAY_N(ids); i++)
		if (cslice_eq_str(name, hash_name(ids[i]))) {
			*out = ids[i];
			return OK;
		}
	return E_NAME;
}

struct cslice sshsig_alg(const struct key *k)
{
	return cslice_str(k->type == KEY_RSA ? "rsa-sha2-512" : key_type_name(k->type));
}

static void put_fields(struct cslice space, enum hash_id hash, struct buf *out)
{
	buf_put_string(out, space);
	buf_put_cstring(out, ""); /* reserved */
	buf_put_cstring(out, hash_name(hash));
}

err_t sshsig_tbs(struct cslice space, enum hash_id hash, const uint8_t *digest, struct buf *out)
{
	if (space.n == 0)
		return E_USAGE;
	buf_put(out, MAGIC, sizeof(MAGIC) - 1);
	put_fields(space, hash, out);
	buf_put_string(out, cslice_of(digest, hash_size(hash)));
	return buf_err(out);
}

static err_t put_body(const struct key *pub, struct cslice space, enum hash_id hash,
	struct cslice sig, struct buf *body)
{
	struct buf blob;

	buf_init(&blob, CERT_BLOB_MAX);
	err_t e = key_blob_any(pub, &blob);
	if (e == OK) {
		buf_put(body, MAGIC, sizeof(MAGIC) - 1);
		buf_put_u32(body, VERSION);
		buf_put_string(body, buf_bytes(&blob));
		put_fields(space, hash, body);
		buf_put_string(body, sig);
		e = buf_err(body);
	}
	buf_done(&blob);
	return e;
}

err_t sshsig_put(const struct key *pub, struct cslice space, enum hash_id hash, struct cslice sig,
	struct buf *out)
{
	struct buf body, text;
	size_t start = out->n;

	buf_init(&body, TEXT_MAX);
	buf_init(&text, TEXT_MAX);
	err_t e = put_body(pub, space, hash, sig, &body);
	base64_encode(&text, buf_bytes(&body));
	if (e == OK)
		e = buf_err(&text);
	buf_printf(out, BEGIN "\n");
	for (size_t at = 0; at < text.n; at += COLUMNS) {
		buf_put(out, text.p + at, num_min(COLUMNS, text.n - at));
		buf_put_u8(out, '\n');
	}
	buf_printf(out, END "\n");
	if (e == OK)
		e = buf_err(out);
	if (e != OK)
		out->n = start;
	buf_done(&text);
	buf_done(&body);
	return e;
}

static err_t unarmour(struct cslice text, struct buf *body)
{
	const uint8_t *begin = NULL, *end = NULL;

	if (text.n > TEXT_MAX)
		return E_LIMIT;
	if (text.n > 0)
		begin = memmem(text.p, text.n, BEGIN, sizeof(BEGIN) - 1);
	if (begin == NULL)
		return E_KEY_FORMAT;
	begin += sizeof(BEGIN) - 1;
	size_t left = text.n - (size_t)(begin - text.p);
	end = memmem(begin, left, END, sizeof(END) - 1);
	if (end == NULL)
		return E_KEY_FORMAT;
	err_t e = base64_decode(body, cslice_of(begin, (size_t)(end - begin)), true);
	return e == E_FORMAT ? E_KEY_FORMAT : e;
}

/* s->body is there; the other fields are filled. */
static err_t parse_body(struct sshsig *s)
{
	struct rd r = rd_of(buf_bytes(&s->body));
	struct cslice magic = rd_take(&r, sizeof(MAGIC) - 1);
	uint32_t version = rd_u32(&r);
	struct cslice blob = rd_str(&r);
	s->space = rd_str(&r);
	(void)rd_str(&r); /* reserved: not looked at, and not signed by us when it is not empty */
	struct cslice hash = rd_str(&r);
	s->sig = rd_str(&r);

	if (rd_end(&r) != OK || !cslice_eq_str(magic, MAGIC) || version != VERSION ||
		s->space.n == 0)
		return E_KEY_FORMAT;
	if (sshsig_hash_from_name(hash, &s->hash) != OK)
		return E_KEY_FORMAT;
	return key_parse_any(&s->pub, blob);
}

err_t sshsig_read(struct sshsig *out, struct cslice text)
{
	struct sshsig s = {.pub = NULL};

	buf_init(&s.body, TEXT_MAX);
	err_t e = unarmour(text, &s.body);
	if (e == OK)
		e = parse_body(&s);
	if (e != OK) {
		sshsig_done(&s);
		return e;
	}
	*out = s;
	return OK;
}

void sshsig_done(struct sshsig *s)
{
	key_free(s->pub);
	s->pub = NULL;
	buf_done(&s->body);
}

err_t sshsig_verify(const struct sshsig *s, struct cslice space, const uint8_t *digest)
{
	struct rd r = rd_of(s->sig);
	struct cslice alg = rd_str(&r);
	struct buf tbs;

	if (!cslice_eq(s->space, space))
		return E_DENIED;
	/* SHA-1 has no place here */
	if (cslice_eq_str(alg, "ssh-rsa"))
		return E_SIGNATURE;
	buf_init(&tbs, TEXT_MAX);
	err_t e = sshsig_tbs(space, s->hash, digest, &tbs);
	if (e == OK)
		e = key_verify(s->pub, cslice_of(NULL, 0), buf_bytes(&tbs), s->sig);
	buf_done(&tbs);
	return e;
}
