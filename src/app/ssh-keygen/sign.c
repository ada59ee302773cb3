/* SPDX-License-Identifier: ISC */
/*
 * sign - signatures of files: -Y sign, verify, check-novalidate, find-principals, match-principals
 *
 * What is signed or checked comes by standard input, or from the files that `sign` is given.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "app/common/agent_client.h"
#include "app/common/localtime.h"
#include "app/ssh-keygen/kg.h"
#include "key/cert.h"
#include "key/krl.h"
#include "key/sshsig.h"

#define CHUNK     ((size_t)64 << 10)
#define LIST_MAX  ((size_t)8 << 20) /* allowed_signers, revoked keys */
#define FILE_MODE 0666

#define CERT_SUFFIX "-cert.pub"

struct signing {
	struct kg_options *o;
	enum hash_id hash;
	bool print_pubkey;
	uint64_t when_s;
};

static bool value_of(const char *option, const char *name, const char **value)
{
	size_t n = strlen(name);
	if (!ascii_eq_nocase(cslice_of(option, num_min(n, strlen(option))), name) ||
		option[n] != '=')
		return false;
	*value = option + n + 1;
	return true;
}

static int read_options(struct signing *s)
{
	s->hash = HASH_SHA512;
	s->when_s = (uint64_t)time(NULL);
	for (size_t i = 0; i < s->o->options_n; i++) {
		const char *option = s->o->options[i], *value;
		if (value_of(option, "hashalg", &value)) {
			if (sshsig_hash_from_name(cslice_str(value), &s->hash) != OK)
				return kg_say(KG_FATAL,
					"Unsupported hash algorithm \"%s\": sha256 and sha512 are "
					"there",
					value);
		} else if (value_of(option, "verify-time", &value)) {
			if (ak_time_parse(cslice_str(value), local_time, &s->when_s) != OK)
				return kg_say(KG_FATAL, "Invalid \"verify-time\" option");
		} else if (ascii_eq_nocase(cslice_str(option), "print-pubkey")) {
			s->print_pubkey = true;
		} else {
			return kg_say(KG_FATAL, "Invalid option \"%s\"", option);
		}
	}
	return KG_OK;
}

static err_t digest_of(int fd, enum hash_id hash, uint8_t *digest)
{
	static uint8_t chunk[CHUNK];
	struct hash *h = NULL;
	err_t e = hash_new(&h, hash);
	while (e == OK) {
		ssize_t n = read(fd, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			e = n < 0 ? E_IO : OK;
			break;
		}
		e = hash_update(h, cslice_of(chunk, (size_t)n));
	}
	if (e == OK)
		e = hash_peek(h, digest);
	int saved = errno;
	hash_free(h);
	errno = saved;
	return e;
}

/* ---- sign ---- */

struct sign_key {
	struct key *pub, *priv; /* priv NULL: the agent signs */
	struct agent_client agent;
	bool is_in_agent;
};

static void compare(void *arg, struct key *k, struct cslice comment)
{
	struct sign_key *s = arg;
	(void)comment;
	s->is_in_agent = s->is_in_agent || key_equal_public(k, s->pub);
	key_free(k);
}

static bool agent_has(struct sign_key *s)
{
	const char *path = getenv("SSH_AUTH_SOCK");
	if (path == NULL || path[0] == '\0' || agent_connect(&s->agent, path) != OK)
		return false;
	err_t e = agent_list(&s->agent, compare, s);
	if (e == OK && s->is_in_agent)
		return true;
	agent_close(&s->agent);
	s->agent.fd = -1;
	return false;
}

static void sign_key_done(struct sign_key *s)
{
	if (s->agent.fd >= 0)
		agent_close(&s->agent);
	key_free(s->pub);
	key_free(s->priv);
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), end_n = strlen(end);
	return n > end_n && strcmp(s + n - end_n, end) == 0;
}

/* A certificate where the file is one. */
static err_t load_public(struct key **k, const char *path)
{
	struct buf text;
	buf_init(&text, KEYFILE_MAX);
	err_t e = keyfile_read(path, &text);
	if (e == OK)
		e = key_parse_line_any(k, buf_bytes(&text), NULL);
	buf_done(&text);
	return e == OK ? OK : keyfile_load_public(k, path, NULL);
}

/* -f may be a public file or a certificate, whose private half the agent has or the file beside it.
 */
