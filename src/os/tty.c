/* SPDX-License-Identifier: ISC */
/* tty - the user's terminal */
#include <sys/ioctl.h>
#include <unistd.h>

#include "os/tty.h"

#define MODE_END      0
#define MODE_ISPEED   128
#define MODE_OSPEED   129
#define CHAR_DISABLED 255

struct mode_chr {
	uint8_t no;
	int index;
};
struct mode_flag {
	uint8_t no;
	tcflag_t flag;
	size_t field;
};

#define FLAG(no, member, bit)
#define CHAR(no, index) {no, index},
static const struct mode_chr chars[] = {
#include "os/pty_modes.def"
};
#undef FLAG
#undef CHAR
#define CHAR(no, index)
#define FLAG(no, member, bit) {no, bit, offsetof(struct termios, member)},
static const struct mode_flag flags[] = {
#include "os/pty_modes.def"
};
#undef FLAG
#undef CHAR

/* clang-format off */
static const struct { speed_t code; uint32_t bps; } speeds[] = {
	{B0, 0}, {B50, 50}, {B75, 75}, {B110, 110}, {B134, 134}, {B150, 150}, {B200, 200}, {B300, 300},
	{B600, 600}, {B1200, 1200}, {B1800, 1800}, {B2400, 2400}, {B4800, 4800}, {B9600, 9600},
	{B19200, 19200}, {B38400, 38400}, {B57600, 57600}, {B115200, 115200}, {B230400, 230400},
	{B460800, 460800}, {B921600, 921600}, {B1000000, 1000000}, {B2000000, 2000000}, {B4000000, 4000000},
};
/* clang-format on */

static uint32_t bps_of(speed_t code)
{
	for (size_t i = 0; i < ARRAY_N(speeds); i++)
		if (speeds[i].code == code)
			return speeds[i].bps;
	return 9600;
}

/* ---- raw mode -----------------------------------------------------------------------------------
 */
void tty_raw_init(struct tty_raw *t, int fd)
{
	*t = (struct tty_raw){.fd = fd};
}

err_t tty_raw_enter(struct tty_raw *t)
{
	if (t->is_raw)
		return OK;
	if (tcgetattr(t->fd, &t->before) < 0)
		return E_IO;
	struct termios raw = t->before;
	raw.c_iflag |= IGNPAR;
	raw.c_iflag &= ~(tcflag_t)(ISTRIP | INLCR | IGNCR | ICRNL | IXON | IXANY | IXOFF | IUCLC);
	raw.c_lflag &= ~(tcflag_t)(ISIG | ICANON | ECHO | ECHOE | ECHOK | ECHONL | IEXTEN);
	raw.c_oflag &= ~(tcflag_t)OPOST;
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	if (tcsetattr(t->fd, TCSADRAIN, &raw) < 0)
		return E_IO;
	t->is_raw = true;
	return OK;
}

void tty_raw_leave(struct tty_raw *t)
{
	if (t->is_raw)
		(void)tcsetattr(t->fd, TCSADRAIN, &t->before);
	t->is_raw = false;
}

struct tty_size tty_size_of(int fd)
{
	struct winsize w;
	if (ioctl(fd, TIOCGWINSZ, &w) < 0)
		return (struct tty_size){0};
	return (struct tty_size){w.ws_col, w.ws_row, w.ws_xpixel, w.ws_ypixel};
}

/* ---- modes --------------------------------------------------------------------------------------
 */
static tcflag_t *field_of(struct termios *t, size_t offset)
{
	return (tcflag_t *)(void *)((char *)t + offset);
}

static void put_mode(struct buf *out, uint8_t no, uint32_t value)
{
	buf_put_u8(out, no);
	buf_put_u32(out, value);
}

void tty_modes_put_from(const struct termios *settings, struct buf *out)
{
	struct termios t = *settings;
	put_mode(out, MODE_OSPEED, bps_of(cfgetospeed(&t)));
	put_mode(out, MODE_ISPEED, bps_of(cfgetispeed(&t)));
	for (size_t i = 0; i < ARRAY_N(chars); i++) {
		cc_t c = t.c_cc[chars[i].index];
		put_mode(out, chars[i].no, c == _POSIX_VDISABLE ? CHAR_DISABLED : c);
	}
	for (size_t i = 0; i < ARRAY_N(flags); i++)
		put_mode(out, flags[i].no,
			(*field_of(&t, flags[i].field) & flags[i].flag) == flags[i].flag);
	buf_put_u8(out, MODE_END);
}

void tty_modes_put(int fd, struct buf *out)
{
	struct termios t;
	if (tcgetattr(fd, &t) < 0)
		buf_put_u8(out, MODE_END);
	else
		tty_modes_put_from(&t, out);
}
