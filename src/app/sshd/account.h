/* SPDX-License-Identifier: ISC */
/* account - accounts looked up in a process of its own */
#ifndef APP_SSHD_ACCOUNT_H
#define APP_SSHD_ACCOUNT_H

#include "base/buf.h"
#include "os/user.h"

/* user_find.  groups: the names of the user's groups, comma separated, appended.  E_NOT_FOUND: no
 * such account; E_IO: the process that asked broke off, so nothing is known. */
MUST err_t account_find(const char *name, struct os_user *out, struct buf *groups);

/* user_typical_hash, NUL-terminated. */
MUST err_t account_typical_hash(struct buf *out);

#endif
