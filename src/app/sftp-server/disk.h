/* SPDX-License-Identifier: ISC */
/*
 * disk - the file system of this machine as the SFTP server's engine sees it
 *
 * Paths are the kernel's: links are followed as for any program of the user.
 */
#ifndef APP_SFTP_SERVER_DISK_H
#define APP_SFTP_SERVER_DISK_H

#include "sftp/fs.h"

#define DISK_NAMES 16
#define DISK_WORD  64

struct disk_names { /* who is who, as far as it was asked */
	struct {
		bool is_known, has_name;
		uint32_t id;
		char word[DISK_WORD];
	} v[DISK_NAMES];
	size_t next;
};

struct disk {
	int why;           /* errno of the last failure */
	bool may_not_wait; /* for the other end of a FIFO */
	const char *home;  /* of the user whose files are served; borrowed */
	struct disk_names users, groups;
};

extern const struct sf_fs disk_face;

void disk_init(struct disk *d, const char *home);

/* disk_path.c, disk_names.c: parts of the face */
enum sf_code disk_code(struct disk *d, int why);
enum sf_code disk_rename(void *fs, const char *from, const char *to, bool may_replace);
enum sf_code disk_realpath(void *fs, const char *path, struct slice room, size_t *n);
enum sf_code disk_home(void *fs, const char *user, struct slice room, size_t *n);
const char *disk_user_name(void *fs, uint32_t uid);
const char *disk_group_name(void *fs, uint32_t gid);

#endif