static int sign_key_load(struct sign_key *s, const struct kg_options *o)
{
	struct kg_old old = {o->old_phrase, "Enter passphrase for %s: "};
	struct keyfile_ask ask = {kg_ask_old, &old, 1, NULL, NULL};
	size_t n = strlen(o->file);
	bool is_pub = ends_with(o->file, ".pub");
	size_t suffix_n = ends_with(o->file, CERT_SUFFIX) ? strlen(CERT_SUFFIX) : is_pub ? 4 : 0;
	char *path = strndup(o->file, n - suffix_n);
	struct buf why;
	if (path == NULL)
		return KG_FATAL;
	buf_init(&why, KG_LINE_MAX);
	int state = KG_OK;
	err_t e = is_pub ? load_public(&s->pub, o->file) : OK;
	if (e != OK) {
		state = kg_say(
			KG_FATAL, "Couldn't load public key %s: %s", o->file, keyfile_reason(e));
	} else if (s->pub == NULL || !agent_has(s)) {
		e = keyfile_load_private(&s->priv, path, &ask, NULL, &why);
		if (why.n > 0)
			(void)fwrite(why.p, 1, why.n, stderr);
		if (e != OK)
			state = kg_say(KG_FATAL, "Couldn't load signing key \"%s\"", path);
		else if (s->pub != NULL && !key_equal_public(s->pub, s->priv))
			state = kg_say(KG_FATAL, "%s is the public half of another key than %s",
				o->file, path);
		else if (s->pub == NULL && key_public_copy(&s->pub, s->priv) != OK)
			state = KG_FATAL;
	}
	buf_done(&why);
	free(path);
	return state;
}

static err_t sign_fd(struct signing *s, struct sign_key *k, int fd, struct buf *out)
{
	uint8_t digest[HASH_MAX];
	struct buf tbs, sig;
	struct cslice space = cslice_str(s->o->names), alg = sshsig_alg(k->pub);
	TRY(digest_of(fd, s->hash, digest));
	buf_init(&tbs, KG_LINE_MAX);
	buf_init(&sig, KEYFILE_MAX);
	err_t e = sshsig_tbs(space, s->hash, digest, &tbs);
	if (e == OK && k->priv != NULL) {
		key_set_rng(k->priv, os_rng());
		e = key_sign(k->priv, alg, buf_bytes(&tbs), &sig);
	} else if (e == OK) {
		/* the agent need not know the certificate */
		struct key *plain = NULL;
		e = key_public_copy(&plain, k->pub);
		if (e == OK) {
			key_drop_cert(plain);
			e = agent_sign(&k->agent, plain, alg, buf_bytes(&tbs), &sig);
		}
		key_free(plain);
	}
	if (e == OK)
		e = sshsig_put(k->pub, space, s->hash, buf_bytes(&sig), out);
	buf_done(&sig);
	buf_done(&tbs);
	return e;
}

static err_t write_beside(const struct kg_options *o, const char *path, struct cslice text)
{
	struct keyfile_staged staged = {NULL, NULL};
	mode_t mask = umask(0);
	(void)umask(mask);
	if (!kg_may_overwrite(path, false))
		return E_CANCELLED;
	err_t e = keyfile_stage(&staged, path, text, FILE_MODE & ~mask);
	if (e == OK)
		e = keyfile_commit(&staged);
	int saved = errno;
	keyfile_drop(&staged);
	errno = saved;
	if (e == OK && !o->quiet)
		(void)kg_say(0, "Write signature to %s", path);
	return e;
}

static int sign_file(struct signing *s, struct sign_key *k, const char *path)
{
	struct buf text;
	char *name = NULL;
	if (!s->o->quiet)
		(void)kg_say(0, "Signing file %s", path);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return kg_say(
			KG_FATAL, "Cannot open \"%s\" for signing: %s", path, strerror(errno));
	buf_init(&text, KEYFILE_MAX);
	errno = 0;
	err_t e = asprintf(&name, "%s.sig", path) < 0 ? E_MEM : sign_fd(s, k, fd, &text);
	if (e == OK)
		e = write_beside(s->o, name, buf_bytes(&text));
	int state = e == OK ? KG_OK
		    : e == E_CANCELLED
			    ? KG_FATAL
			    : kg_say(KG_FATAL, "Signing %s failed: %s", path, keyfile_reason(e));
	(void)close(fd);
	free(name);
	buf_done(&text);
	return state;
}

static int do_sign(struct signing *s, char **files, size_t files_n)
{
	struct sign_key k = {.agent = {-1}};
	struct buf text;
	int state = sign_key_load(&k, s->o);
	for (size_t i = 0; state == KG_OK && i < files_n; i++)
		state = sign_file(s, &k, files[i]);
	if (state == KG_OK && files_n == 0) {
		buf_init(&text, KEYFILE_MAX);
		if (!s->o->quiet && isatty(STDIN_FILENO))
			(void)kg_say(0, "Signing data on standard input");
		err_t e = sign_fd(s, &k, STDIN_FILENO, &text);
		if (e == OK)
			(void)fwrite(text.p, 1, text.n, stdout);
		else
			state = kg_say(KG_FATAL, "Signing failed: %s", keyfile_reason(e));
		buf_done(&text);
	}
	sign_key_done(&k);
	return state;
}

