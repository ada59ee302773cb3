/* SPDX-License-Identifier: ISC */
/* krl - -k: revocation lists are made and changed; -Q: keys are looked up in them */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>

#include "app/ssh-keygen/kg.h"
#include "key/krl.h"

#define FILE_MODE 0644

struct making {
	struct krl *list;
	struct key *ca; /* of -s */
	bool is_any_ca;
	const char *path; /* of the file that is read */
	unsigned long line;
};

/* ---- one line of what is to be revoked
 * ----------------------------------------------------------------------------
 */
static int bad(const struct making *m, const char *what, struct cslice word)
{
	struct buf shown;
	buf_init(&shown, KG_LINE_MAX);
	vis_put(&shown, cslice_of(word.p, num_min(word.n, 200)));
	int state = kg_say(KG_FATAL, "%s:%lu: %s%s%.*s%s", m->path, m->line, what,
		word.n > 0 ? " \"" : "", (int)shown.n, (const char *)shown.p,
		word.n > 0 ? "\"" : "");
	buf_done(&shown);
	return state;
}

static int needs_ca(const struct making *m, const char *what)
{
	if (m->ca != NULL || m->is_any_ca)
		return KG_OK;
	return kg_say(
		KG_FATAL, "revoking certificates by %s requires specification of a CA key", what);
}

/* Decimal, 0x and octal, as the manual has it. */
static bool number(const char *text, uint64_t *out, const char **end)
{
	char *stop;
	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*out = strtoull(text, &stop, 0);
	*end = stop;
	return errno == 0;
}

static int add_serials(struct making *m, struct cslice word)
{
	uint64_t first, last;
	const char *end;
	char *text = NULL;
	int state = needs_ca(m, "serial number");
	if (state != KG_OK)
		return state;
	bool is_good = text_dup(word, &text) == OK && number(text, &first, &end);
	if (is_good) {
		last = first;
		if (*end == '-')
			is_good = number(end + 1, &last, &end);
		is_good = is_good && *end == '\0';
	}
	free(text);
	if (!is_good)
		return bad(m, "invalid serial", word);
	err_t e = krl_add_serials(m->list, m->ca, first, last);
	return e == OK         ? KG_OK
	       : e == E_FORMAT ? bad(m, "invalid serial range", word)
			       : bad(m, err_text(e), word);
}

static int add_id(struct making *m, struct cslice word)
{
	int state = needs_ca(m, "key ID");
	if (state != KG_OK)
		return state;
	err_t e = krl_add_key_id(m->list, m->ca, word);
	return e == OK ? KG_OK : bad(m, err_text(e), word);
}

/* "SHA256:base64", as -l prints it. */
static int add_fingerprint(struct making *m, struct cslice word)
{
	static const char prefix[] = "SHA256:";
	const size_t n = sizeof(prefix) - 1;
	struct buf digest;
	if (word.n < n || memcmp(word.p, prefix, n) != 0)
		return bad(m, "unsupported hash algorithm", word);
	char padded[64];
	int length = snprintf(padded, sizeof(padded), "%.*s=", (int)num_min(word.n - n, 60),
		(const char *)word.p + n);
	buf_init(&digest, 256);
	err_t e = base64_decode(&digest, cslice_of(padded, (size_t)length), false);
	if (e == OK)
		e = krl_add_hash(m->list, HASH_SHA256, buf_bytes(&digest));
	buf_done(&digest);
	return e == OK ? KG_OK : bad(m, "invalid hash", word);
}

static err_t add_digest(struct krl *list, const struct key *k, enum hash_id h)
{
	struct buf blob;
	uint8_t digest[HASH_MAX];
	buf_init(&blob, KEYFILE_MAX);
	err_t e = key_blob(k, &blob);
	if (e == OK)
		e = hash_once(h, buf_bytes(&blob), digest);
	if (e == OK)
		e = krl_add_hash(list, h, cslice_of(digest, hash_size(h)));
	buf_done(&blob);
	return e;
}

enum by { BY_ANY, BY_KEY, BY_SHA1, BY_SHA256 };

static int add_key(struct making *m, struct cslice word, enum by by)
{
	struct key *k = NULL;
	err_t e = key_parse_line_any(&k, word, NULL);
	if (e != OK)
		return kg_say(KG_FATAL, "%s:%lu: invalid key: %s", m->path, m->line, err_text(e));
	if (by == BY_ANY)
		e = krl_add_any(m->list, k);
	else if (by == BY_KEY)
		e = krl_add_key(m->list, k);
	else
		e = add_digest(m->list, k, by == BY_SHA1 ? HASH_SHA1 : HASH_SHA256);
	key_free(k);
	return e == OK ? KG_OK : bad(m, err_text(e), cslice_of(NULL, 0));
}

