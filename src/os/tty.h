/* SPDX-License-Identifier: ISC */
/*
 * tty - the user's terminal: raw mode, size, modes as SSH writes them
 *
 * tty_raw_enter remembers what was; tty_raw_leave brings it back and may be called any number of
 * times, from every way out.
 */
#ifndef OS_TTY_H
#define OS_TTY_H

#include <termios.h>

#include "base/buf.h"

struct tty_raw {
	int fd;
	bool is_raw;
	struct termios before;
};

void tty_raw_init(struct tty_raw *t, int fd);
/* E_IO when fd is no terminal. */
MUST err_t tty_raw_enter(struct tty_raw *t);
void tty_raw_leave(struct tty_raw *t);

struct tty_size {
	uint32_t cols, rows, xpixel, ypixel;
};
/* All zero when fd is no terminal. */
struct tty_size tty_size_of(int fd);

/* RFC 4254 8: the modes of fd's terminal as opcode, u32 ... 0, appended; only the end mark when fd
 * is no terminal. */
void tty_modes_put(int fd, struct buf *out);
/* The same from settings that were read before. */
void tty_modes_put_from(const struct termios *settings, struct buf *out);

#endif