/* ---- verify, check-novalidate ---- */

static int load_signature(struct sshsig *sig, const struct kg_options *o)
{
	struct buf text;
	buf_init(&text, KEYFILE_MAX);
	err_t e = keyfile_read(o->sig_file, &text);
	int state = KG_OK;
	if (e != OK)
		state = kg_say(KG_FATAL, "Couldn't read signature file %s: %s", o->sig_file,
			keyfile_reason(e));
	else if ((e = sshsig_read(sig, buf_bytes(&text))) != OK)
		state = kg_say(
			KG_FATAL, "%s: couldn't parse signature: %s", o->sig_file, err_text(e));
	buf_done(&text);
	return state;
}

static err_t load_list(const char *path, struct buf *out)
{
	err_t e = os_file_read(path, out, NULL);
	if (e != OK)
		(void)kg_say(0, "%s: %s", path, keyfile_reason(e));
	return e;
}

/* A revocation list, or keys one a line.  What cannot be read is a NO. */
static err_t not_revoked(const char *path, const struct key *k)
{
	struct buf text;
	err_t why;
	buf_init(&text, KRL_MAX);
	err_t e = load_list(path, &text);
	if (e == OK && krl_check_text(buf_bytes(&text), k, &why) != KRL_FINE) {
		if (why == OK)
			(void)kg_say(0, "Signature key is revoked: %s", path);
		else
			(void)kg_say(0, "%s: this is no revocation list: %s", path, err_text(why));
		e = E_DENIED;
	}
	buf_done(&text);
	return e;
}

static err_t is_allowed(const struct signing *s, const struct sshsig *sig)
{
	struct buf text;
	struct cslice principals;
	struct as_query q = {s->o->identity, sig->pub, &sig->space, s->when_s, local_time, NULL};
	buf_init(&text, LIST_MAX);
	err_t e = load_list(s->o->file, &text);
	struct cslice rest = buf_bytes(&text);
	if (e == OK)
		e = as_next(&rest, &q, &principals);
	if (e == E_CONFIG)
		(void)kg_say(0, "%s: a line for %s is malformed", s->o->file, s->o->identity);
	else if (e == E_NOT_FOUND)
		(void)kg_say(0, "%s: no key of %s that counts here made this signature", s->o->file,
			s->o->identity);
	buf_done(&text);
	return e;
}

static void say_good(const struct signing *s, const struct sshsig *sig)
{
	struct buf shown, line;
	buf_init(&shown, KG_LINE_MAX);
	buf_init(&line, KEYFILE_MAX);
	if (key_fingerprint(sig->pub, s->o->hash_id, &shown) == OK && !s->o->quiet) {
		(void)printf(
			"Good \"%.*s\" signature ", (int)sig->space.n, (const char *)sig->space.p);
		if (s->o->identity != NULL)
			(void)printf("for %s ", s->o->identity);
		(void)printf("with %s key %.*s\n", key_shown(sig->pub), (int)shown.n,
			(const char *)shown.p);
	}
	if (s->print_pubkey && key_line_any(sig->pub, NULL, &line) == OK)
		(void)printf("%.*s\n", (int)line.n, (const char *)line.p);
	buf_done(&line);
	buf_done(&shown);
}

static int do_verify(const struct signing *s, bool validates)
{
	struct sshsig sig = {.pub = NULL};
	uint8_t digest[HASH_MAX];
	int state = load_signature(&sig, s->o);
	if (state != KG_OK && !s->o->quiet)
		(void)printf("Could not verify signature.\n");
	if (state != KG_OK)
		return state;
	err_t e = digest_of(STDIN_FILENO, sig.hash, digest);
	if (e == OK)
		e = sshsig_verify(&sig, cslice_str(s->o->names), digest);
	if (e == E_DENIED)
		(void)kg_say(0,
			"Couldn't verify signature: it is for another namespace than \"%s\"",
			s->o->names);
	else if (e != OK)
		(void)kg_say(0, "Signature verification failed: %s", err_text(e));
	if (e == OK && s->o->sshfp_host != NULL) /* -r */
		e = not_revoked(s->o->sshfp_host, sig.pub);
	if (e == OK && validates)
		e = is_allowed(s, &sig);
	if (e == OK)
		say_good(s, &sig);
	else if (!s->o->quiet)
		(void)printf("Could not verify signature.\n");
	sshsig_done(&sig);
	return e == OK ? KG_OK : KG_FATAL;
}

