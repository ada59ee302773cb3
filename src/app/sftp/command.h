/* SPDX-License-Identifier: ISC */
/*
 * command - a line as a command: from commands.def, nothing is done yet
 *
 * A dash in front lets a batch go on when the command fails, an @ keeps it from being shown.
 */
#ifndef APP_SFTP_COMMAND_H
#define APP_SFTP_COMMAND_H

#include "app/sftp/words.h"

struct sftp;
struct command;
typedef err_t command_fn(struct sftp *s, const struct command *c);

#define COMMAND_ARGS_MAX 2

struct command_row {
	const char *name, *flags, *args, *how, *help;
	command_fn *fn;
};

struct command {
	const struct command_row *row; /* NULL: an empty line or a comment */
	const char *name;              /* as it was typed, lower case; borrowed from words */
	struct words words;
	const char *arg[COMMAND_ARGS_MAX]; /* NULL = not given; patterns stay patterns */
	const char *spare;                 /* the first argument that has no meaning; NULL = none */
	const char *rest;                  /* of *: borrowed from the line */
	uint32_t number;                   /* of o and d */
	bool may_fail, is_silent;
	char flags[16];
};

/* why: filled when the line is no command (E_USAGE, E_FORMAT, E_MEM): the sentence for the person.
 * may_fail and is_silent are set even then.  Free it in both cases. */
#define COMMAND_WHY_MAX 160
MUST err_t command_parse(const char *line, struct command *out, char why[COMMAND_WHY_MAX]);
void command_free(struct command *c);

bool command_has(const struct command *c, char flag);

/* The table: rows, and the names that stand for one.  NULL: no such command, or i is too large. */
const struct command_row *command_find(const char *name);
const char *command_name(size_t i, bool *in_help);

#endif
