/* SPDX-License-Identifier: ISC */
/* Raw mode and back; terminal modes as RFC 4254 8 writes them. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "os/tty.h"

static int open_terminal(int *master)
{
	*master = posix_openpt(O_RDWR | O_NOCTTY);
	assert_true(*master >= 0);
	assert_int_equal(grantpt(*master), 0);
	assert_int_equal(unlockpt(*master), 0);
	int fd = open(ptsname(*master), O_RDWR | O_NOCTTY);
	assert_true(fd >= 0);
	return fd;
}

static void raw_mode_is_left_as_it_was_found(void **state)
{
	(void)state;
	int master, fd = open_terminal(&master);
	struct termios before, raw, after;
	struct tty_raw t;
	assert_int_equal(tcgetattr(fd, &before), 0);
	tty_raw_init(&t, fd);
	assert_int_equal(tty_raw_enter(&t), OK);
	assert_int_equal(tty_raw_enter(&t), OK); /* twice is once */
	assert_int_equal(tcgetattr(fd, &raw), 0);
	assert_int_equal(raw.c_lflag & (ECHO | ICANON | ISIG), 0);
	assert_int_equal(raw.c_oflag & OPOST, 0);
	tty_raw_leave(&t);
	tty_raw_leave(&t);
	assert_int_equal(tcgetattr(fd, &after), 0);
	assert_int_equal(after.c_lflag, before.c_lflag);
	assert_int_equal(after.c_iflag, before.c_iflag);
	assert_int_equal(after.c_oflag, before.c_oflag);
	close(fd);
	close(master);
}

static void no_terminal_is_an_error_and_has_no_size(void **state)
{
	(void)state;
	int ends[2];
	struct tty_raw t;
	struct buf modes;
	assert_int_equal(pipe(ends), 0);
	tty_raw_init(&t, ends[0]);
	assert_int_equal(tty_raw_enter(&t), E_IO);
	assert_int_equal(tty_size_of(ends[0]).cols, 0);
	buf_init(&modes, 1000);
	tty_modes_put(ends[0], &modes);
	assert_int_equal(modes.n, 1);
	assert_int_equal(modes.p[0], 0);
	buf_done(&modes);
	close(ends[0]);
	close(ends[1]);
}

static void the_size_is_the_terminals(void **state)
{
	(void)state;
	int master, fd = open_terminal(&master);
	struct winsize w = {.ws_row = 24, .ws_col = 80, .ws_xpixel = 640, .ws_ypixel = 480};
	assert_int_equal(ioctl(master, TIOCSWINSZ, &w), 0);
	struct tty_size size = tty_size_of(fd);
	assert_int_equal(size.cols, 80);
	assert_int_equal(size.rows, 24);
	assert_int_equal(size.xpixel, 640);
	assert_int_equal(size.ypixel, 480);
	close(fd);
	close(master);
}

static uint32_t mode_of(const struct buf *b, uint8_t no)
{
	for (size_t i = 0; i + 5 <= b->n; i += 5)
		if (b->p[i] == no)
			return be32_get(b->p + i + 1);
	return UINT32_MAX;
}

static void modes_are_number_and_value_up_to_the_end_mark(void **state)
{
	(void)state;
	struct termios t = {
		.c_iflag = ICRNL, .c_oflag = OPOST | ONLCR, .c_cflag = CS8, .c_lflag = ECHO | ISIG};
	struct buf b;
	t.c_cc[VINTR] = 3;
	t.c_cc[VEOL] = _POSIX_VDISABLE;
	assert_int_equal(cfsetospeed(&t, B115200), 0);
	buf_init(&b, 4096);
	tty_modes_put_from(&t, &b);
	assert_int_equal(buf_err(&b), OK);
	assert_int_equal(b.n % 5, 1);
	assert_int_equal(b.p[b.n - 1], 0);
	assert_int_equal(mode_of(&b, 129), 115200);
	assert_int_equal(mode_of(&b, 1), 3);   /* VINTR */
	assert_int_equal(mode_of(&b, 6), 255); /* VEOL: disabled */
	assert_int_equal(mode_of(&b, 36), 1);  /* ICRNL */
	assert_int_equal(mode_of(&b, 38), 0);  /* IXON */
	assert_int_equal(mode_of(&b, 53), 1);  /* ECHO */
	assert_int_equal(mode_of(&b, 51), 0);  /* ICANON */
	assert_int_equal(mode_of(&b, 72), 1);  /* ONLCR */
	assert_int_equal(mode_of(&b, 91), 1);  /* CS8 */
	buf_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(raw_mode_is_left_as_it_was_found),
		cmocka_unit_test(no_terminal_is_an_error_and_has_no_size),
		cmocka_unit_test(the_size_is_the_terminals),
		cmocka_unit_test(modes_are_number_and_value_up_to_the_end_mark),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
