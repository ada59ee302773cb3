/* SPDX-License-Identifier: ISC */
/* paths - where identities are, whose they are, and how a pair of files is saved */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "app/ssh-keygen/kg.h"

#define MODE_PRIVATE 0600
#define MODE_PUBLIC  0644

#define KT(id, name, cert, shown, arg, file, bits, ops) [id] = file,
static const char *const default_files[KEY_TYPE_N] = {
#include "key/types.def"
};
#undef KT

char *kg_home_path(const char *name)
{
	char *path = NULL;
	/* the account's home, as ssh itself takes it; HOME may be another user's after su */
	const struct passwd *pw = getpwuid(getuid());
	if (pw == NULL ||
		asprintf(&path, "%s/.ssh%s%s", pw->pw_dir, name[0] != '\0' ? "/" : "", name) < 0)
		return NULL;
	return path;
}

const char *kg_identity_path(struct kg_options *o, enum key_type t, const char *question)
{
	struct buf line;
	char *prompt = NULL;
	if (o->file != NULL)
		return o->file;
	free(o->path_buf);
	o->path_buf = kg_home_path(default_files[t]);
	if (o->path_buf == NULL) {
		(void)kg_say(0, "No user exists for uid %u", (unsigned)getuid());
		return NULL;
	}
	if (asprintf(&prompt, "%s (%s): ", question, o->path_buf) < 0)
		return NULL;
	buf_init(&line, KG_LINE_MAX);
	bool has_line = kg_ask_line(prompt, &line);
	free(prompt);
	if (has_line && line.n > 0) {
		char *typed = NULL;
		if (text_dup(buf_bytes(&line), &typed) == OK) {
			free(o->path_buf);
			o->path_buf = typed;
		} else {
			has_line = false;
		}
	}
	buf_done(&line);
	return has_line ? o->path_buf : NULL;
}

static err_t stage_private(
	const struct kg_options *o, const struct kg_pair *pair, struct keyfile_staged *s)
{
	struct buf text;
	buf_init(&text, KEYFILE_MAX);
	struct key_write_opts opts = o->write;
	opts.comment = pair->comment;
	opts.passphrase = pair->passphrase;
	opts.rng = os_rng();
	err_t e = key_write_private(pair->k, &opts, &text);
	if (e == OK)
		e = keyfile_stage(s, pair->path, buf_bytes(&text), MODE_PRIVATE);
	int saved = errno;
	buf_done(&text);
	errno = saved;
	return e;
}

static err_t stage_public(const struct kg_pair *pair, struct keyfile_staged *s)
{
	struct buf text;
	char *name = NULL;
	if (asprintf(&name, "%s.pub", pair->path) < 0)
		return E_MEM;
	buf_init(&text, KEYFILE_MAX);
	err_t e = key_public_line(pair->k, pair->comment, &text);
	buf_put_u8(&text, '\n');
	if (e == OK)
		e = buf_err(&text);
	if (e == OK)
		e = keyfile_stage(s, name, buf_bytes(&text), MODE_PUBLIC);
	int saved = errno;
	buf_done(&text);
	free(name);
	errno = saved;
	return e;
}

err_t kg_save(const struct kg_options *o, const struct kg_pair *pair)
{
	struct keyfile_staged private = {NULL, NULL}, public = {NULL, NULL};
	err_t e = stage_private(o, pair, &private);
	bool private_failed = e != OK;
	if (e == OK && pair->with_public)
		e = stage_public(pair, &public);
	if (e == OK) {
		bool is_private_in;
		e = keyfile_commit_pair(&private, &public, &is_private_in);
		private_failed = !is_private_in;
	}
	if (e != OK && private_failed)
		(void)kg_say(0, "Saving key \"%s\" failed: %s", pair->path, keyfile_reason(e));
	else if (e != OK)
		(void)kg_say(0, "Unable to save public key to %s.pub: %s", pair->path,
			keyfile_reason(e));
	keyfile_drop(&public);
	keyfile_drop(&private);
	return e;
}

void kg_default_comment(struct buf *out)
{
	char host[256] = "";
	const struct passwd *pw = getpwuid(getuid());
	if (gethostname(host, sizeof(host) - 1) < 0)
		host[0] = '\0';
	buf_printf(out, "%s@%s", pw != NULL ? pw->pw_name : "", host);
}