static struct cslice trim(struct cslice s)
{
	while (s.n > 0 && strchr(" \t", s.p[0]) != NULL && s.p[0] != '\0')
		s = cslice_of(s.p + 1, s.n - 1);
	while (s.n > 0 && strchr(" \t\r", s.p[s.n - 1]) != NULL && s.p[s.n - 1] != '\0')
		s.n--;
	return s;
}

/* Takes the word off the line when it begins with it. */
static bool begins(struct cslice *line, const char *word)
{
	size_t n = strlen(word);
	if (line->n < n || strncasecmp((const char *)line->p, word, n) != 0)
		return false;
	*line = trim(cslice_of(line->p + n, line->n - n));
	return true;
}

static int add_line(struct making *m, struct cslice line)
{
	if (begins(&line, "serial:"))
		return add_serials(m, line);
	if (begins(&line, "id:"))
		return add_id(m, line);
	if (begins(&line, "hash:"))
		return add_fingerprint(m, line);
	if (begins(&line, "key:"))
		return add_key(m, line, BY_KEY);
	if (begins(&line, "sha1:"))
		return add_key(m, line, BY_SHA1);
	if (begins(&line, "sha256:"))
		return add_key(m, line, BY_SHA256);
	return add_key(m, line, BY_ANY);
}

static int add_text(struct making *m, struct cslice text)
{
	int state = KG_OK;
	for (m->line = 1; text.n > 0 && state == KG_OK; m->line++) {
		const uint8_t *lf = memchr(text.p, '\n', text.n);
		size_t n = lf != NULL ? (size_t)(lf - text.p) : text.n;
		struct cslice line = {text.p, n};
		const uint8_t *remark = n > 0 ? memchr(line.p, '#', n) : NULL;
		size_t eaten = lf != NULL ? n + 1 : n;
		text = cslice_of(text.p + eaten, text.n - eaten);
		if (remark != NULL)
			line.n = (size_t)(remark - line.p);
		line = trim(line);
		if (line.n > 0)
			state = add_line(m, line);
	}
	return state;
}

static int add_file(struct making *m, const char *path, bool is_quiet)
{
	struct buf text;
	struct os_file info = {.why = 0};
	bool is_input = strcmp(path, "-") == 0;
	m->path = is_input ? "(standard input)" : path;
	buf_init(&text, KRL_MAX);
	err_t e = os_file_read(is_input ? "/dev/stdin" : path, &text, &info);
	int state = e == OK ? KG_OK
			    : kg_say(KG_FATAL, "fopen %s: %s", m->path,
				      info.why != 0 ? strerror(info.why) : err_text(e));
	if (state == KG_OK && !is_quiet)
		kg_tell("Revoking from %s\n", m->path);
	if (state == KG_OK)
		state = add_text(m, buf_bytes(&text));
	buf_done(&text);
	return state;
}

/* ---- -k
 * ----------------------------------------------------------------------------------------------------------
 */
static int load(const char *path, struct krl **out)
{
	struct buf text;
	struct os_file info = {.why = 0};
	int state = KG_OK;
	buf_init(&text, KRL_MAX);
	err_t e = os_file_read(path, &text, &info);
	if (e != OK)
		state = kg_say(KG_FATAL, "Unable to load KRL %s: %s", path,
			info.why != 0 ? strerror(info.why) : err_text(e));
	else if ((e = krl_parse(out, buf_bytes(&text))) != OK)
		state = kg_say(KG_FATAL, "Invalid KRL file %s: %s", path, err_text(e));
	buf_done(&text);
	return state;
}

static int save(struct krl *list, const char *path)
{
	struct buf bytes;
	mode_t mask = umask(0);
	(void)umask(mask);
	buf_init(&bytes, KRL_MAX);
	err_t e = krl_put(list, (uint64_t)time(NULL), &bytes);
	if (e == OK)
		e = keyfile_replace(path, buf_bytes(&bytes), FILE_MODE & ~mask);
	buf_done(&bytes);
	return e == OK ? KG_OK : kg_say(KG_FATAL, "write %s: %s", path, keyfile_reason(e));
}

static int authority(struct making *m, const char *path)
{
	if (path == NULL)
		return KG_OK;
	m->is_any_ca = strcasecmp(path, "none") == 0;
	if (m->is_any_ca)
		return KG_OK;
	err_t e = keyfile_load_public(&m->ca, path, NULL);
	return e == OK ? KG_OK
		       : kg_say(KG_FATAL, "Cannot load CA public key %s: %s", path,
				 keyfile_reason(e));
}

