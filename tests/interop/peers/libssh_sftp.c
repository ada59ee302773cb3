/* SPDX-License-Identifier: ISC */
/*
 * libssh_sftp - a client of libssh's SFTP: PORT USER KEY LOCAL REMOTE-DIRECTORY
 *
 * Sends the local file as "large", reads it back in pieces asked for ahead, and does one of each
 * other request; any surprise is an exit status of its own.
 */
#include <fcntl.h>
#include <libssh/libssh.h>
#include <libssh/sftp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define CHECK(n, what)                                                                             \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			fprintf(stderr, "%d: %s: %s (%d)\n", n, #what, ssh_get_error(s),           \
				sftp != NULL ? sftp_get_error(sftp) : 0);                          \
			return n;                                                                  \
		}                                                                                  \
	} while (0)

#define AHEAD 16
#define PIECE 30000

static char *join(const char *dir, const char *name)
{
	char *path;
	return asprintf(&path, "%s/%s", dir, name) < 0 ? NULL : path;
}

int main(int argc, char **argv)
{
	ssh_session s = ssh_new();
	sftp_session sftp = NULL;
	ssh_key key = NULL;
	int no = 0;
	if (argc != 6 || s == NULL)
		return 99;
	const char *dir = argv[5];
	ssh_options_set(s, SSH_OPTIONS_HOST, "127.0.0.1");
	ssh_options_set(s, SSH_OPTIONS_PORT_STR, argv[1]);
	ssh_options_set(s, SSH_OPTIONS_USER, argv[2]);
	ssh_options_set(s, SSH_OPTIONS_PROCESS_CONFIG, &no);
	CHECK(1, ssh_connect(s) == SSH_OK);
	CHECK(2, ssh_pki_import_privkey_file(argv[3], NULL, NULL, NULL, &key) == SSH_OK);
	CHECK(3, ssh_userauth_publickey(s, NULL, key) == SSH_AUTH_SUCCESS);
	sftp = sftp_new(s);
	CHECK(4, sftp != NULL && sftp_init(sftp) == SSH_OK);
	CHECK(5, sftp_extension_supported(sftp, "posix-rename@openssh.com", "1") == 1);

	static char block[PIECE], back[PIECE];
	FILE *in = fopen(argv[4], "rb");
	CHECK(6, in != NULL);
	sftp_file f = sftp_open(sftp, join(dir, "large"), O_WRONLY | O_CREAT | O_TRUNC, 0640);
	CHECK(7, f != NULL);
	size_t n, all = 0;
	while ((n = fread(block, 1, sizeof(block), in)) > 0) {
		CHECK(8, sftp_write(f, block, n) == (ssize_t)n);
		all += n;
	}
	CHECK(9, sftp_fsync(f) == 0);
	sftp_attributes a = sftp_fstat(f);
	CHECK(10, a != NULL && a->size == all && (a->permissions & 0777) == 0640);
	CHECK(11, sftp_close(f) == SSH_OK);

	/* read with several requests under way */
	f = sftp_open(sftp, join(dir, "large"), O_RDONLY, 0);
	CHECK(12, f != NULL);
	int asked[AHEAD];
	size_t first = 0, count = 0, got = 0;
	rewind(in);
	for (;;) {
		while (count < AHEAD) {
			int id = sftp_async_read_begin(f, PIECE);
			CHECK(13, id >= 0);
			asked[(first + count++) % AHEAD] = id;
		}
		int part = sftp_async_read(f, back, PIECE, (uint32_t)asked[first]);
		first = (first + 1) % AHEAD;
		count--;
		CHECK(14, part >= 0);
		if (part == 0)
			break;
		CHECK(15, fread(block, 1, (size_t)part, in) == (size_t)part);
		CHECK(16, memcmp(block, back, (size_t)part) == 0);
		got += (size_t)part;
	}
	CHECK(17, got == all);
	CHECK(18, sftp_close(f) == SSH_OK);

	CHECK(20, sftp_mkdir(sftp, join(dir, "made"), 0750) == 0);
	CHECK(21, sftp_rename(sftp, join(dir, "large"), join(dir, "made/moved")) == 0);
	CHECK(22, sftp_symlink(sftp, "moved", join(dir, "made/link")) == 0);
	char *target = sftp_readlink(sftp, join(dir, "made/link"));
	CHECK(23, target != NULL && strcmp(target, "moved") == 0);
	CHECK(24, sftp_chmod(sftp, join(dir, "made/moved"), 0600) == 0);
	struct timeval t[2] = {{1234567, 0}, {7654321, 0}};
	CHECK(25, sftp_utimes(sftp, join(dir, "made/moved"), t) == 0);
	a = sftp_stat(sftp, join(dir, "made/link"));
	CHECK(26, a != NULL && a->mtime == 7654321 && (a->permissions & 0777) == 0600);
	a = sftp_lstat(sftp, join(dir, "made/link"));
	CHECK(27, a != NULL && a->type == SSH_FILEXFER_TYPE_SYMLINK);
	CHECK(28, sftp_stat(sftp, join(dir, "none")) == NULL &&
			  sftp_get_error(sftp) == SSH_FX_NO_SUCH_FILE);
	sftp_statvfs_t v = sftp_statvfs(sftp, dir);
	CHECK(29, v != NULL && v->f_namemax == 255);
	char *real = sftp_canonicalize_path(sftp, join(dir, "made/../made/./link"));
	CHECK(30, real != NULL && strstr(real, "/made/moved") != NULL);
	sftp_dir d = sftp_opendir(sftp, join(dir, "made"));
	CHECK(31, d != NULL);
	int names = 0;
	while ((a = sftp_readdir(sftp, d)) != NULL)
		names++;
	CHECK(32, names == 4 && sftp_dir_eof(d) && sftp_closedir(d) == SSH_OK);
	CHECK(33,
		sftp_rmdir(sftp, join(dir, "made")) != 0 && sftp_get_error(sftp) == SSH_FX_FAILURE);
	CHECK(34, sftp_unlink(sftp, join(dir, "made/link")) == 0);
	sftp_free(sftp);
	ssh_disconnect(s);
	return 0;
}
