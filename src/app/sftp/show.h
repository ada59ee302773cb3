/* SPDX-License-Identifier: ISC */
/*
 * show - what ls and df print, from what the server said: text only
 *
 * Names come from the server: what is not printable comes out as \ooo.
 */
#ifndef APP_SFTP_SHOW_H
#define APP_SFTP_SHOW_H

#include "base/buf.h"
#include "sftp/sftp.h"

enum show_order { SHOW_BY_NAME, SHOW_BY_TIME, SHOW_BY_SIZE, SHOW_UNSORTED };

struct show_opts {
	bool is_long, is_single, is_human, is_reverse; /* -l or -n, -1, -h, -r */
	enum show_order order;                         /* -t, -S, -f */
	uint32_t width;                                /* of the terminal */
	uint64_t now_s;
};

struct show_item { /* all borrowed */
	const char *name;
	bool is_marked; /* with a / behind it */
	struct sf_attr a;
	const char *longname;     /* to be shown for -l as it is; NULL = made from a and: */
	const char *user, *group; /* NULL or "" = the number */
};

void show_sort(struct show_item *v, size_t n, const struct show_opts *o);
void show_list(struct buf *out, const struct show_item *v, size_t n, const struct show_opts *o);

/* "3B", "4.0K", "252G": at most 7 characters */
void show_size(uint64_t bytes, char out[8]);

void show_vfs(struct buf *out, const struct sf_vfs *v, bool is_inodes, bool is_human);

#endif
