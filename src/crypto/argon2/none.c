/* SPDX-License-Identifier: ISC */
/* none - a build without libargon2 */
#include "crypto/crypto.h"

bool argon2_is_there(void)
{
	return false;
}

err_t argon2_derive(
	const struct argon2_cost *cost, struct cslice pass, struct cslice salt, struct slice out)
{
	(void)cost;
	(void)pass;
	(void)salt;
	(void)out;
	return E_UNSUPPORTED;
}
