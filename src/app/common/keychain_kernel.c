/* SPDX-License-Identifier: ISC */
/*
 * keychain_kernel - passphrases in the kernel's session keyring, until the session ends or the
 * machine stops
 *
 * The session keyring is what a login begins (pam_keyinit); a process without one has its user's.
 * keyctl(2) without its library: five calls.
 */
#include <errno.h>
#include <linux/keyctl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "app/common/keychain.h"

#define KIND           "user"
#define PREFIX         "bowline:ssh:"
#define KEYS_MAX       4096
#define NAME_MAX_BYTES 8192

static err_t say(struct buf *why, const char *what)
{
	bool is_absent = errno == ENOSYS || errno == EPERM;
	buf_printf(why, "the kernel keyring %s: %s", what, strerror(errno));
	return is_absent ? E_UNSUPPORTED : errno == EACCES ? E_PERMISSION : E_IO;
}

static err_t describe(const char *account, char *out)
{
	size_t n = strlen(account);
	if (n > NAME_MAX_BYTES - sizeof(PREFIX))
		return E_LIMIT;
	memcpy(out, PREFIX, sizeof(PREFIX) - 1);
	memcpy(out + sizeof(PREFIX) - 1, account, n + 1);
	return OK;
}

/* By its own number: the special one would give a process that has no session keyring a new one,
 * which ends with it.  Less than 0: there is none. */
static long keyring(void)
{
	return syscall(SYS_keyctl, (long)KEYCTL_GET_KEYRING_ID, (long)KEY_SPEC_SESSION_KEYRING, 0L);
}

/* 4,095 bytes and the kernel's own prefix are what a description may have (request_key(2)). */
static long find(const char *account)
{
	char name[NAME_MAX_BYTES];
	if (describe(account, name) != OK) {
		errno = EINVAL;
		return -1;
	}
	return syscall(SYS_keyctl, (long)KEYCTL_SEARCH, keyring(), KIND, name, 0L);
}

static bool is_gone(void)
{
	return errno == ENOKEY || errno == EKEYEXPIRED || errno == EKEYREVOKED;
}

static err_t kernel_get(const char *account, struct buf *passphrase, struct buf *why)
{
	uint8_t bytes[KEYCHAIN_SECRET_MAX];
	long id = find(account);
	if (id < 0)
		return is_gone() ? E_NOT_FOUND : say(why, "cannot be searched");
	long n = syscall(SYS_keyctl, (long)KEYCTL_READ, id, bytes, (unsigned long)sizeof(bytes));
	if (n < 0 || (size_t)n > sizeof(bytes))
		return say(why, "cannot be read");
	buf_put(passphrase, bytes, (size_t)n);
	explicit_bzero(bytes, sizeof(bytes));
	return buf_err(passphrase);
}

static err_t kernel_put(const char *account, struct cslice passphrase, struct buf *why)
{
	char name[NAME_MAX_BYTES];
	TRY(describe(account, name));
	if (syscall(SYS_add_key, KIND, name, passphrase.p, passphrase.n, keyring()) < 0)
		return say(why, "takes no key");
	return OK;
}

static err_t kernel_forget(const char *account, struct buf *why)
{
	long id = find(account);
	if (id < 0)
		return is_gone() ? E_NOT_FOUND : say(why, "cannot be searched");
	if (syscall(SYS_keyctl, (long)KEYCTL_UNLINK, id, keyring()) < 0)
		return say(why, "does not let go of the key");
	return OK;
}

/* A description is "type;uid;gid;permissions;name". */
static const char *account_in(char *text, long n)
{
	if (n <= 0 || n > NAME_MAX_BYTES)
		return NULL;
	text[n - 1] = '\0';
	const char *at = text;
	for (int i = 0; i < 4 && at != NULL; i++) {
		at = strchr(at, ';');
		at = at != NULL ? at + 1 : NULL;
	}
	if (at == NULL || strncmp(at, PREFIX, sizeof(PREFIX) - 1) != 0)
		return NULL;
	return at + sizeof(PREFIX) - 1;
}

static err_t kernel_each(keychain_path_fn *fn, void *arg, struct buf *why)
{
	int32_t *ids = calloc(KEYS_MAX, sizeof(*ids));
	char text[NAME_MAX_BYTES];
	if (ids == NULL)
		return E_MEM;
	long n = syscall(SYS_keyctl, (long)KEYCTL_READ, keyring(), ids,
		(unsigned long)KEYS_MAX * sizeof(*ids));
	err_t e = n < 0 ? say(why, "cannot be listed") : OK;
	size_t count = n > 0 ? (size_t)n / sizeof(*ids) : 0;
	for (size_t i = 0; i < count && i < KEYS_MAX; i++) {
		long len = syscall(SYS_keyctl, (long)KEYCTL_DESCRIBE, (long)ids[i], text,
			(unsigned long)sizeof(text));
		const char *account = account_in(text, len);
		if (account != NULL)
			fn(arg, account);
	}
	free(ids);
	return e;
}

const struct keychain_place keychain_kernel = {
	"kernel", "kernel keyring", true, kernel_get, kernel_put, kernel_forget, kernel_each};
