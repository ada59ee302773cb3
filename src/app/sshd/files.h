/* SPDX-License-Identifier: ISC */
/* files - reading whole regular files, and the ownership and mode rules for them */
#ifndef APP_SSHD_FILES_H
#define APP_SSHD_FILES_H

#include <sys/stat.h>
#include <sys/types.h>

#include "base/buf.h"

/* A regular file, whole.  E_NOT_FOUND, E_PERMISSION, E_FORMAT (not a regular file), E_LIMIT, E_IO;
 * errno says more (or is 0). */
MUST err_t file_read(const char *path, size_t most, struct buf *out);
/* The same for what may be a pipe or a device as well; waits for a pipe's writer. */
MUST err_t file_read_any(const char *path, size_t most, struct buf *out);
/* The same, and what it is. */
MUST err_t file_read_stat(const char *path, size_t most, struct buf *out, struct stat *st);

/*
 * StrictModes (compat 8.3): the file (st) and every directory above it, up to home or the root,
 * belong to root or uid and cannot be written by group or others.  E_PERMISSION: `why` gets one
 * sentence that names the path and its mode.
 */
MUST err_t file_is_strict(
	const char *path, const struct stat *st, const char *home, uint32_t uid, struct buf *why);

#endif
