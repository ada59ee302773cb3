/* SPDX-License-Identifier: ISC */
/* mode - a file's type and mode in ten letters, as `ls -l` has them */
#include "sftp/sftp.h"

static char type_letter(uint32_t mode)
{
	/* clang-format off */
	static const struct { uint32_t type; char letter; } types[] = {
		{0010000, 'p'}, {0020000, 'c'}, {0040000, 'd'}, {0060000, 'b'}, {0100000, '-'},
		{0120000, 'l'}, {0140000, 's'},
	};
	/* clang-format on */
	for (size_t i = 0; i < ARRAY_N(types); i++)
		if ((mode & 0170000) == types[i].type)
			return types[i].letter;
	return '?';
}

void sf_mode_text(uint32_t mode, char out[11])
{
	out[0] = type_letter(mode);
	for (size_t i = 0; i < 9; i++)
		out[1 + i] = (mode >> (8 - i) & 1) != 0 ? "rwx"[i % 3] : '-';
	if ((mode & 04000) != 0)
		out[3] = out[3] == 'x' ? 's' : 'S';
	if ((mode & 02000) != 0)
		out[6] = out[6] == 'x' ? 's' : 'S';
	if ((mode & 01000) != 0)
		out[9] = out[9] == 'x' ? 't' : 'T';
	out[10] = '\0';
}
