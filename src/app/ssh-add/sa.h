/* SPDX-License-Identifier: ISC */
/* sa - what the parts of ssh-add share */
#ifndef APP_SSH_ADD_SA_H
#define APP_SSH_ADD_SA_H

#include "app/common/agent_client.h"
#include "app/common/me.h"
#include "base/text.h"
#include "key/cert.h"

/* Exit states (compat 2.8); what OpenSSH calls fatal is 255. */
enum { SA_OK = 0, SA_FAILED = 1, SA_NO_AGENT = 2, SA_FATAL = 255 };

#define SA_LIST_MAX 64

struct sa_list {
	const char *v[SA_LIST_MAX];
	size_t n;
};

struct sa_options {
#define KIND_set                                  bool
#define KIND_text                                 const char *
#define KIND_list                                 struct sa_list
#define FLAG(letter, kind, field, argument, text) KIND_##kind field;
#define LATER(letter, argument, what)
#define LONG(name, letter, argument, field, text) bool field;
#include "app/ssh-add/flags.def"
#undef LONG
#undef LATER
#undef FLAG
#undef KIND_list
#undef KIND_text
#undef KIND_set
};

struct sa_destinations; /* what -h meant: owns the hosts' keys */

struct sa {
	struct sa_options o;
	struct me me;
	struct agent_client agent;
	enum hash_id hash;
	struct ag_limits limits;
	struct sa_destinations *destinations;
	struct buf last; /* the passphrase that opened the last file */
	bool has_last;
};

/* Prints "text\n" to stderr and gives state, for `return`. */
int sa_say(int state, const char *fmt, ...) PRINTF(2, 3);
/* OpenSSH's words for what went wrong with the agent. */
const char *sa_agent_text(err_t e);

/* files.c: the public key of an argument, certificates too: a .pub file, a private key, or what
 * stands beside it.  E_NOT_FOUND...: as keyfile_read. */
MUST err_t sa_public(const char *path, struct key **out, struct buf *comment);
/* FILE-cert.pub of a key, whose FILE may have the end .pub: E_NOT_FOUND when there is none (not
 * told), else what is wrong is told. */
struct sa_certificate {
	struct key *cert;
	char *name;
	struct buf comment;
};
MUST err_t sa_certificate(const char *path, const struct key *k, struct sa_certificate *out);
void sa_certificate_done(struct sa_certificate *c);
/* Each default identity that is there, or each word.  Gives SA_OK when all went well and there was
 * one. */
typedef int sa_file_fn(struct sa *s, const char *path);
int sa_each_file(struct sa *s, char **words, size_t n, sa_file_fn *fn);
/* Standard input whole. */
MUST err_t sa_read_stdin(struct buf *out);

/* The actions: exit states. */
int sa_add(struct sa *s, const char *path);
int sa_remove(struct sa *s, const char *path);
int sa_forget(struct sa *s, const char *path);
int sa_load_keychain(struct sa *s);
int sa_remove_all(struct sa *s);
int sa_list(struct sa *s);
int sa_test(struct sa *s, const char *path);
int sa_extensions(struct sa *s);
int sa_lock(struct sa *s);
int sa_env(struct sa *s);

/* dest.c: fills s->limits.destinations from -h and -H. */
int sa_destinations(struct sa *s);
void sa_destinations_done(struct sa *s);

#endif
