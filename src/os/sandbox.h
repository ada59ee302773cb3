/* SPDX-License-Identifier: ISC */
/* sandbox - what is left to the network process once it has its descriptors */
#ifndef OS_SANDBOX_H
#define OS_SANDBOX_H

#include "base/err.h"

/*
 * Only work on open descriptors, memory, time and randomness remain: no file, no socket, no
 * process, no new descriptor. Another system call ends the process.  The filter is made once (in
 * the zygote) and entered by each child.
 */
struct sandbox;
/* Gives.  A build without filters gives one that sets the limits only. */
MUST err_t sandbox_new(struct sandbox **out);
void sandbox_free(struct sandbox *s);
bool sandbox_has_filter(const struct sandbox *s);
/* For ever, for the calling process. */
MUST err_t sandbox_enter(const struct sandbox *s);

#endif
