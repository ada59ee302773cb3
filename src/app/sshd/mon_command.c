/* SPDX-License-Identifier: ISC */
/*
 * mon_command - AuthorizedKeysCommand and AuthorizedPrincipalsCommand: programs of the
 * administrator that know keys and principals
 *
 * The monitor starts them, as the network process can start nothing.  It waits meanwhile: until the
 * program's end, the end of the grace time, or the peer's going away.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "app/sshd/account.h"
#include "app/sshd/files.h"
#include "app/sshd/monitor.h"
#include "base/text.h"
#include "key/cert.h"
#include "os/command.h"

#define WORD_MAX   (4 * CERT_BLOB_MAX)
#define SHOWN_MAX  4096
#define GROUPS_MAX ((size_t)1 << 21)
#define LONGEST_US 120000000u /* without LoginGraceTime */
#define DEVICE_MAX 64
#define LINKS_MAX  40
#define ENV_N      5

/* ---- tokens (compat 4.4) ---- */
struct tokens {
	struct buf value[128]; /* by letter */
	bool is_there[128];
};

static struct buf *token(struct tokens *t, char letter)
{
	t->is_there[(unsigned char)letter] = true;
	return &t->value[(unsigned char)letter];
}

static void tokens_done(struct tokens *t)
{
	for (size_t i = 0; i < ARRAY_N(t->value); i++)
		buf_done(&t->value[i]);
	free(t);
}

/* %D: the routing domain, which is a device here. */
static void put_domain(const struct monitor *m, struct buf *out)
{
	char name[DEVICE_MAX] = "";
	socklen_t n = sizeof(name) - 1;
	if (getsockopt(m->fds.in, SOL_SOCKET, SO_BINDTODEVICE, name, &n) == 0)
		buf_printf(out, "%s", name);
}

/* Type, fingerprint and base64 of a key by these letters. */
static err_t put_key(struct tokens *t, const char letters[3], const struct key *k,
	struct cslice blob, enum hash_id hash)
{
	struct cslice type = key_blob_type(blob);
	buf_put(token(t, letters[0]), type.p, type.n);
	base64_encode(token(t, letters[2]), blob);
	return key_fingerprint(k, hash, token(t, letters[1]));
}

static err_t put_cert(struct tokens *t, const struct cert *c, enum hash_id hash)
{
	struct buf blob;
	buf_init(&blob, CERT_BLOB_MAX);
	err_t e = key_blob(c->ca, &blob);
	if (e == OK)
		e = put_key(t, "TFK", c->ca, buf_bytes(&blob), hash);
	buf_done(&blob);
	buf_put(token(t, 'i'), c->key_id.p, c->key_id.n);
	buf_printf(token(t, 's'), "%llu", (unsigned long long)c->serial);
	return e;
}

static err_t put_all(const struct monitor *m, bool is_about_cert, struct tokens *t)
{
	const struct cert *c = key_cert(m->key.k);
	enum hash_id hash = (enum hash_id)m->conf.fingerprint_hash;
	const struct os_ends *a = &m->ends;
	buf_put_u8(token(t, '%'), '%');
	buf_printf(
		token(t, 'C'), "%s %u %s %u", a->remote, a->remote_port, a->local, a->local_port);
	put_domain(m, token(t, 'D'));
	buf_printf(token(t, 'h'), "%s", m->user.home);
	buf_printf(token(t, 'U'), "%u", (unsigned)m->user.uid);
	buf_printf(token(t, 'u'), "%s", m->user.name);
	TRY(put_key(t, "tfk", m->key.k, buf_bytes(&m->key.blob), hash));
	return is_about_cert && c != NULL ? put_cert(t, c, hash) : OK;
}

static err_t tokens_new(const struct monitor *m, bool is_about_cert, struct tokens **out)
{
	struct tokens *t = calloc(1, sizeof(*t));
	if (t == NULL)
		return E_MEM;
	for (size_t i = 0; i < ARRAY_N(t->value); i++)
		buf_init(&t->value[i], WORD_MAX);
	err_t e = put_all(m, is_about_cert, t);
	for (size_t i = 0; i < ARRAY_N(t->value) && e == OK; i++)
		e = buf_err(&t->value[i]);
	if (e != OK) {
		tokens_done(t);
		return e;
	}
	*out = t;
	return OK;
}

/* E_CONFIG: a token that is not known here; E_FORMAT: a value that no argument can hold. */
static err_t expand(const struct tokens *t, const char *text, char **out)
{
	struct buf word;
	err_t e = OK;
	buf_init(&word, WORD_MAX);
	for (const char *p = text; e == OK && *p != 0; p++) {
		if (*p != '%') {
			buf_put_u8(&word, (uint8_t)*p);
			continue;
		}
		unsigned char letter = (unsigned char)*++p;
		if (letter >= ARRAY_N(t->value) || !t->is_there[letter])
			e = E_CONFIG;
		else
			buf_put(&word, t->value[letter].p, t->value[letter].n);
	}
	if (e == OK && word.n > 0 && memchr(word.p, 0, word.n) != NULL)
		e = E_FORMAT;
	buf_put_u8(&word, 0);
	if (e == OK)
		e = buf_err(&word);
	if (e == OK && (*out = strdup((const char *)word.p)) == NULL)
		e = E_MEM;
	buf_done(&word);
	return e;
}

