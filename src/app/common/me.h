/* SPDX-License-Identifier: ISC */
/*
 * me - who runs the program
 *
 * The account is looked up in /etc/passwd itself first: the name service loads libraries and reads
 * files, which costs more than all the cryptography of a login.  Accounts that are not there are
 * asked for in the usual way.
 */
#ifndef APP_COMMON_ME_H
#define APP_COMMON_ME_H

#include "base/err.h"

struct me {
	uint32_t uid;
	char *name, *home; /* owned */
	const char *
		shell; /* $SHELL, or /bin/sh: runs ProxyCommand and Match exec; borrowed for ever */
};

MUST err_t me_load(struct me *out); /* E_NOT_FOUND: the user has no account */
void me_done(struct me *m);
/* The line of a user id in the text of a passwd file: name and home.  For me_load and its test. */
MUST err_t me_find(const char *passwd, size_t n, uint32_t uid, struct me *out);

#endif