static int version(struct krl *list, const char *text)
{
	uint64_t n;
	if (text == NULL)
		return KG_OK;
	if (text_u64(cslice_str(text[0] == '+' ? text + 1 : text), &n) != OK)
		return kg_say(KG_FATAL, "Invalid serial number \"%s\"", text);
	krl_set_version(list, n);
	return KG_OK;
}

int kg_krl_make(struct kg_options *o, char **files, size_t files_n)
{
	struct making m = {.list = NULL};
	if (o->file == NULL)
		return kg_say(KG_FATAL, "KRL generation requires an output file");
	int probe = o->krl_update ? os_file_probe(o->file) : 0;
	if (probe == ENOENT)
		return kg_say(KG_FATAL, "KRL \"%s\" does not exist", o->file);
	int state = authority(&m, o->sig_file);
	if (state == KG_OK && o->krl_update)
		state = load(o->file, &m.list);
	else if (state == KG_OK && krl_new(&m.list) != OK)
		state = kg_say(KG_FATAL, "%s", err_text(E_MEM));
	if (state == KG_OK)
		state = version(m.list, o->serial);
	for (size_t i = 0; i < files_n && state == KG_OK; i++)
		state = add_file(&m, files[i], o->quiet);
	if (state == KG_OK)
		state = save(m.list, o->file);
	krl_free(m.list);
	key_free(m.ca);
	return state;
}

/* ---- -Q
 * ----------------------------------------------------------------------------------------------------------
 */
static int show(struct krl *list)
{
	struct buf text;
	char when[64] = "";
	struct tm tm;
	time_t made = krl_made_s(list) > INT64_MAX ? INT64_MAX : (time_t)krl_made_s(list);
	buf_init(&text, KRL_MAX * 4);
	buf_printf(&text, "# KRL version %llu\n", (unsigned long long)krl_version(list));
	if (localtime_r(&made, &tm) == NULL ||
		strftime(when, sizeof(when), "%Y%m%dT%H%M%S", &tm) == 0)
		(void)snprintf(when, sizeof(when), "0x%llx", (unsigned long long)krl_made_s(list));
	buf_printf(&text, "# Generated at %s\n", when);
	err_t e = krl_dump(list, &text);
	if (e == OK)
		e = buf_err(&text);
	if (e == OK)
		(void)fwrite(text.p, 1, text.n, stdout);
	buf_done(&text);
	return e == OK ? KG_OK : kg_say(KG_FATAL, "showing the list failed: %s", err_text(e));
}

/* A public key, a certificate, or the public half of a private file. */
static err_t load_any(struct key **k, const char *path, struct buf *comment)
{
	struct buf text;
	buf_init(&text, KEYFILE_MAX);
	err_t e = keyfile_read(path, &text);
	if (e == OK && key_parse_line_any(k, buf_bytes(&text), comment) != OK) {
		buf_clear(comment);
		e = keyfile_load_public(k, path, comment);
	}
	buf_done(&text);
	return e;
}

static int check(const struct krl *list, const char *path)
{
	struct key *k = NULL;
	struct buf comment, shown;
	buf_init(&comment, KEYFILE_MAX);
	buf_init(&shown, KEYFILE_MAX * 4);
	err_t e = load_any(&k, path, &comment);
	int state = KG_OK;
	if (e != OK) {
		state = kg_say(KG_FATAL, "Cannot load public key %s: %s", path, keyfile_reason(e));
	} else {
		while (comment.n > 0 && strchr("\r\n", comment.p[comment.n - 1]) != NULL)
			comment.n--;
		vis_put(&shown, buf_bytes(&comment));
		bool is_fine = krl_check(list, k) == KRL_FINE;
		kg_tell("%s%s%.*s%s: %s\n", path, shown.n > 0 ? " (" : "", (int)shown.n,
			(const char *)shown.p, shown.n > 0 ? ")" : "", is_fine ? "ok" : "REVOKED");
		state = is_fine ? KG_OK : KG_FAILED;
	}
	key_free(k);
	buf_done(&comment);
	buf_done(&shown);
	return state;
}

int kg_krl_test(struct kg_options *o, char **files, size_t files_n)
{
	struct krl *list = NULL;
	if (o->file == NULL)
		return kg_say(KG_FATAL, "KRL checking requires an input file");
	int state = load(o->file, &list);
	if (state == KG_OK && o->list)
		state = show(list);
	for (size_t i = 0; i < files_n && state != KG_FATAL; i++) {
		int one = check(list, files[i]);
		state = one == KG_OK ? state : one;
	}
	krl_free(list);
	return state;
}