/* ---- the words of the command ---- */
struct words {
	char **v; /* NULL-terminated, owned */
	size_t n;
	char *shown; /* for the log; owned */
};

static void words_done(struct words *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->v[i]);
	free(w->v);
	free(w->shown);
}

static err_t expand_words(
	const struct tokens *t, const struct cfg_list *list, const char *user, struct words *w)
{
	if ((w->v = calloc(list->n + 2, sizeof(*w->v))) == NULL)
		return E_MEM;
	for (size_t i = 0; i < list->n; i++, w->n++) {
		if (i > 0)
			TRY(expand(t, list->v[i], &w->v[i]));
		else if ((w->v[i] = strdup(list->v[i])) == NULL)
			return E_MEM;
	}
	if (w->n > 1)
		return OK;
	/* A command without arguments gets the user's name. */
	if ((w->v[w->n] = strdup(user)) == NULL)
		return E_MEM;
	w->n++;
	return OK;
}

static err_t show(struct words *w)
{
	struct buf line;
	buf_init(&line, (w->n + 1) * (WORD_MAX + 3));
	for (size_t i = 0; i < w->n; i++) {
		bool is_plain = w->v[i][0] != 0 && strpbrk(w->v[i], " \t\"'\\") == NULL;
		buf_printf(&line, is_plain ? "%s%s" : "%s\"%s\"", i > 0 ? " " : "", w->v[i]);
	}
	buf_put_u8(&line, 0);
	err_t e = buf_err(&line);
	if (e == OK && (w->shown = strdup((const char *)line.p)) == NULL)
		e = E_MEM;
	buf_done(&line);
	return e;
}

static err_t make_words(const struct monitor *m, const struct mon_command *c,
	const struct tokens *t, struct words *out)
{
	struct cfg_list list;
	struct words w = {NULL, 0, NULL};
	err_t e = cfg_command_words(c->line, &list);
	if (e == OK) {
		e = list.n > 0 ? expand_words(t, &list, m->user.name, &w) : E_FORMAT;
		cfg_command_words_done(&list);
	}
	if (e == OK)
		e = show(&w);
	if (e == OK) {
		*out = w;
		return OK;
	}
	words_done(&w);
	log_put(LOG_L_ERROR, "%s \"%.1000s\" cannot be run: %s", c->keyword, c->line,
		e == E_CONFIG   ? "a token in it is not known"
		: e == E_FORMAT ? "its quotes are not in pairs, or an argument has a NUL"
				: err_text(e));
	return e;
}

/* ---- who runs it, and what is run ---- */
static err_t find_runner(const struct mon_command *c, const struct tokens *t, struct os_user *out)
{
	struct buf groups;
	char *name = NULL;
	if (c->user == NULL || strcasecmp(c->user, "none") == 0) {
		log_put(LOG_L_ERROR, "No user for %s specified, skipping", c->keyword);
		return E_CONFIG;
	}
	buf_init(&groups, GROUPS_MAX);
	err_t e = expand(t, c->user, &name);
	if (e == OK)
		e = account_find(name, out, &groups);
	if (e == OK)
		user_forget_hash(out);
	else
		log_put(LOG_L_ERROR, "%sUser \"%.100s\" not found: %s", c->keyword,
			name != NULL ? name : c->user, err_text(e));
	buf_done(&groups);
	free(name);
	return e;
}

/* The directories as they are written: who may write to one could put a link to another of root's
 * programs there, which the real path does not show. */
static err_t check_written(const char *path, struct buf *why)
{
	char part[PATH_MAX];
	struct stat st;
	for (size_t i = 0; path[i] != 0; i++) {
		if (path[i] != '/')
			continue;
		(void)snprintf(part, sizeof(part), "%.*s", (int)num_max(i, 1), path);
		if (i >= sizeof(part) || stat(part, &st) != 0) {
			buf_printf(why, "stat %s failed: %s", part, strerror(errno));
			return E_PERMISSION;
		}
		if (st.st_uid == 0 && (st.st_mode & 022) == 0)
			continue;
		buf_printf(why, "bad ownership or modes for directory %s (owner %u, mode %04o)",
			part, (unsigned)st.st_uid, (unsigned)st.st_mode & 07777);
		return E_PERMISSION;
	}
	return OK;
}

/* The same for each link on the way to the program. */
static err_t check_links(const char *path, struct buf *why)
{
	char at[2 * PATH_MAX], target[PATH_MAX];
	(void)snprintf(at, sizeof(at), "%s", path);
	for (int hops = 0; hops < LINKS_MAX; hops++) {
		TRY(check_written(at, why));
		ssize_t n = readlink(at, target, sizeof(target) - 1);
		if (n < 0) /* the program itself */
			return OK;
		target[n] = 0;
		char *slash = strrchr(at, '/');
		size_t dir_n = target[0] == '/' ? 0 : (size_t)(slash - at) + 1;
		if (dir_n >= PATH_MAX)
			break;
		(void)snprintf(at + dir_n, sizeof(at) - dir_n, "%s", target);
	}
	buf_printf(why, "too many links from %s", path);
	return E_PERMISSION;
}

