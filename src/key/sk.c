/* SPDX-License-Identifier: ISC */
/*
 * sk - keys whose private half lives in a FIDO device: sk-ssh-ed25519 and sk-ecdsa-sha2-nistp256
 *
 * A key of one of the plain types with an application behind it.  The device signs a frame that it
 * makes itself: hash of the application, flags, counter, hash of the message.  What a browser signs
 * (the signature name webauthn-sk-...) has the message inside a JSON text, and that text must be
 * the one that a browser writes, from its first byte on: a frame that says something else first is
 * a signature for something else.
 */
#include <stdlib.h>

#include "base/text.h"
#include "key/ops.h"

#define APPLICATION_MAX ((size_t)4 << 10)
#define HANDLE_MAX      ((size_t)64 << 10)
#define CLIENT_DATA_MAX ((size_t)512 << 10)
#define WEBAUTHN        "webauthn-sk-ecdsa-sha2-nistp256@openssh.com"

/* Authenticator data (WebAuthn 6.1): a signature over a login never has attested credentials. */
#define FLAG_ATTESTED   0x40
#define FLAG_EXTENSIONS 0x80

struct key_sk {
	struct buf application, handle, reserved;
	uint8_t flags;
};

static const struct key_ops *plain_ops(const struct key *k)
{
	return k->type == KEY_SK_ED25519 ? &key_ops_ed25519 : &key_ops_ecdsa;
}

void key_sk_free(struct key_sk *sk)
{
	if (sk == NULL)
		return;
	buf_done(&sk->reserved);
	buf_done(&sk->handle);
	buf_done(&sk->application);
	free(sk);
}

static err_t keep(struct buf *b, struct cslice s)
{
	buf_put(b, s.p, s.n);
	return buf_err(b);
}

static err_t read_public(struct key *k, struct rd *r)
{
	TRY(plain_ops(k)->read_public(k, r));
	struct cslice application = rd_text(r);
	if (r->bad)
		return E_KEY_FORMAT;
	struct key_sk *sk = calloc(1, sizeof(*sk));
	if (sk == NULL)
		return E_MEM;
	buf_init(&sk->application, APPLICATION_MAX);
	buf_init(&sk->handle, HANDLE_MAX);
	buf_init(&sk->reserved, HANDLE_MAX);
	k->sk = sk;
	return keep(&sk->application, application);
}

static err_t put_public(const struct key *k, struct buf *out)
{
	TRY(plain_ops(k)->put_public(k, out));
	buf_put_string(out, buf_bytes(&k->sk->application));
	return buf_err(out);
}

/* "Private" is what the device needs to find the key: nothing of it signs without the device. */
static err_t read_device(struct key *k, struct rd *r)
{
	k->sk->flags = rd_u8(r);
	struct cslice handle = rd_str(r);
	struct cslice reserved = rd_str(r);
	if (r->bad)
		return E_KEY_FORMAT;
	TRY(keep(&k->sk->handle, handle));
	return keep(&k->sk->reserved, reserved);
}

static err_t read_private(struct key *k, struct rd *r)
{
	TRY(read_public(k, r));
	return read_device(k, r);
}

/* Behind a certificate the application stands once more. */
static err_t read_private_rest(struct key *k, struct rd *r)
{
	struct cslice application = rd_str(r);
	if (r->bad || !cslice_eq(application, buf_bytes(&k->sk->application)))
		return E_KEY_FORMAT;
	return read_device(k, r);
}

static err_t put_device(const struct key *k, struct buf *out)
{
	buf_put_u8(out, k->sk->flags);
	buf_put_string(out, buf_bytes(&k->sk->handle));
	buf_put_string(out, buf_bytes(&k->sk->reserved));
	return buf_err(out);
}

static err_t put_private(const struct key *k, struct buf *out)
{
	TRY(put_public(k, out));
	return put_device(k, out);
}

static err_t put_private_rest(const struct key *k, struct buf *out)
{
	buf_put_string(out, buf_bytes(&k->sk->application));
	return put_device(k, out);
}

static err_t generate(struct key *k, uint32_t bits, struct rng *rng)
{
	(void)k;
	(void)bits;
	(void)rng;
	return E_KEY_DEVICE;
}

static err_t sign(const struct key *k, enum hash_id h, struct cslice tbs, struct buf *raw)
{
	(void)k;
	(void)h;
	(void)tbs;
	(void)raw;
	return E_KEY_DEVICE;
}

struct frame { /* what came behind the signature proper */
	uint8_t flags;
	uint32_t counter;
	struct cslice origin, client_data, extensions;
};

/* hash(application) || flags || counter || extensions || hash(what): the last two as the caller has
 * them. */
