/* SPDX-License-Identifier: ISC */
/* sftp_line - a line of a batch: words and commands; and that what is offered for a name means it
 */
#include "app/sftp/command.h"
#include "app/sftp/commands.h"
#include "fuzz.h"
#include "../unit/app/sftp_doubles.h"

/* A word as a name, typed again in each way, is that word. */
static void type_again(const char *word)
{
	static const char quotes[] = {'\0', '\'', '"'};
	char *name = strdup(word);
	PROMISE(name != NULL);
	word_plain(name);
	for (size_t i = 0; i < ARRAY_N(quotes); i++) {
		struct buf line;
		struct words w;
		if (quotes[i] == '\0' && name[0] == '\0')
			continue;
		buf_init(&line, 1 << 24);
		if (quotes[i] != '\0')
			buf_put_u8(&line, (uint8_t)quotes[i]);
		word_put_typed(&line, cslice_str(name), quotes[i]);
		if (quotes[i] != '\0')
			buf_put_u8(&line, (uint8_t)quotes[i]);
		buf_put_u8(&line, 0);
		PROMISE(buf_err(&line) == OK);
		PROMISE(words_split((const char *)line.p, false, &w) == OK);
		PROMISE(w.n == 1 && !word_is_pattern(w.v[0]));
		word_plain(w.v[0]);
		PROMISE(strcmp(w.v[0], name) == 0);
		words_free(&w);
		buf_done(&line);
	}
	free(name);
}

static void use_words(const char *line)
{
	struct words w;
	size_t n = strlen(line);
	if (words_split(line, true, &w) != OK)
		return;
	PROMISE(!w.is_inside || (w.n > 0 && w.last_at < n));
	PROMISE(w.quote == '\0' || w.quote == '\'' || w.quote == '"');
	for (size_t i = 0; i < w.n; i++) {
		PROMISE(strlen(w.v[i]) <= 2 * n);
		type_again(w.v[i]);
	}
	words_free(&w);
}

static void use_command(const char *line)
{
	char why[COMMAND_WHY_MAX];
	struct command c;
	err_t e = command_parse(line, &c, why);
	PROMISE((e == OK) == (why[0] == '\0'));
	if (e == OK && c.row != NULL) {
		const char *optional = strchr(c.row->args, '?');
		size_t given = 0;
		while (given < COMMAND_ARGS_MAX && c.arg[given] != NULL)
			given++;
		/* what the table calls needed is there */
		for (const char *kind = c.row->args; *kind != '\0' && kind != optional; kind++)
			if (*kind != 'o' && *kind != 'd')
				PROMISE(given-- > 0);
		PROMISE((c.rest != NULL) == (strchr(c.row->args, '*') != NULL));
		for (const char *f = c.flags; *f != '\0'; f++)
			PROMISE(strchr(c.row->flags, *f) != NULL);
	}
	command_free(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	if (n > 4096)
		return 0;
	char *line = calloc(1, n + 1);
	PROMISE(line != NULL);
	if (n > 0)
		memcpy(line, data, n);
	use_words(line);
	use_command(line);
	free(line);
	return 0;
}
