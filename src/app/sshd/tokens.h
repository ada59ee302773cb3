/* SPDX-License-Identifier: ISC */
/* tokens - %% %h %U %u of an account in a path of sshd_config (compat 4.4) */
#ifndef APP_SSHD_TOKENS_H
#define APP_SSHD_TOKENS_H

#include "base/buf.h"
#include "os/user.h"

/* Appends the path, without a NUL.  E_CONFIG: another token, or a name that leads elsewhere. */
MUST err_t tokens_expand(const struct os_user *u, const char *pattern, struct buf *out);

#endif
