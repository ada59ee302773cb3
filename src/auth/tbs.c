/* SPDX-License-Identifier: ISC */
/* tbs - the bytes that a publickey signature covers; shared with the monitor, which trusts nobody's
 * bytes but its own */
#include "auth/au.h"
#include "auth/au_names.h"

err_t au_tbs_put(const struct au_tbs *tbs, struct buf *out)
{
	bool is_hostbound = tbs->hostkey.n > 0;
	buf_put_string(out, tbs->session_id);
	buf_put_u8(out, SSH_MSG_userauth_request);
	buf_put_string(out, tbs->user);
	buf_put_string(out, tbs->service);
	buf_put_cstring(out, is_hostbound ? AU_PUBLICKEY_HOSTBOUND : AU_PUBLICKEY);
	buf_put_u8(out, 1);
	buf_put_string(out, tbs->alg);
	buf_put_string(out, tbs->blob);
	if (is_hostbound)
		buf_put_string(out, tbs->hostkey);
	return buf_err(out);
}
