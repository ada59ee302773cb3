/* SPDX-License-Identifier: ISC */
/* kg - what the modes of ssh-keygen share */
#ifndef APP_SSH_KEYGEN_KG_H
#define APP_SSH_KEYGEN_KG_H

#include "app/common/keyfile.h"
#include "base/text.h"
#include "key/key.h"
#include "os/file.h"
#include "os/random.h"

/* Exit states (compat 2.6): fatal errors are 255, refused questions and failed writes 1. */
enum { KG_OK = 0, KG_FAILED = 1, KG_USAGE = 1, KG_FATAL = 255 };

#define KG_LINE_MAX    8192
#define KG_OPTIONS_MAX 256

struct kg_options {
#define FLAG_set                                  bool
#define FLAG_text                                 const char *
#define FLAG(letter, kind, field, argument, text) FLAG_##kind field;
#define LATER(letter, argument, what)
#include "app/ssh-keygen/flags.def"
#undef LATER
#undef FLAG
#undef FLAG_text
#undef FLAG_set
	/* what the values mean */
	enum hash_id hash_id; /* of -E; hash is NULL when not given */
	struct key_write_opts write;
	const char *options[KG_OPTIONS_MAX]; /* of -O */
	size_t options_n;
	char *path_buf; /* owned: a path that was asked for or made up */
};

/* Prints "text\n" to stderr and gives state, for `return`. */
int kg_say(int state, const char *fmt, ...) PRINTF(2, 3);
/* The same on stdout, without a line end of its own. */
void kg_tell(const char *fmt, ...) PRINTF(1, 2);
/* What keyfile_load_private says, to stderr. */
void kg_say_why(const struct buf *why);

/* ---- questions (ask.c)
 * ---------------------------------------------------------------------------------------- */
/* A line from standard input behind a prompt on standard output; false at the end of input. */
bool kg_ask_line(const char *prompt, struct buf *line);
/* A passphrase from the terminal (no echo), else SSH_ASKPASS, else standard input. */
MUST err_t kg_ask_secret(const char *prompt, struct buf *answer);
/* A new passphrase, asked twice; -N answers it.  again: ask until both are equal, else E_CANCELLED.
 */
MUST err_t kg_ask_new(
	const struct kg_options *o, const char *prompt, bool again, struct buf *answer);
/* For keyfile_load_private: -P, else the question.  arg: struct kg_old. */
struct kg_old {
	const char *given;      /* -P or NULL */
	const char *prompt_fmt; /* "%s" is the path */
};
err_t kg_ask_old(void *arg, const char *path, uint32_t try, struct buf *passphrase);

/* ---- paths
 * ------------------------------------------------------------------------------------------------------
 */
/* -f, else asked for with `question` and the default identity of the type. NULL: no input (the
 * caller ends). */
const char *kg_identity_path(struct kg_options *o, enum key_type t, const char *question);
/* ~/.ssh/NAME, owned; NULL without a home. */
char *kg_home_path(const char *name);

/* ---- writing a pair
 * --------------------------------------------------------------------------------------------- */
/* The private file (mode 0600) and, when with_public, path.pub (0644): both or none.  Says what
 * failed. */
struct kg_pair {
	const struct key *k;
	const char *path, *comment;
	struct cslice passphrase;
	bool with_public;
};
MUST err_t kg_save(const struct kg_options *o, const struct kg_pair *pair);
/* Asks where path is there already.  is_pair: of a private key, which should have a .pub beside it.
 */
bool kg_may_overwrite(const char *path, bool is_pair);
/* "user@host" */
void kg_default_comment(struct buf *out);

/* RFC 4716, PEM, PKCS #8. */
MUST err_t kg_parse_foreign_public(struct key **out, struct cslice text);

/* ---- printing
 * ---------------------------------------------------------------------------------------------------
 */
/* "BITS FP COMMENT (TYPE)", with -v the picture. */
MUST err_t kg_print_fingerprint(
	const struct kg_options *o, const struct key *k, struct cslice comment);

/* ---- the modes: exit states
 * ------------------------------------------------------------------------------------- */
int kg_generate(struct kg_options *o);
int kg_generate_host_keys(struct kg_options *o);
int kg_change_passphrase(struct kg_options *o);
int kg_change_comment(struct kg_options *o);
int kg_print_public(struct kg_options *o);
int kg_fingerprint(struct kg_options *o);
int kg_known_hosts(struct kg_options *o);
int kg_print_sshfp(struct kg_options *o);
int kg_export(struct kg_options *o);
int kg_import(struct kg_options *o);
/* -M; files: where the output goes. */
int kg_moduli(struct kg_options *o, char **files, size_t files_n);
int kg_show_certs(struct kg_options *o);
/* -s without another mode. */
int kg_certify(struct kg_options *o, char **files, size_t files_n);
/* -k, -Q */
int kg_krl_make(struct kg_options *o, char **files, size_t files_n);
int kg_krl_test(struct kg_options *o, char **files, size_t files_n);
/* -Y; files: what stands behind the options. */
int kg_signatures(struct kg_options *o, char **files, size_t files_n);

#endif
