/* SPDX-License-Identifier: ISC */
/*
 * ssh-keychain - the Secret Service for the other programs, so that none of them links libsecret
 *
 * Not for people: keychain_helper.h says what goes in and out.  Items have the attribute `path` and
 * a schema of their own, so that keyring managers show them as what they are.
 */
#include <errno.h>
#include <libsecret/secret.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/common/keychain_helper.h"
#include "os/drop.h"

#define SECRET_MAX 8192

static const SecretSchema schema = {
	.name = "org.bowline.ssh.Passphrase",
	.flags = SECRET_SCHEMA_NONE,
	.attributes = {{"path", SECRET_SCHEMA_ATTRIBUTE_STRING}},
};

/* Nothing answers on the session's bus, or something said no. */
static int fail(GError *error)
{
	bool is_absent =
		error != NULL && (error->domain == G_DBUS_ERROR || error->domain == G_IO_ERROR);
	const char *text = error != NULL ? error->message : "no reason was given";
	(void)printf("the Secret Service %s: %s\n", is_absent ? "does not answer" : "failed",
		g_dbus_error_is_remote_error(error) && g_dbus_error_strip_remote_error(error)
			? error->message
			: text);
	g_clear_error(&error);
	return is_absent ? KEYCHAIN_UNAVAILABLE : KEYCHAIN_FAILED;
}

static int get(const char *account)
{
	GError *error = NULL;
	gchar *secret = secret_password_lookup_nonpageable_sync(
		&schema, NULL, &error, "path", account, NULL);
	if (error != NULL)
		return fail(error);
	if (secret == NULL)
		return KEYCHAIN_NONE;
	size_t n = strlen(secret);
	bool is_out = fwrite(secret, 1, n, stdout) == n && fflush(stdout) == 0;
	secret_password_free(secret);
	return is_out ? KEYCHAIN_DONE : KEYCHAIN_FAILED;
}

static bool read_secret(char *out, size_t room)
{
	size_t n = 0;
	while (n < room) {
		ssize_t got = read(STDIN_FILENO, out + n, room - n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			out[n] = '\0';
			return got == 0 && strlen(out) == n;
		}
		n += (size_t)got;
	}
	return false;
}

static int put(const char *account)
{
	char secret[SECRET_MAX + 1];
	GError *error = NULL;
	if (!read_secret(secret, sizeof(secret))) {
		(void)printf("the passphrase is too long or holds a NUL byte\n");
		return KEYCHAIN_FAILED;
	}
	gchar *label = g_strdup_printf("SSH: %s", account);
	(void)secret_password_store_sync(&schema, SECRET_COLLECTION_DEFAULT, label, secret, NULL,
		&error, "path", account, NULL);
	explicit_bzero(secret, sizeof(secret));
	g_free(label);
	return error != NULL ? fail(error) : KEYCHAIN_DONE;
}

static int forget(const char *account)
{
	GError *error = NULL;
	gboolean removed = secret_password_clear_sync(&schema, NULL, &error, "path", account, NULL);
	if (error != NULL)
		return fail(error);
	return removed ? KEYCHAIN_DONE : KEYCHAIN_NONE;
}

static int list(void)
{
	GError *error = NULL;
	GList *found =
		secret_password_search_sync(&schema, SECRET_SEARCH_ALL, NULL, &error, NULL, NULL);
	if (error != NULL)
		return fail(error);
	for (GList *l = found; l != NULL; l = l->next) {
		GHashTable *attributes = secret_retrievable_get_attributes(l->data);
		const char *path = g_hash_table_lookup(attributes, "path");
		if (path != NULL) {
			(void)fputs(path, stdout);
			(void)putchar('\0');
		}
		g_hash_table_unref(attributes);
	}
	g_list_free_full(found, g_object_unref);
	return fflush(stdout) == 0 ? KEYCHAIN_DONE : KEYCHAIN_FAILED;
}

int main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "";
	drop_dumpable();
	if (argc == 2 && strcmp(word, KEYCHAIN_WORD_LIST) == 0)
		return list();
	if (argc == 3 && strcmp(word, KEYCHAIN_WORD_GET) == 0)
		return get(argv[2]);
	if (argc == 3 && strcmp(word, KEYCHAIN_WORD_PUT) == 0)
		return put(argv[2]);
	if (argc == 3 && strcmp(word, KEYCHAIN_WORD_FORGET) == 0)
		return forget(argv[2]);
	(void)fprintf(stderr, "ssh-keychain is started by ssh and ssh-add\n");
	return 2;
}
