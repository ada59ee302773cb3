/* SPDX-License-Identifier: ISC */
/*
 * password - the check of a password against a stored hash
 *
 * The trap of this code is reading a word that only means "no login" as a hash, or a failure token
 * of crypt(3) as its result.  So: the stored field must look like a hash of a known form, to the
 * length of its digest; the result must exist, be as long as the field and not begin with '*'; and
 * the comparison is done once, in constant time, on what passed.
 */
#include "build_config.h"

#include <crypt.h>
#include <stdlib.h>

#include "base/secret.h"
#include "os/user.h"

/* clang-format off */
static const struct form {
	const char *prefix;
	size_t digest; /* characters behind the last '$' */
	size_t dollars; /* at least, in the whole field */
} forms[] = {
	{"$y$",    43, 4},
	{"$gy$",   43, 4},
	{"$7$",    43, 3},
	{"$2a$",   53, 3},
	{"$2b$",   53, 3},
	{"$2y$",   53, 3},
	{"$6$",    86, 3},
	{"$5$",    43, 3},
	{"$sha1$", 28, 4},
	{"$1$",    22, 3},
};
/* clang-format on */

#define DES_SIZE 13

static bool is_hash_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '.' || c == '/';
}

static bool all_hash_chars(const char *s)
{
	for (; *s != 0; s++)
		if (!is_hash_char(*s))
			return false;
	return true;
}

/* NULL on failure where the library has that form; else its failure token may come back. */
#if HAVE_CRYPT_RN
static const char *make_hash(const char *text, const char *setting, struct crypt_data *data)
{
	return crypt_rn(text, setting, data, (int)sizeof(*data));
}
#else
static const char *make_hash(const char *text, const char *setting, struct crypt_data *data)
{
	return crypt_r(text, setting, data);
}
#endif

bool user_hash_is_wellformed(const char *hash)
{
	if (hash == NULL)
		return false;
	size_t n = strlen(hash);
	if (n == DES_SIZE && all_hash_chars(hash))
		return true;
	size_t dollars = 0;
	for (const char *p = hash; *p != 0; p++)
		dollars += *p == '$';
	for (size_t i = 0; i < ARRAY_N(forms); i++) {
		const struct form *f = &forms[i];
		if (strncmp(hash, f->prefix, strlen(f->prefix)) != 0)
			continue;
		const char *digest = strrchr(hash, '$') + 1;
		return dollars >= f->dollars && strlen(digest) == f->digest &&
		       all_hash_chars(digest);
	}
	return false;
}

err_t user_password_check(const char *hash, const char *typical, struct cslice password)
{
	bool is_real = user_hash_is_wellformed(hash);
	const char *stored = is_real ? hash : typical;
	char text[CRYPT_MAX_PASSPHRASE_SIZE + 1];
	struct crypt_data *data = calloc(1, sizeof(*data));
	if (data == NULL)
		return E_MEM;
	/* A password that crypt(3) cannot take, or with a NUL byte in it, costs the same and never
	 * fits. */
	bool is_usable = password.n < CRYPT_MAX_PASSPHRASE_SIZE &&
			 (password.n == 0 || memchr(password.p, 0, password.n) == NULL);
	size_t n = is_usable ? password.n : 0;
	if (n > 0)
		memcpy(text, password.p, n);
	text[n] = 0;
	const char *made = make_hash(text, stored, data);
	bool is_result =
		made != NULL && made[0] != '*' && made[0] != 0 && strlen(made) == strlen(stored);
	bool is_same = is_result && ct_eq(made, stored, strlen(stored));
	wipe(text, sizeof(text));
	wipe_free(data, sizeof(*data));
	return is_real && is_usable && is_result && is_same ? OK : E_DENIED;
}
