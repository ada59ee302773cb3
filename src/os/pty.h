/* SPDX-License-Identifier: ISC */
/* pty - pseudo terminals: made by the monitor, given to the user, used by the session */
#ifndef OS_PTY_H
#define OS_PTY_H

#include <termios.h>

#include "base/err.h"

#define PTY_NAME_MAX 64

/* Both ends close-on-exec; name: the path of the slave. */
MUST err_t pty_open(int *master, int *slave, char name[PTY_NAME_MAX]);
/* The slave becomes the user's (mode 0620 where there is a group tty, else 0600). */
/* There is no taking back: the node goes with the master, and its name may be another's by then. */
MUST err_t pty_give(const char *name, uint32_t uid, uint32_t gid);

void pty_resize(int fd, uint32_t cols, uint32_t rows, uint32_t xpixel, uint32_t ypixel);

/* In a child that is to have the terminal: a session of its own with the slave as its controlling
 * terminal. */
MUST err_t pty_make_controlling(int slave);

/* One mode of RFC 4254 8 into t; false when this machine does not know it. */
bool pty_mode_apply(struct termios *t, uint8_t opcode, uint32_t value);

#endif
