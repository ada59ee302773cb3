/* SPDX-License-Identifier: ISC */
/* sftp_main - for a server that serves files itself; alone, as that server has own messages */
#ifndef APP_SFTP_MAIN_H
#define APP_SFTP_MAIN_H

struct me;

/*
 * sftp_server_main - the whole program, for main and for a server that forks in place of exec
 *
 * Gives the exit status.  Sets umask, directory, and the sink of the log, which keeps argv[0].
 * me: whose files are served; NULL: looked up.
 */
int sftp_server_main(int argc, char **argv, const struct me *me, const int fds[2]);

#endif
