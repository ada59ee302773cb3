/* SPDX-License-Identifier: ISC */
/* files - the files that arguments stand for: default identities, public keys, certificates */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/common/keyfile.h"
#include "app/ssh-add/sa.h"

/* In the order of the defaults of IdentityFile. */
static const char *const default_names[] = {
	"id_rsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk", "id_mldsa44_ed25519"};

int sa_each_file(struct sa *s, char **words, size_t n, sa_file_fn *fn)
{
	int state = SA_OK;
	size_t found = 0;
	for (size_t i = 0; i < n; i++)
		if (fn(s, words[i]) != SA_OK)
			state = SA_FAILED;
	for (size_t i = 0; n == 0 && i < ARRAY_N(default_names); i++) {
		char *path = NULL;
		struct stat st;
		if (asprintf(&path, "%s/.ssh/%s", s->me.home, default_names[i]) < 0)
			return SA_FAILED;
		if (stat(path, &st) == 0) {
			found++;
			if (fn(s, path) != SA_OK)
				state = SA_FAILED;
		}
		free(path);
	}
	return n == 0 && found == 0 ? SA_FAILED : state;
}

err_t sa_read_stdin(struct buf *out)
{
	for (;;) {
		uint8_t part[4096];
		ssize_t n = read(STDIN_FILENO, part, sizeof(part));
		if (n < 0 && errno == EINTR)
			continue;
		if (n > 0)
			buf_put(out, part, (size_t)n);
		wipe(part, sizeof(part));
		if (n < 0)
			return E_IO;
		if (n == 0 || buf_err(out) != OK)
			return buf_err(out);
	}
}

/* The first line of a file that holds a key or a certificate. */
static err_t first_key(const char *path, struct key **out, struct buf *comment)
{
	struct buf text;
	buf_init(&text, KEYFILE_MAX);
	err_t e = keyfile_read(path, &text);
	int why = errno;
	struct cslice rest = buf_bytes(&text), line;
	if (e == OK)
		e = E_KEY_FORMAT;
	while (e != OK && rest.n > 0) {
		const uint8_t *end = memchr(rest.p, '\n', rest.n);
		size_t n = end != NULL ? (size_t)(end - rest.p) : rest.n;
		line = cslice_of(rest.p, n);
		n = num_min(n + 1, rest.n);
		rest = cslice_of(rest.p + n, rest.n - n);
		if (line.n == 0 || line.p[0] == '#')
			continue;
		err_t one = key_parse_line_any(out, line, comment);
		if (one == OK || e == E_KEY_FORMAT)
			e = one;
	}
	buf_done(&text);
	errno = why;
	return e;
}

err_t sa_public(const char *path, struct key **out, struct buf *comment)
{
	if (first_key(path, out, comment) == OK)
		return OK;
	return keyfile_load_public(out, path, comment);
}

err_t sa_certificate(const char *path, const struct key *k, struct sa_certificate *out)
{
	struct key *cert = NULL;
	char *file = NULL;
	size_t n = strlen(path);
	n -= n > 4 && strcmp(path + n - 4, ".pub") == 0 ? 4 : 0;
	if (asprintf(&file, "%.*s-cert.pub", (int)n, path) < 0)
		return E_MEM;
	buf_init(&out->comment, KEYFILE_MAX);
	err_t e = first_key(file, &cert, &out->comment);
	if (e != OK && !(e == E_NOT_FOUND && errno == ENOENT)) {
		(void)sa_say(0, "Failed to load certificate \"%s\": %s", file, keyfile_reason(e));
		e = E_KEY_FORMAT;
	} else if (e == OK && key_cert(cert) == NULL) {
		(void)sa_say(
			0, "Failed to load certificate \"%s\": %s", file, err_text(E_KEY_FORMAT));
		e = E_KEY_FORMAT;
	} else if (e == OK && !key_equal_public(cert, k)) {
		(void)sa_say(0, "Certificate %s does not match private key %s", file, path);
		e = E_KEY_TYPE;
	}
	if (e != OK) {
		key_free(cert);
		free(file);
		buf_done(&out->comment);
		return e;
	}
	out->cert = cert;
	out->name = file;
	return OK;
}

void sa_certificate_done(struct sa_certificate *c)
{
	key_free(c->cert);
	free(c->name);
	buf_done(&c->comment);
}