/* ---- find-principals, match-principals ---- */

static int do_find(const struct signing *s)
{
	struct sshsig sig = {.pub = NULL};
	struct buf text;
	struct cslice principals = {NULL, 0}, name;
	int state = load_signature(&sig, s->o);
	if (state != KG_OK)
		return state;
	struct buf names;
	struct as_query q = {NULL, sig.pub, NULL, s->when_s, local_time, &names};
	buf_init(&names, LIST_MAX);
	buf_init(&text, LIST_MAX);
	err_t e = load_list(s->o->file, &text);
	struct cslice rest = buf_bytes(&text);
	if (e == OK)
		e = as_next(&rest, &q, &principals);
	if (e == OK)
		while (list_next(&principals, &name))
			(void)printf("%.*s\n", (int)name.n, (const char *)name.p);
	else
		state = kg_say(KG_FATAL,
			e == E_CONFIG ? "%s: a line is malformed" : "No principal matched.",
			s->o->file);
	buf_done(&text);
	buf_done(&names);
	sshsig_done(&sig);
	return state;
}

static int do_match(const struct signing *s)
{
	struct buf text;
	struct cslice principals;
	size_t found = 0;
	struct as_query q = {s->o->identity, NULL, NULL, 0, local_time, NULL};
	buf_init(&text, LIST_MAX);
	err_t e = load_list(s->o->file, &text);
	struct cslice rest = buf_bytes(&text);
	while (e == OK && (e = as_next(&rest, &q, &principals)) == OK) {
		(void)printf("%.*s\n", (int)principals.n, (const char *)principals.p);
		found++;
	}
	int state = KG_OK;
	if (e == E_CONFIG)
		state = kg_say(KG_FATAL, "%s: a line is malformed", s->o->file);
	else if (e != E_NOT_FOUND || found == 0)
		state = kg_say(KG_FATAL, "No principal matched.");
	buf_done(&text);
	return state;
}

/* ---- which of them ---- */

enum needs { NEEDS_SPACE = 1, NEEDS_KEY = 2, NEEDS_SIG = 4, NEEDS_WHO = 8, NEEDS_LIST = 16 };

/* clang-format off */
static const struct action {
	const char *name;
	unsigned needs;
} actions[] = {
	{"find-principals",  NEEDS_SIG | NEEDS_LIST},
	{"match-principals", NEEDS_WHO | NEEDS_LIST},
	{"sign",             NEEDS_SPACE | NEEDS_KEY},
	{"check-novalidate", NEEDS_SPACE | NEEDS_SIG},
	{"verify",           NEEDS_SPACE | NEEDS_SIG | NEEDS_WHO | NEEDS_LIST},
};
/* clang-format on */

static const char *missing(const struct kg_options *o, unsigned needs)
{
	bool no_space = o->names == NULL || o->names[0] == '\0';
	return (needs & NEEDS_SPACE) && no_space            ? "namespace"
	       : (needs & NEEDS_SIG) && o->sig_file == NULL ? "signature file"
	       : (needs & NEEDS_WHO) && o->identity == NULL ? "principal identity"
	       : (needs & NEEDS_LIST) && o->file == NULL    ? "allowed keys file"
	       : (needs & NEEDS_KEY) && o->file == NULL     ? "key"
							    : NULL;
}

int kg_signatures(struct kg_options *o, char **files, size_t files_n)
{
	struct signing s = {.o = o};
	const struct action *a = NULL;
	/* A word may go on behind the name of an action, as OpenSSH takes it. */
	for (size_t i = 0; i < ARRAY_N(actions) && a == NULL; i++)
		if (strncmp(o->sign_action, actions[i].name, strlen(actions[i].name)) == 0)
			a = &actions[i];
	if (a == NULL)
		return kg_say(KG_FAILED, "Unsupported operation for -Y: \"%s\"", o->sign_action);
	if (files_n > 0 && strcmp(a->name, "sign") != 0)
		return kg_say(KG_USAGE, "Too many arguments.");
	const char *what = missing(o, a->needs);
	if (what != NULL)
		return kg_say(KG_FAILED, "Too few arguments for %s: missing %s", a->name, what);
	int state = read_options(&s);
	if (state != KG_OK)
		return state;
	if (strcmp(a->name, "sign") == 0)
		return do_sign(&s, files, files_n);
	if (strcmp(a->name, "find-principals") == 0)
		return do_find(&s);
	if (strcmp(a->name, "match-principals") == 0)
		return do_match(&s);
	return do_verify(&s, strcmp(a->name, "verify") == 0);
}
