/* SPDX-License-Identifier: ISC */
/* int - what the files of config/ share: lines, kinds, tables, and the walk over lines */
#ifndef CONFIG_INT_H
#define CONFIG_INT_H

#include "config/config.h"

#define CFG_INCLUDE_DEPTH 16
#define CFG_LINES_MAX     1000000
#define CFG_WORDS_MAX     1024

enum cfg_line_what { CFG_LINE_OPTION, CFG_LINE_BEGIN, CFG_LINE_END };

struct cfg_line {
	enum cfg_line_what what;
	uint32_t file; /* index in files */
	uint32_t no;
	char *keyword, *rest; /* rest: raw, trimmed */
};

struct cfg_lines {
	struct cfg_line *v;
	size_t n, cap;
	struct cfg_list files;
};

/* Words of a line: quotes group, backslash escapes quotes, itself and blanks, `#` starts a comment
 * at a word's start. */
struct cfg_words {
	char *text; /* one block that the words point into */
	char *v[CFG_WORDS_MAX];
	size_t n;
};
MUST err_t cfg_words_of(struct cfg_words *out, const char *rest);
void cfg_words_done(struct cfg_words *w);

MUST err_t cfg_list_add(struct cfg_list *l, const char *s);
void cfg_list_done(struct cfg_list *l);

/* ---- kinds ---- */
struct cfg_opt;
struct cfg_parse {
	const struct cfg_opt *opt;
	const char *rest;
	char **v; /* words; NULL for raw kinds */
	size_t n;
	bool is_server;
	bool is_add;     /* APPEND and something is there already: the new is added */
	struct buf *why; /* the sentence without place, on E_CONFIG */
};
struct cfg_kind {
	err_t (*parse)(struct cfg_parse *p, void *field);
	void (*print)(
		const struct cfg_opt *opt, const void *field, struct buf *out); /* value only */
	void (*done)(void *field);
	bool is_raw;  /* takes the rest of the line as it is */
	bool is_list; /* takes any number of words; else exactly one */
};
extern const struct cfg_kind cfg_kind_flag, cfg_kind_enum, cfg_kind_u32, cfg_kind_port,
	cfg_kind_time, cfg_kind_text, cfg_kind_line, cfg_kind_list, cfg_kind_ports, cfg_kind_addrs,
	cfg_kind_alg, cfg_kind_rekey, cfg_kind_escape, cfg_kind_startups, cfg_kind_subsystem,
	cfg_kind_addkeys, cfg_kind_methods, cfg_kind_command, cfg_kind_set;

struct cfg_name {
	const char *name; /* NULL ends the table; -G prints the first name of a value */
	int value;
};
extern const struct cfg_name names_family[], names_fphash[], names_loglevel[], names_pubkeyauth[],
	names_requesttty[], names_sessiontype[], names_stricthostkey[], names_facility[],
	names_weakcrypto[], names_rootlogin[], names_compression[], names_pubkeyoptions[],
	names_updatehostkeys[];

/* ---- tables ---- */
enum { G_ALWAYS = 1, G_SET = 2, G_OWN = 4, APPEND = 8, LAST = 16, M = 32 };
enum cfg_dead_how { SILENT, ONLY_2, DEPRECATED, UNSUPPORTED };
enum cfg_later_how { WARN, REFUSE, FORWARD };

struct cfg_opt {
	const char *keyword;
	const struct cfg_kind *kind;
	size_t offset;
	const struct cfg_name *names;
	int arg;
	const char *dflt;
	unsigned flags;
};
struct cfg_alias {
	const char *from, *to;
};
struct cfg_dead {
	const char *keyword;
	int how;
};
struct cfg_table {
	bool is_server;
	const struct cfg_opt *opts;
	size_t opts_n;
	const struct cfg_alias *aliases;
	size_t aliases_n;
	const struct cfg_dead *dead;
	size_t dead_n;
	const struct cfg_dead *later;
	size_t later_n;
	const char *const *blocks; /* "Host", "Match" */
	size_t blocks_n;
};

struct cfg_own {
	const struct cfg_table *table;
	bool *is_set;
	struct cfg_origin *origin;
	bool *was_set_before;     /* by an earlier pass: APPEND does not add to it */
	struct cfg_list forwards; /* "FILE line N: Keyword" of each that is asked for */
	struct cfg_list later;    /* keywords that are asked for and have no effect yet */
};

enum cfg_pass { CFG_PASS_ALL, CFG_PASS_MATCHED, CFG_PASS_GLOBAL };

struct cfg_walk {
	const struct cfg_table *table;
	void *out;
	struct cfg_own *own;
	const struct cfg_lines *lines;
	const struct cfg_env *env;
	struct buf *why;
	enum cfg_pass pass;
	bool is_quiet; /* a second pass: warnings were given */
	/* Decides a Host or Match line; the reason of an error goes to w->why by cfg_complain. */
	err_t (*block)(struct cfg_walk *w, const struct cfg_line *line,
		const struct cfg_words *words, bool *match);
	void *arg;
	uint32_t bad, bad_file;
};

/* ---- Match ---- */
struct cfg_criterion {
	const char *name;
	int id; /* of the side's own enum; CFG_MATCH_ALL everywhere for `all`, CFG_MATCH_EXEC for
		   what costs */
	bool has_argument;
	const char *attribute; /* its name in a -C specification, or NULL */
};
enum { CFG_MATCH_ALL, CFG_MATCH_EXEC, CFG_MATCH_OWN };
struct cfg_matcher {
	const struct cfg_criterion *rows;
	size_t n;
	err_t (*judge)(struct cfg_walk *w, const struct cfg_line *line,
		const struct cfg_criterion *c, const char *argument, bool *yes);
};
/* All criteria of a Match line must hold; `!` negates one. */
MUST err_t cfg_match(struct cfg_walk *w, const struct cfg_line *line, const struct cfg_words *words,
	const struct cfg_matcher *matcher, bool *match);

MUST err_t cfg_walk(struct cfg_walk *w);
void cfg_complain(struct cfg_walk *w, const struct cfg_line *line, const char *fmt, ...)
	PRINTF(3, 4);
MUST err_t cfg_own_new(struct cfg_own **out, const struct cfg_table *t);
void cfg_own_done(struct cfg_own *own, void *fields);
/* Fills every option that is not set with its default. */
MUST err_t cfg_defaults(const struct cfg_table *t, struct cfg_own *own, void *fields);
/* `keyword value` lines for one option (lower case); a list flagged APPEND prints one line an
 * element. */
void cfg_print(const struct cfg_opt *opt, const void *fields, struct buf *out);
bool cfg_is_set(const struct cfg_own *own, const char *keyword);
/* Is a keyword that is not built given a value that asks for something? */
bool cfg_is_asked_later(const struct cfg_own *own, const char *keyword);

static inline void *cfg_field(const struct cfg_opt *opt, void *fields)
{
	return (char *)fields + opt->offset;
}

static inline const void *cfg_field_const(const struct cfg_opt *opt, const void *fields)
{
	return (const char *)fields + opt->offset;
}

#endif
