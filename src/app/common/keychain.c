/* SPDX-License-Identifier: ISC */
/* keychain - where passphrases are remembered: which place, and under which name */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/common/keychain.h"
#include "app/common/keychain_rows.h"
#include "base/defs.h"

static const struct keychain_place *const places[] = {KEYCHAIN_ROWS};

static const struct keychain_place *place_in_use(void)
{
	const char *wish = getenv("BOWLINE_KEYCHAIN");
	bool has_wish = wish != NULL && wish[0] != '\0';
	for (size_t i = 0; i < ARRAY_N(places); i++)
		if (has_wish ? strcmp(wish, places[i]->name) == 0 : !places[i]->by_name_only)
			return places[i];
	return NULL;
}

const char *keychain_name(void)
{
	const struct keychain_place *p = place_in_use();
	return p != NULL ? p->shown : NULL;
}

static err_t find_place(const struct keychain_place **out, struct buf *why)
{
	const char *wish = getenv("BOWLINE_KEYCHAIN");
	*out = place_in_use();
	if (*out != NULL)
		return OK;
	if (wish != NULL && strcmp(wish, "none") == 0)
		buf_printf(why, "BOWLINE_KEYCHAIN is none");
	else if (wish != NULL && wish[0] != '\0')
		buf_printf(why, "BOWLINE_KEYCHAIN names a place that is not built in");
	else
		buf_printf(why, "no keychain is built in");
	return E_UNSUPPORTED;
}

/* A file that is gone can still be forgotten: its name counts as it was written. */
static err_t account_of(const char *path, char **out, struct buf *why)
{
	char *account = realpath(path, NULL), *here = NULL;
	if (account == NULL && path[0] == '/') {
		account = strdup(path);
	} else if (account == NULL) {
		here = getcwd(NULL, 0);
		if (here != NULL && asprintf(&account, "%s/%s", here, path) < 0)
			account = NULL;
	}
	free(here);
	for (const char *c = account; c != NULL && *c != '\0'; c++) {
		if ((unsigned char)*c < ' ' || *c == 0x7f) {
			buf_printf(why, "the path holds control characters");
			free(account);
			return E_NAME;
		}
	}
	if (account == NULL)
		return E_MEM;
	*out = account;
	return OK;
}

/* One of the three for a path; a NULL why is a bucket of our own. */
struct task {
	const struct keychain_place *place;
	char *account;
	struct buf own, *why;
};

static err_t task_begin(struct task *t, const char *path, struct buf *why)
{
	*t = (struct task){.why = why != NULL ? why : &t->own};
	buf_init(&t->own, 4096);
	err_t e = find_place(&t->place, t->why);
	return e == OK ? account_of(path, &t->account, t->why) : e;
}

static err_t task_end(struct task *t, err_t e)
{
	free(t->account);
	buf_done(&t->own);
	return e;
}

err_t keychain_get(const char *path, struct buf *passphrase, struct buf *why)
{
	struct task t;
	err_t e = task_begin(&t, path, why);
	return task_end(&t, e == OK ? t.place->get(t.account, passphrase, t.why) : e);
}

err_t keychain_put(const char *path, struct cslice passphrase, struct buf *why)
{
	struct task t;
	err_t e = task_begin(&t, path, why);
	if (e == OK && passphrase.n > KEYCHAIN_SECRET_MAX) {
		buf_printf(t.why, "the passphrase is too long");
		e = E_LIMIT;
	}
	return task_end(&t, e == OK ? t.place->put(t.account, passphrase, t.why) : e);
}

err_t keychain_forget(const char *path, struct buf *why)
{
	struct task t;
	err_t e = task_begin(&t, path, why);
	return task_end(&t, e == OK ? t.place->forget(t.account, t.why) : e);
}

err_t keychain_each(keychain_path_fn *fn, void *arg, struct buf *why)
{
	const struct keychain_place *place = NULL;
	struct buf own;
	buf_init(&own, 4096);
	struct buf *words = why != NULL ? why : &own;
	err_t e = find_place(&place, words);
	if (e == OK)
		e = place->each(fn, arg, words);
	buf_done(&own);
	return e;
}
