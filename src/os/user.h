/* SPDX-License-Identifier: ISC */
/* user - accounts: passwd, groups and shadow; acting as a user, becoming one */
#ifndef OS_USER_H
#define OS_USER_H

#include <sys/types.h>

#include "base/buf.h"

enum user_expiry { USER_EXPIRED = 0, USER_PASSWORD_EXPIRED, USER_CURRENT };

struct os_user {
	char *name, *home, *shell; /* owned */
	char *hash; /* the password field, from shadow where there is one; owned, wiped */
	uint32_t uid, gid;
	gid_t *groups; /* owned */
	size_t groups_n;
	enum user_expiry expiry;
};

/* E_NOT_FOUND: no such account.  Groups, shadow and expiry are looked up as far as this process may
 * read them. */
MUST err_t user_find(const char *name, struct os_user *out);
MUST err_t user_find_uid(uint32_t uid, struct os_user *out);
void user_done(struct os_user *u);
/* The hash becomes one that no password fits. */
void user_forget_hash(struct os_user *u);

/* Names of the user's groups, comma separated (Match Group). */
MUST err_t user_group_names(const struct os_user *u, struct buf *out);

/* The setting of the first usable hash of the machine, so that a made-up check costs the same; else
 * a default. */
MUST err_t user_typical_hash(struct buf *out);

/* Becomes the user for ever (groups, gid, uid) and checks that there is no way back.  Nothing but a
 * check when not root. */
MUST err_t user_become(const struct os_user *u);

/* File access as the user for a while, and back.  Nothing when not root.  A failure of end is fatal
 * to the caller. */
struct user_saved {
	bool is_active;
	gid_t gid;
	gid_t groups[64];
	int groups_n;
};
MUST err_t user_act_begin(const struct os_user *u, struct user_saved *saved);
MUST err_t user_act_end(struct user_saved *saved);

/*
 * user_password_check - does the password fit the stored hash?
 *
 * OK is the only yes.  A field that is not a well-formed hash ('*', '!', 'x', '*0', '', 'LK' ...)
 * never fits, nor does a failure of crypt(3), whatever it returns.  The work is the same for every
 * field: where it is no hash, `typical` is used.
 */
MUST err_t user_password_check(const char *hash, const char *typical, struct cslice password);
bool user_hash_is_wellformed(const char *hash);

#endif
