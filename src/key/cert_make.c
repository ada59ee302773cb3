/* SPDX-License-Identifier: ISC */
/* cert_make - a certificate from a draft: packed, signed by the authority, and parsed again, so
 * that none leaves here that others would refuse */
#include "base/text.h"
#include "key/ops.h"

#define NONCE_BYTES 32

/* All that is signed. */
static err_t draft_put(
	const struct key *k, const struct cert_draft *d, const struct key *ca, struct buf *out)
{
	struct buf list, ca_blob;
	buf_init(&list, CERT_BLOB_MAX);
	buf_init(&ca_blob, KEY_BLOB_MAX);
	err_t e = key_blob(ca, &ca_blob);
	if (e == OK)
		e = key_ops_of(k->type)->put_public(k, out);
	for (size_t i = 0; i < d->principals_n; i++)
		buf_put_string(&list, d->principals[i]);
	if (e == OK)
		e = buf_err(&list);
	buf_put_u64(out, d->serial);
	buf_put_u32(out, d->kind);
	buf_put_string(out, d->key_id);
	buf_put_string(out, buf_bytes(&list));
	buf_put_u64(out, d->valid_after);
	buf_put_u64(out, d->valid_before);
	buf_put_string(out, d->critical);
	buf_put_string(out, d->extensions);
	buf_put_cstring(out, ""); /* reserved */
	buf_put_string(out, buf_bytes(&ca_blob));
	buf_done(&ca_blob);
	buf_done(&list);
	return e == OK ? buf_err(out) : e;
}

struct waiting {
	struct sign_req req;
	bool is_done;
	err_t verdict;
};

static void signed_now(struct sign_req *req, err_t e)
{
	struct waiting *w = (struct waiting *)req;
	w->is_done = true;
	w->verdict = e;
}

static err_t sign_now(struct signer *ca, struct cslice alg, struct cslice tbs, struct buf *sig)
{
	struct waiting w = {
		.req = {.alg = alg, .tbs = tbs, .sig = sig, .done = signed_now},
		.verdict = E_BUG,
	};
	ca->ops->sign(ca, &w.req);
	return w.is_done ? w.verdict : E_BUG;
}

static struct cslice ca_alg(const struct key *ca, struct cslice wish)
{
	if (wish.n > 0)
		return wish;
	if (ca->type == KEY_RSA)
		return cslice_str("rsa-sha2-512"); /* ssh-rsa would be SHA-1 */
	return cslice_str(key_type_name(ca->type));
}

static err_t blob_make(const struct key *k, const struct cert_draft *d, struct signer *ca,
	struct cslice alg, struct buf *out)
{
	struct buf sig;
	TRY(draft_put(k, d, ca->pub, out));
	buf_init(&sig, KEY_SIG_MAX);
	err_t e = sign_now(ca, ca_alg(ca->pub, alg), buf_bytes(out), &sig);
	if (e == OK) {
		buf_put_string(out, buf_bytes(&sig));
		e = buf_err(out);
	}
	buf_done(&sig);
	return e;
}

err_t cert_sign(struct key *k, const struct cert_draft *d, struct signer *ca, struct cslice alg,
	struct rng *rng)
{
	uint8_t nonce[NONCE_BYTES];
	struct buf blob;
	struct key *made = NULL;
	if (!key_alg_fits(ca->pub->type, ca_alg(ca->pub, alg)))
		return E_NAME;
	rng_fill(rng, nonce, sizeof(nonce));
	buf_init(&blob, CERT_BLOB_MAX);
	buf_put_cstring(&blob, key_type_cert_name(k->type));
	buf_put_string(&blob, cslice_of(nonce, sizeof(nonce)));
	err_t e = blob_make(k, d, ca, alg, &blob);
	if (e == OK)
		e = key_parse_any(&made, buf_bytes(&blob));
	if (e == OK)
		e = key_take_cert(k, made);
	key_free(made);
	buf_done(&blob);
	return e;
}
