/* SPDX-License-Identifier: ISC */
/* command - the parser over the table */
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "app/sftp/command.h"
#include "app/sftp/commands.h"
#include "base/text.h"

#define BLANKS " \t\r\n\v\f"

static const struct command_row rows[] = {
#define CMD(n, f, a, function, h, t)                                                               \
	{.name = n, .flags = f, .args = a, .fn = function, .how = h, .help = t},
#include "app/sftp/commands.def"
};

static const struct name {
	const char *name, *row;
	bool in_help;
} names[] = {
#define CMD(n, f, a, function, h, t) {n, n, true},
#define SAME(n, r, shown)            {n, r, shown},
#include "app/sftp/commands.def"
};

const struct command_row *command_find(const char *name)
{
	const char *row = NULL;
	for (size_t i = 0; row == NULL && i < ARRAY_N(names); i++)
		if (strcasecmp(names[i].name, name) == 0)
			row = names[i].row;
	for (size_t i = 0; row != NULL && i < ARRAY_N(rows); i++)
		if (strcmp(rows[i].name, row) == 0)
			return &rows[i];
	return NULL;
}

const char *command_name(size_t i, bool *in_help)
{
	if (i >= ARRAY_N(names))
		return NULL;
	*in_help = names[i].in_help;
	return names[i].name;
}

bool command_has(const struct command *c, char flag)
{
	return flag != '\0' && strchr(c->flags, flag) != NULL;
}

/* -P and -R are -p and -r. */
static char flag_of(char letter)
{
	return letter == 'P' ? 'p' : letter == 'R' ? 'r' : letter;
}

static err_t take_flags(struct command *c, size_t *at, char why[COMMAND_WHY_MAX])
{
	size_t n = 0;
	for (; *at < c->words.n; ++*at) {
		const char *word = c->words.v[*at];
		if (word[0] != '-' || word[1] == '\0')
			break;
		if (strcmp(word, "--") == 0) {
			++*at;
			break;
		}
		for (const char *p = word + 1; *p != '\0'; p++) {
			if (strchr(c->row->flags, *p) == NULL) {
				snprintf(why, COMMAND_WHY_MAX, "%s: Invalid flag -%c", c->name, *p);
				return E_USAGE;
			}
			if (!command_has(c, flag_of(*p)) && n + 1 < sizeof(c->flags))
				c->flags[n++] = flag_of(*p);
		}
	}
	return OK;
}

static err_t no_number(const struct command *c, char why[COMMAND_WHY_MAX])
{
	snprintf(why, COMMAND_WHY_MAX, "You must supply a numeric argument to the %s command.",
		c->name);
	return E_USAGE;
}

static err_t take_number(struct command *c, const char *word, int base, char why[COMMAND_WHY_MAX])
{
	uint64_t value = 0;
	for (const char *p = word; *p != '\0'; p++) {
		if (*p < '0' || *p >= '0' + base || value > UINT32_MAX)
			return no_number(c, why);
		value = value * (uint64_t)base + (uint64_t)(*p - '0');
	}
	if (*word == '\0' || value > UINT32_MAX || (base == 8 && value > 07777))
		return no_number(c, why);
	c->number = (uint32_t)value;
	return OK;
}

/* Says what is missing, as the table has it. */
static err_t too_few(const struct command *c, char why[COMMAND_WHY_MAX])
{
	const char *args = c->row->args;
	const char *may = strchr(args, '?');
	size_t needed = may != NULL ? (size_t)(may - args) : strlen(args);
	const char *what = may != NULL                                  ? "at least one path"
			   : needed == 2 && strpbrk(args, "od") == NULL ? "two paths"
									: "a path";
	snprintf(why, COMMAND_WHY_MAX, "You must specify %s after a %s command.", what, c->name);
	return E_USAGE;
}

static err_t take_args(struct command *c, size_t at, char why[COMMAND_WHY_MAX])
{
	bool may_end = false;
	size_t n = 0;
	for (const char *kind = c->row->args; *kind != '\0'; kind++) {
		char *word = at < c->words.n ? c->words.v[at] : NULL;
		if (*kind == '?') {
			may_end = true;
			continue;
		}
		if (*kind == 'o' || *kind == 'd') {
			if (word == NULL)
				return no_number(c, why);
			TRY(take_number(c, word, *kind == 'o' ? 8 : 10, why));
			at++;
			continue;
		}
		if (word == NULL) {
			if (!may_end)
				return too_few(c, why);
			break;
		}
		if (*kind != 'R' && *kind != 'L')
			word_plain(word);
		c->arg[n++] = word;
		at++;
	}
	if (at < c->words.n && strchr(c->row->args, '*') == NULL)
		c->spare = c->words.v[at];
	return OK;
}

/* Blanks, dashes and @ in front. */
static const char *take_prefix(struct command *c, const char *line)
{
	for (; *line != '\0' && strchr(BLANKS "-@", *line) != NULL; line++) {
		c->may_fail |= *line == '-';
		c->is_silent |= *line == '@';
	}
	return line;
}

/* What stands for itself: the rest of the line belongs to another program. */
static bool is_raw(struct command *c, const char *line)
{
	size_t n = *line == '!' ? 1 : strcspn(line, BLANKS);
	char word[16];
	if (n >= sizeof(word))
		return false;
	memcpy(word, line, n);
	word[n] = '\0';
	const struct command_row *row = command_find(word);
	if (row == NULL || strchr(row->args, '*') == NULL)
		return false;
	c->row = row;
	c->name = row->name;
	c->rest = line + n + strspn(line + n, BLANKS);
	return true;
}

err_t command_parse(const char *line, struct command *out, char why[COMMAND_WHY_MAX])
{
	size_t at = 1;
	*out = (struct command){0};
	why[0] = '\0';
	line = take_prefix(out, line);
	if (is_raw(out, line))
		return OK;
	err_t e = words_split(line, false, &out->words);
	if (e != OK) {
		snprintf(why, COMMAND_WHY_MAX, "%s",
			e == E_FORMAT ? "Unterminated quoted argument" : err_text(e));
		return e;
	}
	if (out->words.n == 0)
		return OK;
	word_plain(out->words.v[0]);
	ascii_lower(out->words.v[0]);
	out->row = command_find(out->words.v[0]);
	out->name = out->words.v[0];
	if (out->row != NULL && strchr(out->row->args, '*') != NULL)
		out->row = NULL; /* in quotes it is not that command */
	if (out->row == NULL) {
		snprintf(why, COMMAND_WHY_MAX, "Invalid command.");
		return E_USAGE;
	}
	TRY(take_flags(out, &at, why));
	return take_args(out, at, why);
}

void command_free(struct command *c)
{
	words_free(&c->words);
	*c = (struct command){0};
}
