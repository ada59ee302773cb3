/* SPDX-License-Identifier: ISC */
/*
 * argon2 - the key derivation of newer PuTTY key files, by libargon2
 *
 * A file names its own cost: what is out of bounds is refused before any memory is taken.  One
 * thread does the work of all lanes.
 */
#include <argon2.h>

#include "crypto/crypto.h"

bool argon2_is_there(void)
{
	return true;
}

static bool is_affordable(const struct argon2_cost *c)
{
	if (c->lanes == 0 || c->lanes > ARGON2_LANES_MOST || c->passes == 0)
		return false;
	if (c->memory_kib < 8 * c->lanes || c->memory_kib > ARGON2_MEMORY_MOST)
		return false;
	return (uint64_t)c->memory_kib * c->passes <= ARGON2_WORK_MOST;
}

err_t argon2_derive(
	const struct argon2_cost *cost, struct cslice pass, struct cslice salt, struct slice out)
{
	static const argon2_type types[] = {[ARGON2_KIND_D] = Argon2_d,
		[ARGON2_KIND_I] = Argon2_i,
		[ARGON2_KIND_ID] = Argon2_id};
	if (!is_affordable(cost))
		return E_LIMIT;
	if (salt.n < ARGON2_MIN_SALT_LENGTH || salt.n > ARGON2_SALT_MOST || pass.n > UINT32_MAX)
		return E_KEY_FORMAT;
	argon2_context x = {
		.out = out.p,
		.outlen = (uint32_t)out.n,
		/* the library takes them without const, and writes to neither without its flags */
		.pwd = (uint8_t *)(uintptr_t)pass.p,
		.pwdlen = (uint32_t)pass.n,
		.salt = (uint8_t *)(uintptr_t)salt.p,
		.saltlen = (uint32_t)salt.n,
		.t_cost = cost->passes,
		.m_cost = cost->memory_kib,
		.lanes = cost->lanes,
		.threads = 1,
		.version = ARGON2_VERSION_13,
	};
	int done = argon2_ctx(&x, types[cost->kind]);
	if (done == ARGON2_MEMORY_ALLOCATION_ERROR)
		return E_MEM;
	return done == ARGON2_OK ? OK : E_CRYPTO;
}
