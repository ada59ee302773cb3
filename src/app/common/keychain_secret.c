/* SPDX-License-Identifier: ISC */
/*
 * keychain_secret - passphrases in the Secret Service (gnome-keyring, KWallet, KeePassXC)
 *
 * By the helper program ssh-keychain, which alone links libsecret: a login that needs no passphrase
 * loads nothing of it.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/common/keychain.h"
#include "app/common/keychain_helper.h"
#include "base/text.h"
#include "build_config.h"
#include "os/helper.h"

#define LIST_MAX ((size_t)1 << 20)

static const char *program(void)
{
	const char *set = getenv("SSH_KEYCHAIN_HELPER");
	return set != NULL && set[0] == '/' ? set : LIBEXECDIR "/ssh-keychain";
}

/* The helper's output, cut to one line, is the reason. */
static err_t judge(int status, struct buf *out, size_t before, struct buf *why)
{
	if (status == KEYCHAIN_DONE)
		return OK;
	if (status == KEYCHAIN_NONE)
		return E_NOT_FOUND;
	struct cslice said = {out->p + before, out->n - before};
	while (said.n > 0 && said.p[said.n - 1] == '\n')
		said.n--;
	bool is_said = status == KEYCHAIN_UNAVAILABLE || status == KEYCHAIN_FAILED;
	if (is_said && said.n > 0)
		vis_put(why, said);
	else
		buf_printf(why, "%s ended with status %d", program(), status);
	out->n = before;
	return status == KEYCHAIN_FAILED ? E_IO : E_UNSUPPORTED;
}

static err_t ask_helper(const char *const *argv, struct cslice in, struct buf *out, struct buf *why)
{
	int status = 255;
	size_t before = out->n;
	if (access(argv[0], X_OK) != 0) {
		buf_printf(why, "%s is not installed", argv[0]);
		return E_UNSUPPORTED;
	}
	TRY(helper_converse(argv, in, out, &status));
	return judge(status, out, before, why);
}

static err_t secret_get(const char *account, struct buf *passphrase, struct buf *why)
{
	const char *const argv[] = {program(), KEYCHAIN_WORD_GET, account, NULL};
	return ask_helper(argv, cslice_of(NULL, 0), passphrase, why);
}

static err_t secret_put(const char *account, struct cslice passphrase, struct buf *why)
{
	const char *const argv[] = {program(), KEYCHAIN_WORD_PUT, account, NULL};
	struct buf out;
	buf_init(&out, KEYCHAIN_SECRET_MAX);
	err_t e = ask_helper(argv, passphrase, &out, why);
	buf_done(&out);
	return e;
}

static err_t secret_forget(const char *account, struct buf *why)
{
	const char *const argv[] = {program(), KEYCHAIN_WORD_FORGET, account, NULL};
	struct buf out;
	buf_init(&out, KEYCHAIN_SECRET_MAX);
	err_t e = ask_helper(argv, cslice_of(NULL, 0), &out, why);
	buf_done(&out);
	return e;
}

static err_t secret_each(keychain_path_fn *fn, void *arg, struct buf *why)
{
	const char *const argv[] = {program(), KEYCHAIN_WORD_LIST, NULL};
	struct buf out;
	buf_init(&out, LIST_MAX);
	err_t e = ask_helper(argv, cslice_of(NULL, 0), &out, why);
	const char *at = (const char *)out.p;
	size_t left = out.n;
	while (e == OK && left > 0) {
		size_t n = strnlen(at, left);
		if (n == left)
			break; /* without its end it is no account */
		fn(arg, at);
		at += n + 1;
		left -= n + 1;
	}
	buf_done(&out);
	return e;
}

const struct keychain_place keychain_secret_service = {"secret-service", "Secret Service", false,
	secret_get, secret_put, secret_forget, secret_each};
