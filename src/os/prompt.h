/* SPDX-License-Identifier: ISC */
/*
 * prompt - one line from the person at the terminal
 *
 * Talks to /dev/tty, not to stdin.  Echo is brought back on every way out: end of line, error, and
 * the signals INT, TERM, HUP, QUIT (which are then told) and TSTP (the program stops; the question
 * is asked again afterwards).
 */
#ifndef OS_PROMPT_H
#define OS_PROMPT_H

#include "base/buf.h"

/* Is there a terminal to ask at? */
bool prompt_possible(void);

/*
 * prompt_line - ask, read until the end of the line (not part of the answer), appended to out
 *
 * E_NOT_FOUND: no terminal.  E_CANCELLED: end of file, or a signal, whose number is put into
 * *signo.
 */
MUST err_t prompt_line(const char *question, bool is_echoed, struct buf *out, int *signo);

/* Ends this process by the signal, with its default action. */
void prompt_die(int signo);

#endif