static err_t verify_frame(
	const struct key *k, const struct frame *f, struct cslice what, struct cslice raw)
{
	uint8_t hash[32];
	struct buf m;
	buf_init(&m, CLIENT_DATA_MAX);
	err_t e = hash_once(HASH_SHA256, buf_bytes(&k->sk->application), hash);
	buf_put(&m, hash, sizeof(hash));
	buf_put_u8(&m, f->flags);
	buf_put_u32(&m, f->counter);
	buf_put(&m, f->extensions.p, f->extensions.n);
	if (e == OK)
		e = hash_once(HASH_SHA256, what, hash);
	buf_put(&m, hash, sizeof(hash));
	if (e == OK)
		e = buf_err(&m);
	if (e == OK)
		e = plain_ops(k)->verify(k, HASH_SHA256, buf_bytes(&m), raw);
	buf_done(&m);
	return e;
}

/* RFC4648 5, without padding. */
static void put_base64url(struct buf *out, struct cslice in)
{
	size_t start = out->n;
	base64_encode(out, in);
	if (out->err != OK)
		return;
	while (out->n > start && out->p[out->n - 1] == '=')
		out->n--;
	for (size_t i = start; i < out->n; i++)
		out->p[i] = out->p[i] == '+' ? '-' : out->p[i] == '/' ? '_' : out->p[i];
}

/* {"type":"webauthn.get","challenge":"...","origin":"..." then the end or more members (WebAuthn
 * 5.8.1.2: the order is fixed, so that it can be checked without parsing). */
static err_t client_data_check(const struct frame *f, struct cslice tbs)
{
	struct buf want;
	if (f->origin.n > 0 && memchr(f->origin.p, '"', f->origin.n) != NULL)
		return E_SIGNATURE;
	buf_init(&want, CLIENT_DATA_MAX);
	buf_printf(&want, "{\"type\":\"webauthn.get\",\"challenge\":\"");
	put_base64url(&want, tbs);
	buf_printf(&want, "\",\"origin\":\"");
	buf_put(&want, f->origin.p, f->origin.n);
	buf_put_u8(&want, '"');
	err_t e = buf_err(&want);
	struct cslice got = f->client_data;
	if (e == OK) {
		bool begins = got.n > want.n && memcmp(got.p, want.p, want.n) == 0;
		bool goes_on = begins && (got.p[want.n] == ',' || got.p[want.n] == '}');
		e = goes_on && got.p[got.n - 1] == '}' ? OK : E_SIGNATURE;
	}
	buf_done(&want);
	return e;
}

err_t key_sk_verify(
	const struct key *k, const struct key_sk_signature *s, struct key_sig_info *info)
{
	struct frame f = {.flags = 0};
	struct rd r = rd_of(s->rest);
	bool is_webauthn = cslice_eq_str(s->name, WEBAUTHN);
	f.flags = rd_u8(&r);
	f.counter = rd_u32(&r);
	if (is_webauthn) {
		f.origin = rd_text(&r);
		f.client_data = rd_text(&r);
		f.extensions = rd_str(&r);
	}
	if (rd_end(&r) != OK)
		return E_SIGNATURE;
	if (is_webauthn) {
		bool says_extensions = (f.flags & FLAG_EXTENSIONS) != 0;
		if ((f.flags & FLAG_ATTESTED) != 0 || says_extensions != (f.extensions.n > 0))
			return E_SIGNATURE;
		TRY(client_data_check(&f, s->tbs));
	}
	TRY(verify_frame(k, &f, is_webauthn ? f.client_data : s->tbs, s->raw));
	*info = (struct key_sig_info){true, (f.flags & KEY_SK_TOUCH) != 0,
		(f.flags & KEY_SK_PIN) != 0, f.flags, f.counter};
	return OK;
}

static err_t verify(const struct key *k, enum hash_id h, struct cslice tbs, struct cslice raw)
{
	(void)k;
	(void)h;
	(void)tbs;
	(void)raw;
	return E_SIGNATURE; /* never without flags and counter: key_sk_verify */
}

static uint32_t bits(const struct key *k)
{
	(void)k;
	return 256;
}

struct cslice key_sk_application(const struct key *k)
{
	return k->sk != NULL ? buf_bytes(&k->sk->application) : cslice_of(NULL, 0);
}

uint8_t key_sk_flags(const struct key *k)
{
	return k->sk != NULL ? k->sk->flags : 0;
}

void key_sk_set_flags(struct key *k, uint8_t flags)
{
	if (k->sk != NULL)
		k->sk->flags = flags;
}

const struct key_ops key_ops_sk = {
	.read_public = read_public,
	.put_public = put_public,
	.read_private = read_private,
	.put_private = put_private,
	.read_private_rest = read_private_rest,
	.put_private_rest = put_private_rest,
	.generate = generate,
	.sign = sign,
	.verify = verify,
	.bits = bits,
};
