/* SPDX-License-Identifier: ISC */
/* drop - giving up what a process does not need: root directory, identity, being looked at */
#ifndef OS_DROP_H
#define OS_DROP_H

#include "base/err.h"

/* No core dump, no ptrace by the same user, and no exec that gains rights when no_new_privs. */
void drop_dumpable(void);
MUST err_t drop_new_privs(void);

/*
 * drop_into_empty_root - chroot into a directory with nothing in it
 *
 * The first of /var/empty and /run/sshd that is root's, not writable by others and empty; else a
 * directory made for it and removed again at once, so that nothing can ever be put there.  Needs
 * root.
 */
MUST err_t drop_into_empty_root(void);

/* Becomes uid and gid for ever, without other groups, and checks that there is no way back.  Needs
 * root. */
MUST err_t drop_identity(uint32_t uid, uint32_t gid);

/* The account of the network process: sshd's where there is one, else nobody's, else 65534. */
void drop_net_account(uint32_t *uid, uint32_t *gid);

#endif
