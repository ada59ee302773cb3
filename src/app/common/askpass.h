/* SPDX-License-Identifier: ISC */
/* askpass - secrets from the person: terminal, the program of SSH_ASKPASS, or a script's standard
 * input (compat 8.5) */
#ifndef APP_COMMON_ASKPASS_H
#define APP_COMMON_ASKPASS_H

#include "base/buf.h"

/* Does the program of SSH_ASKPASS ask, by SSH_ASKPASS_REQUIRE and where there is a display?
 * has_terminal: could be asked there. */
bool askpass_wanted(bool has_terminal);
/* The first line of its answer, appended.  E_CANCELLED: it ended with another status than 0.
 * is_permission: "yes" may be an empty line. */
MUST err_t askpass_run(const char *question, bool is_permission, struct buf *answer);
/*
 * askpass_secret - for programs that scripts feed: the program where it is wanted (no terminal is
 * one whose standard input is none), then the terminal, then a line of standard input
 *
 * A signal at the question ends this process.
 */
MUST err_t askpass_secret(const char *question, struct buf *answer);

#endif
