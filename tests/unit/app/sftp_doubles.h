/* SPDX-License-Identifier: ISC */
/* sftp_doubles - the functions that the table of sftp's commands names, doing nothing: what they do
 * is tested with the program */
#ifndef UNIT_APP_SFTP_DOUBLES_H
#define UNIT_APP_SFTP_DOUBLES_H

#define DOUBLE(name)                                                                               \
	err_t name(struct sftp *s, const struct command *c)                                        \
	{                                                                                          \
		(void)s, (void)c;                                                                  \
		return OK;                                                                         \
	}
DOUBLE(do_bye)
DOUBLE(do_cd)
DOUBLE(do_chgrp)
DOUBLE(do_chmod)
DOUBLE(do_chown)
DOUBLE(do_cp)
DOUBLE(do_df)
DOUBLE(do_get)
DOUBLE(do_help)
DOUBLE(do_lcd)
DOUBLE(do_lls)
DOUBLE(do_lmkdir)
DOUBLE(do_ln)
DOUBLE(do_lpwd)
DOUBLE(do_ls)
DOUBLE(do_lumask)
DOUBLE(do_mkdir)
DOUBLE(do_progress)
DOUBLE(do_put)
DOUBLE(do_pwd)
DOUBLE(do_rename)
DOUBLE(do_rm)
DOUBLE(do_rmdir)
DOUBLE(do_shell)
DOUBLE(do_symlink)
DOUBLE(do_version)

#endif
