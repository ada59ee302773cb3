/* SPDX-License-Identifier: ISC */
/* main - sftp-server: serves files to the client at its stdin and stdout */
#include <unistd.h>

#include "app/sftp-server/sftp_server.h"

int main(int argc, char **argv)
{
	return sftp_server_main(argc, argv, NULL, (int[2]){STDIN_FILENO, STDOUT_FILENO});
}
