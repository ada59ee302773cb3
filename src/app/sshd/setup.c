/* SPDX-License-Identifier: ISC */
/* setup - what a monitor starts from, as one blob between processes; and the warm-ups before a fork
 */
#include "algorithm/alg.h"
#include "app/sshd/account.h"
#include "app/sshd/sshd.h"
#include "base/secret.h"
#include "os/random.h"
#include "wire/codec.h"

enum { SF_STDERR = 1, SF_QUIET = 2, SF_SINGLE = 4 };

void setup_put(const struct setup *s, struct buf *out)
{
	uint32_t flags = (s->log.to_stderr ? SF_STDERR : 0u) | (s->log.is_quiet ? SF_QUIET : 0u) |
			 (s->is_single ? SF_SINGLE : 0u);
	buf_put_u32(out, flags);
	buf_put_u32(out, (uint32_t)(s->log.level + 1));
	buf_put_u32(out, (uint32_t)s->log.facility);
	buf_put(out, s->secret, sizeof(s->secret));
	cfg_lines_put(s->lines, out);
}

err_t setup_get(struct setup *out, struct cslice frozen)
{
	struct setup s = {.lines = NULL};
	struct rd r = rd_of(frozen);
	struct buf why;
	uint32_t flags = rd_u32(&r);
	s.log.level = (enum log_level)((int)rd_u32(&r) - 1);
	s.log.facility = (int)rd_u32(&r);
	struct cslice secret = rd_take(&r, sizeof(s.secret));
	if (r.bad)
		return E_FORMAT;
	memcpy(s.secret, secret.p, sizeof(s.secret));
	s.log.to_stderr = (flags & SF_STDERR) != 0;
	s.log.is_quiet = (flags & SF_QUIET) != 0;
	s.is_single = (flags & SF_SINGLE) != 0;
	TRY(cfg_lines_get(&s.lines, rd_rest(&r)));
	buf_init(&why, 4096);
	err_t e = server_config_eval(&s.global, s.lines, NULL, &conf_env_quiet, &why);
	buf_done(&why);
	if (e != OK) {
		cfg_lines_free(s.lines);
		return e;
	}
	buf_init(&s.typical_hash, 1024);
	*out = s;
	return OK;
}

err_t setup_warm(struct setup *s)
{
	buf_clear(&s->typical_hash);
	TRY(account_typical_hash(&s->typical_hash));
	return warm_crypto();
}

err_t warm_crypto(void)
{
	uint8_t priv[32], pub[32], shared[32], digest[HASH_MAX];
	struct rng *rng = os_rng();
	TRY(crypto_init());
	for (int id = HASH_SHA1; id < HASH_N; id++)
		TRY(hash_once((enum hash_id)id, cslice_of("", 0), digest));
	TRY(x25519_keypair(rng, priv, pub));
	TRY(x25519_shared(priv, pub, shared));
	wipe(priv, sizeof(priv));
	wipe(shared, sizeof(shared));
	return OK;
}
