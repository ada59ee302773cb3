/* SPDX-License-Identifier: ISC */
/*
 * zygote - a process that is warm (libraries loaded, crypto used once) and only forks
 *
 * Two lines, each exec'd on its own: "monitor" forks monitors, "net" forks network processes.  So
 * the two sides of a connection share neither a memory layout nor a canary, and no private key has
 * ever been in the net line.  The control socket carries one byte a request with its descriptors:
 * net: {channel}; monitor: {connection, channel, status}.  The zygote says R there once it is
 * ready, or E and the reason why it cannot be.
 */
#ifndef APP_SSHD_ZYGOTE_H
#define APP_SSHD_ZYGOTE_H

#define ZYGOTE_FORKS 16 /* children of one zygote */

/* Descriptors that a zygote finds open. */
enum { ZYGOTE_CONTROL = 3, ZYGOTE_SETUP = 4, ZYGOTE_KEYS = 5 };

#endif
