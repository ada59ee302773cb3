/* SPDX-License-Identifier: ISC */
/*
 * keychain - where passphrases are remembered: one small face, one row a place
 *
 * The Secret Service on Linux (by the helper ssh-keychain, so that no program of the suite links
 * its library), the keychain on macOS, the kernel keyring for one session.  BOWLINE_KEYCHAIN names
 * the place: secret-service, macos, kernel or none; without it the first one that is built in is
 * used, the kernel keyring only by name.
 *
 * Everything here blocks; a place that asks the person to unlock it does so itself.  The account is
 * the absolute path of the key file, links resolved.
 */
#ifndef APP_COMMON_KEYCHAIN_H
#define APP_COMMON_KEYCHAIN_H

#include "base/buf.h"

#define KEYCHAIN_SECRET_MAX 8192

/* E_NOT_FOUND: nothing is remembered for it.  E_UNSUPPORTED: no place is built in or answers here;
 * why (may be NULL) says so in one sentence.  Appended; the caller wipes. */
MUST err_t keychain_get(const char *path, struct buf *passphrase, struct buf *why);
MUST err_t keychain_put(const char *path, struct cslice passphrase, struct buf *why);
MUST err_t keychain_forget(const char *path, struct buf *why); /* E_NOT_FOUND */
/* Each file that a passphrase is remembered for. */
typedef void keychain_path_fn(void *arg, const char *path);
MUST err_t keychain_each(keychain_path_fn *fn, void *arg, struct buf *why);
/* "Secret Service", "macOS keychain", "kernel keyring": the place in use, or NULL. */
const char *keychain_name(void);

/* ---- a place: for the rows only -----------------------------------------------------------------
 */
struct keychain_place {
	const char *name, *shown;
	bool by_name_only;
	/* account: without control characters.  why: never NULL.  each: fn is called for each
	 * account. */
	err_t (*get)(const char *account, struct buf *passphrase, struct buf *why);
	err_t (*put)(const char *account, struct cslice passphrase, struct buf *why);
	err_t (*forget)(const char *account, struct buf *why);
	err_t (*each)(keychain_path_fn *fn, void *arg, struct buf *why);
};
extern const struct keychain_place keychain_secret_service, keychain_kernel, keychain_macos;

#endif
