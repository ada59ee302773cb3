/* SPDX-License-Identifier: ISC */
/*
 * title - the words that ps shows for this process
 *
 * The kernel shows the memory where it put the arguments, and goes on into the environment behind
 * them when the last argument's end was written over (Linux).  So both are moved away once, at the
 * start, and the place is written on; children by fork have it too.
 */
#ifndef OS_TITLE_H
#define OS_TITLE_H

#include "base/slice.h"

struct title { /* zero: there is no place, and title_set does nothing */
	char *p;
	size_t n;
};

/*
 * *argv and environ are changed to copies, which live as long as the process.  E_MEM: nothing is
 * changed.  Before threads, and before anybody keeps a pointer into either.
 */
MUST err_t title_take(struct title *out, char ***argv);
/* What does not fit is cut off. */
void title_set(const struct title *t, const char *fmt, ...) PRINTF(2, 3);

#endif
