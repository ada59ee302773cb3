/* SPDX-License-Identifier: ISC */
/*
 * poly1305 - by libipsec-mb
 *
 * There is no direct call for it, only the manager's own job queue, which two threads may not use
 * at once.  Who finds it busy takes libcrypto's instead of waiting.
 */
#include <stdatomic.h>
#include <stdlib.h>

#include <intel-ipsec-mb.h>

#include "crypto/ipsecmb/mb.h"

static atomic_flag queue_busy = ATOMIC_FLAG_INIT;

struct mb_poly1305 {
	IMB_MGR *m;
	struct poly1305 *other;
};

static err_t make(void **out)
{
	IMB_MGR *m = mb_manager();
	if (m == NULL)
		return E_UNSUPPORTED;
	struct mb_poly1305 *p = malloc(sizeof(*p));
	if (p == NULL)
		return E_MEM;
	p->m = m;
	err_t e = poly1305_new(&p->other);
	if (e != OK) {
		free(p);
		return e;
	}
	*out = p;
	return OK;
}

static void drop(void *poly)
{
	struct mb_poly1305 *p = poly;
	if (p == NULL)
		return;
	poly1305_free(p->other);
	free(p);
}

/* One job through the queue, which is empty before and after. */
static err_t run(IMB_MGR *m, const uint8_t key[32], struct cslice msg, uint8_t tag[16])
{
	uint8_t sum[16];
	IMB_JOB *job = IMB_GET_NEXT_JOB(m);
	*job = (IMB_JOB){
		.cipher_mode = IMB_CIPHER_NULL,
		.cipher_direction = IMB_DIR_ENCRYPT,
		.hash_alg = IMB_AUTH_POLY1305,
		.chain_order = IMB_ORDER_HASH_CIPHER,
		.src = msg.p,
		.msg_len_to_hash_in_bytes = msg.n,
		.u.POLY1305._key = key,
		.auth_tag_output = sum,
		.auth_tag_output_len_in_bytes = sizeof(sum),
	};
	IMB_JOB *done = IMB_SUBMIT_JOB_NOCHECK(m);
	bool is_ours = done == job && done->status == IMB_STATUS_COMPLETED;
	job->u.POLY1305._key = NULL;
	job->auth_tag_output = NULL;
	if (!is_ours)
		return E_CRYPTO;
	memcpy(tag, sum, sizeof(sum));
	return OK;
}

static err_t tag(void *poly, const uint8_t key[32], struct cslice msg, uint8_t out[16])
{
	struct mb_poly1305 *p = poly;
	if (atomic_flag_test_and_set_explicit(&queue_busy, memory_order_acquire))
		return poly1305_tag(p->other, key, msg, out);
	err_t e = run(p->m, key, msg, out);
	atomic_flag_clear_explicit(&queue_busy, memory_order_release);
	return e;
}

const struct pick_poly1305 *mb_poly1305(void)
{
	static const struct pick_poly1305 face = {make, drop, tag};
	return mb_runs() ? &face : NULL;
}
