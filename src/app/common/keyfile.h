/* SPDX-License-Identifier: ISC */
/*
 * keyfile - key files on disk: permission rule, passphrase question, safe replacement
 *
 * `why` collects what to tell the user in OpenSSH's words, one sentence a line, ready for stderr;
 * it may be NULL.
 */
#ifndef APP_COMMON_KEYFILE_H
#define APP_COMMON_KEYFILE_H

#include "key/key.h"

#define KEYFILE_MAX ((size_t)1 << 20)

/* A whole file, up to KEYFILE_MAX.  E_NOT_FOUND, E_PERMISSION, E_IO (errno tells), E_LIMIT.
 * Appended. */
MUST err_t keyfile_read(const char *path, struct buf *out);
/* "No such file or directory" ... for keyfile_read's errors, err_text for the others; errno must
 * still stand. */
const char *keyfile_reason(err_t e);

/*
 * Gives the passphrase for path; try counts from 0.  An empty answer ends the tries.
 * OK with the answer in *passphrase (a clean buf); E_CANCELLED to give up.
 */
typedef err_t keyfile_ask_fn(void *arg, const char *path, uint32_t try, struct buf *passphrase);
struct keyfile_ask {
	keyfile_ask_fn *fn; /* NULL: never ask */
	void *arg;
	uint32_t tries;
	const char *before, *after; /* around the path in the last sentence of why; NULL: `Load key
				       "` and `": ` */
};

/*
 * keyfile_load_private - reads a private key
 *
 * A file that is ours and open to others is refused (E_PERMISSION and the box of compat 8.3 in
 * why).  No passphrase is tried first; then ask is called up to `tries` times.  why: `Load key "F":
 * reason`, nothing when the user gave up. comment may be NULL; appended.
 */
MUST err_t keyfile_load_private(struct key **out, const char *path, const struct keyfile_ask *ask,
	struct buf *comment, struct buf *why);

/* The same for a file's text at hand: the questions without the file and its permission rule; path
 * is what ask is told. */
MUST err_t keyfile_parse_private(struct key **out, const char *path, struct cslice text,
	const struct keyfile_ask *ask, struct buf *comment);

/*
 * keyfile_load_public - the public key of an identity: path is a .pub file, or a private one
 *
 * The public half inside a private file wins over path.pub, which gives the comment (and the key of
 * formats that hide it).  No passphrase, no permission rule.
 */
MUST err_t keyfile_load_public(struct key **out, const char *path, struct buf *comment);

/*
 * keyfile_stage, keyfile_commit - write a file so that a crash or a full disk leaves the old one
 * whole
 *
 * stage writes a temporary file beside path and syncs it; commit renames it into place.  So several
 * files can be staged before the first one is replaced.  A symbolic link is followed, also to a
 * file that is not there yet.  mode: of the file, new or old; the owner of an old file is kept.
 * Each staged file ends with commit or drop (both are fine on a zeroed one). E_IO: errno tells.
 */
struct keyfile_staged {
	char *temporary, *target; /* owned */
};
MUST err_t keyfile_stage(
	struct keyfile_staged *s, const char *path, struct cslice bytes, uint32_t mode);
MUST err_t keyfile_commit(struct keyfile_staged *s);
void keyfile_drop(struct keyfile_staged *s);
/*
 * The two files of a pair (public may be zeroed).  A crash leaves the old pair, the new pair, or
 * one of the two private keys with no public file beside it, never a mixed pair; an error leaves
 * the old pair, or the new private key alone (*is_private_in).
 */
MUST err_t keyfile_commit_pair(
	struct keyfile_staged *private, struct keyfile_staged *public, bool *is_private_in);
/* Both at once. */
MUST err_t keyfile_replace(const char *path, struct cslice bytes, uint32_t mode);

#endif
