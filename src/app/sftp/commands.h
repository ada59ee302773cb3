/* SPDX-License-Identifier: ISC */
/* commands - the functions that commands.def names: each does one command, and tells what failed */
#ifndef APP_SFTP_COMMANDS_H
#define APP_SFTP_COMMANDS_H

#include "app/sftp/command.h"

command_fn do_bye, do_cd, do_chgrp, do_chmod, do_chown, do_cp, do_df, do_get, do_help, do_lcd,
	do_lls, do_lmkdir, do_ln, do_lpwd, do_ls, do_lumask, do_mkdir, do_progress, do_put, do_pwd,
	do_rename, do_rm, do_rmdir, do_shell, do_symlink, do_version;

#endif
