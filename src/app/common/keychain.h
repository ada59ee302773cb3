/* SPDX-License-Identifier: ISC */
/*
 * keychain - where passphrases are remembered: one small face, one row a place
 *
 * The Secret Service (libsecret) on Linux, the keychain on macOS, the kernel keyring for one
 * session. Everything here blocks; a place that asks the person to unlock it does so itself.  The
 * account is the absolute path of the key file.
 */
#ifndef APP_COMMON_KEYCHAIN_H
#define APP_COMMON_KEYCHAIN_H

#include "base/buf.h"

/* E_NOT_FOUND: nothing is remembered for it.  E_UNSUPPORTED: no place is built in or answers here;
 * why (may be NULL) says so in one sentence.  Appended; the caller wipes. */
MUST err_t keychain_get(const char *path, struct buf *passphrase, struct buf *why);
MUST err_t keychain_put(const char *path, struct cslice passphrase, struct buf *why);
MUST err_t keychain_forget(const char *path, struct buf *why); /* E_NOT_FOUND */
/* "Secret Service", "macOS keychain", "kernel keyring": the place in use, or NULL. */
const char *keychain_name(void);

#endif
