/* SPDX-License-Identifier: ISC */
/* file - small files whole: keys, known_hosts, configuration */
#ifndef OS_FILE_H
#define OS_FILE_H

#include "base/buf.h"

struct os_file {
	uint32_t uid, mode; /* of the open file, never of the path again */
	int why;            /* errno of the failure, for the message; 0 = none */
};

/*
 * os_file_read - a file's bytes (a pipe's and a device's too), appended to out
 *
 * E_NOT_FOUND (no such file or directory part), E_PERMISSION, E_FORMAT (a directory), E_LIMIT
 * (longer than out may hold), E_IO.  info may be NULL; it is filled also on failure as far as it is
 * known.
 */
MUST err_t os_file_read(const char *path, struct buf *out, struct os_file *info);

/* Can it be read now?  For messages only, never a security answer.  Gives errno or 0. */
int os_file_probe(const char *path);

/*
 * os_file_append - text at the end of a file, made with `mode` when it does not exist
 *
 * A last line without its end gets one first.  One write(2) under a lock, so two programs do not
 * mix lines.
 */
MUST err_t os_file_append(const char *path, struct cslice text, uint32_t mode, int *why);

/* Waits for the lock that os_file_append takes, for who replaces the file; close(2) ends it.  -1:
 * it is not there, or not ours to lock. */
int os_file_lock(const char *path);

/* mkdir(2); fine when it exists already. */
MUST err_t os_dir_make(const char *path, uint32_t mode);

#endif
