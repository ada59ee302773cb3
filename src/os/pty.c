/* SPDX-License-Identifier: ISC */
/* pty - pseudo terminals: made by the monitor, given to the user, used by the session */
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/failed.h"
#include "os/pty.h"

err_t pty_open(int *master, int *slave, char name[PTY_NAME_MAX])
{
	char path[PTY_NAME_MAX];
	int m = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (m < 0)
		return os_failed();
	if (grantpt(m) != 0 || unlockpt(m) != 0 || ptsname_r(m, path, sizeof(path)) != 0) {
		(void)close(m);
		return E_IO;
	}
	int s = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (s < 0) {
		err_t e = os_failed();
		(void)close(m);
		return e;
	}
	(void)snprintf(name, PTY_NAME_MAX, "%s", path);
	*master = m;
	*slave = s;
	return OK;
}

err_t pty_give(const char *name, uint32_t uid, uint32_t gid)
{
	const struct group *tty = getgrnam("tty");
	uint32_t group = tty != NULL ? tty->gr_gid : gid;
	mode_t mode = tty != NULL ? 0620 : 0600;
	if (geteuid() != 0)
		return OK; /* the kernel made it ours */
	return chown(name, uid, group) == 0 && chmod(name, mode) == 0 ? OK : E_IO;
}

void pty_resize(int fd, uint32_t cols, uint32_t rows, uint32_t xpixel, uint32_t ypixel)
{
	struct winsize size = {(unsigned short)rows, (unsigned short)cols, (unsigned short)xpixel,
		(unsigned short)ypixel};
	(void)ioctl(fd, TIOCSWINSZ, &size);
}

err_t pty_make_controlling(int slave)
{
	if (setsid() < 0)
		return E_IO;
	return ioctl(slave, TIOCSCTTY, 0) == 0 ? OK : E_IO;
}

/* RFC4254 8: 128 and 129 are the speeds in bits a second. */
static speed_t speed_of(uint32_t bps)
{
	static const struct {
		uint32_t bps;
		speed_t speed;
	} speeds[] = {{0, B0}, {50, B50}, {75, B75}, {110, B110}, {134, B134}, {150, B150},
		{200, B200}, {300, B300}, {600, B600}, {1200, B1200}, {1800, B1800}, {2400, B2400},
		{4800, B4800}, {9600, B9600}, {19200, B19200}, {38400, B38400}, {57600, B57600},
		{115200, B115200}, {230400, B230400}};
	for (size_t i = 0; i < ARRAY_N(speeds); i++)
		if (speeds[i].bps == bps)
			return speeds[i].speed;
	return B9600;
}

static void set_flag(tcflag_t *word, tcflag_t bit, bool is_on)
{
	if (is_on)
		*word |= bit;
	else
		*word &= ~bit;
}

bool pty_mode_apply(struct termios *t, uint8_t opcode, uint32_t value)
{
	switch (opcode) {
	case 128:
		return cfsetispeed(t, speed_of(value)) == 0;
	case 129:
		return cfsetospeed(t, speed_of(value)) == 0;
/* 255 = the character is off */
#define CHAR(no, index)                                                                            \
	case no:                                                                                   \
		t->c_cc[index] = value == 255 ? _POSIX_VDISABLE : (cc_t)value;                     \
		return true;
#define FLAG(no, member, bit)                                                                      \
	case no:                                                                                   \
		set_flag(&t->member, bit, value != 0);                                             \
		return true;
#include "os/pty_modes.def"
#undef CHAR
#undef FLAG
	default:
		return false;
	}
}