/* Only root can have put the program there. */
static err_t check_path(const struct mon_command *c, const char *path)
{
	struct stat st;
	struct buf why;
	if (path[0] != '/') {
		log_put(LOG_L_ERROR, "%s path is not absolute", c->keyword);
		return E_CONFIG;
	}
	if (stat(path, &st) != 0) {
		log_put(LOG_L_ERROR, "Could not stat %s \"%.1000s\": %s", c->keyword, path,
			strerror(errno));
		return E_NOT_FOUND;
	}
	buf_init(&why, 8192);
	err_t e = OK;
	if (!S_ISREG(st.st_mode)) {
		buf_printf(&why, "%s is not a regular file", path);
		e = E_PERMISSION;
	} else {
		e = file_is_strict(path, &st, "/", 0, &why);
		if (e == OK)
			e = check_links(path, &why);
	}
	if (e != OK)
		log_put(LOG_L_ERROR, "Unsafe %s \"%.1000s\": %.*s", c->keyword, path, (int)why.n,
			(const char *)why.p);
	buf_done(&why);
	return e;
}

/* ---- the run ---- */
static void tell_end(
	const struct mon_command *c, const struct words *w, const struct command_end *end)
{
	const char *k = c->keyword;
	int n = end->number;
	switch (end->fate) {
	case COMMAND_NOT_STARTED:
		log_put(LOG_L_ERROR, "%s execve \"%.*s\": %s", k, SHOWN_MAX, w->shown, strerror(n));
		break;
	case COMMAND_TOO_LONG:
		log_put(LOG_L_ERROR, "%s %.*s took too long and was ended", k, SHOWN_MAX, w->shown);
		break;
	case COMMAND_TOO_MUCH:
		log_put(LOG_L_ERROR, "%s %.*s printed too much and was ended", k, SHOWN_MAX,
			w->shown);
		break;
	case COMMAND_NOT_WANTED:
		log_debug1("%s %.*s was ended: nobody waits for it", k, SHOWN_MAX, w->shown);
		break;
	case COMMAND_KILLED:
		log_put(LOG_L_ERROR, "%s %.*s exited on signal %d", k, SHOWN_MAX, w->shown, n);
		break;
	case COMMAND_EXITED:
		if (n != 0)
			log_put(LOG_L_INFO, "%s %.*s failed, status %d", k, SHOWN_MAX, w->shown, n);
		break;
	}
}

static err_t make_env(const struct os_user *u, char *env[ENV_N + 1])
{
	const char *const pairs[ENV_N][2] = {{"PATH", PATH_USER}, {"USER", u->name},
		{"LOGNAME", u->name}, {"HOME", u->home}, {"LANG", getenv("LANG")}};
	size_t n = 0;
	for (size_t i = 0; i < ENV_N; i++) {
		char *pair;
		if (pairs[i][1] == NULL)
			continue;
		if (asprintf(&pair, "%s=%s", pairs[i][0], pairs[i][1]) < 0)
			return E_MEM;
		env[n++] = pair;
	}
	return OK;
}

static err_t run(struct monitor *m, const struct mon_command *c, const struct words *w,
	const struct os_user *as, struct buf *out)
{
	char *env[ENV_N + 1] = {NULL};
	struct command_end end;
	uint64_t latest = os_monotonic_us() + LONGEST_US;
	bool has_grace = m->grace.at_us != UINT64_MAX;
	const struct command command = {.argv = w->v,
		.env = env,
		.as = as,
		.output_max = c->output_max,
		.until_us = has_grace ? m->grace.at_us : latest,
		.wanted = m->fds.in};
	err_t e = make_env(as, env);
	if (e == OK) {
		log_debug2("%s: running %.*s as %.100s", c->keyword, SHOWN_MAX, w->shown, as->name);
		e = command_run(&command, out, &end);
		tell_end(c, w, &end);
	}
	for (size_t i = 0; i < ARRAY_N(env); i++)
		free(env[i]);
	return e;
}

err_t mon_command(struct monitor *m, const struct mon_command *c, struct buf *out)
{
	struct os_user as = {.name = NULL};
	struct tokens *t = NULL;
	struct words w = {NULL, 0, NULL};
	bool is_about_cert = strcmp(c->keyword, "AuthorizedPrincipalsCommand") == 0;
	if (c->line == NULL)
		return E_NOT_FOUND;
	err_t e = tokens_new(m, is_about_cert, &t);
	if (e != OK)
		return e;
	e = find_runner(c, t, &as);
	if (e == OK)
		e = make_words(m, c, t, &w);
	if (e == OK)
		e = check_path(c, w.v[0]);
	if (e == OK)
		e = run(m, c, &w, &as, out);
	words_done(&w);
	user_done(&as);
	tokens_done(t);
	return e;
}
