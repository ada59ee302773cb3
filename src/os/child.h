/* SPDX-License-Identifier: ISC */
/* child - what a process does between fork and exec, and how it ended */
#ifndef OS_CHILD_H
#define OS_CHILD_H

#include <sys/types.h>

#include "base/slice.h"

/* Closes every descriptor from `from` on. */
void child_close_from(int from);

/*
 * Keeps these descriptors (and 0, 1, 2), as 3, 4 ... in order, and closes all others.  fds:
 * rewritten to the new numbers; -1 stays -1 and takes none.  For a child right after fork.
 */
#define CHILD_KEEP_MAX 6
MUST err_t child_keep_fds(int *fds, size_t n);

/* fds 0, 1, 2 become these; the three may be the same or any number.  In a child only. */
MUST err_t child_set_stdio(int in, int out, int err);

/* Descriptors 0, 1 and 2 exist from now on: a file or socket that is opened later never takes the
 * place of one that was closed. */
void child_open_stdio(void);

/* A pipe, close-on-exec, with room for much (1 MiB where the system lets it). */
MUST err_t child_pipe(int fds[2]);

/* A file without a name that holds data, close-on-exec: for handing much over without waiting. */
MUST err_t child_memory_file(struct cslice data, int *fd);

/* The running program's file, opened: it can be run again by child_reexec even when it was replaced
 * or deleted. */
MUST err_t child_open_self(int *fd);
/* Runs it; returns only on failure. */
err_t child_reexec(int self_fd, char *const argv[], char *const envp[]);

/* A write to a closed pipe, or beyond the limit of file sizes, is an error, not a signal. */
void child_ignore_pipe(void);
/* So is a file that would grow beyond the limit (setrlimit). */
void child_ignore_file_size(void);

/* Free heap and stack that is not in use go back to the system.  Before a fork of many children:
 * what is not there is not copied. */
void child_trim(void);

/*
 * For a process that will sleep long: child_trim, and the pages of program and libraries that were
 * needed up to now go too (they are files, and come back by themselves when needed again).
 */
void child_give_memory_back(void);

/* Name of the process in ps. */
void child_set_name(const char *name);

/* Did it end by a signal that tells of a broken program? */
bool child_has_crashed(int status);

#endif
