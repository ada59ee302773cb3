/* SPDX-License-Identifier: ISC */
/* me - who runs the program */
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/common/me.h"
#include "base/text.h"
#include "os/file.h"

#define PASSWD_MAX ((size_t)1 << 20)
#define FIELDS     7
#define FIELD_NAME 0
#define FIELD_UID  2
#define FIELD_HOME 5

static bool split_line(struct cslice line, struct cslice f[FIELDS])
{
	size_t n = 0;
	for (; n < FIELDS; n++) {
		const uint8_t *colon = line.n > 0 ? memchr(line.p, ':', line.n) : NULL;
		f[n] = cslice_of(line.p, colon != NULL ? (size_t)(colon - line.p) : line.n);
		if (colon == NULL)
			break;
		line.n -= f[n].n + 1;
		line.p = colon + 1;
	}
	return n == FIELDS - 1;
}

static err_t take(struct cslice name, struct cslice home, uint32_t uid, struct me *out)
{
	struct me m = {.uid = uid};
	err_t e = text_dup(name, &m.name);
	if (e == OK)
		e = text_dup(home, &m.home);
	if (e != OK) {
		me_done(&m);
		return e;
	}
	*out = m;
	return OK;
}

err_t me_find(const char *passwd, size_t n, uint32_t uid, struct me *out)
{
	struct cslice rest = cslice_of(passwd, n);
	while (rest.n > 0) {
		const uint8_t *end = memchr(rest.p, '\n', rest.n);
		struct cslice line =
			cslice_of(rest.p, end != NULL ? (size_t)(end - rest.p) : rest.n);
		size_t used = num_min(line.n + 1, rest.n);
		rest = cslice_of(rest.p + used, rest.n - used);
		struct cslice f[FIELDS];
		uint32_t id;
		bool is_it = line.n > 0 && line.p[0] != '+' && line.p[0] != '-' &&
			     line.p[0] != '#' && split_line(line, f) &&
			     text_u32(f[FIELD_UID], &id) == OK && id == uid &&
			     f[FIELD_NAME].n > 0 && f[FIELD_HOME].n > 0;
		if (is_it)
			return take(f[FIELD_NAME], f[FIELD_HOME], uid, out);
	}
	return E_NOT_FOUND;
}

static err_t from_file(uint32_t uid, struct me *out)
{
	struct buf text;
	buf_init(&text, PASSWD_MAX);
	err_t e = os_file_read("/etc/passwd", &text, NULL);
	if (e == OK)
		e = me_find((const char *)text.p, text.n, uid, out);
	buf_done(&text);
	return e;
}

static err_t from_service(uint32_t uid, struct me *out)
{
	const struct passwd *pw = getpwuid(uid);
	if (pw == NULL)
		return E_NOT_FOUND;
	return take(cslice_str(pw->pw_name), cslice_str(pw->pw_dir), uid, out);
}

err_t me_load(struct me *out)
{
	uint32_t uid = getuid();
	struct me m;
	if (from_file(uid, &m) != OK)
		TRY(from_service(uid, &m));
	const char *shell = getenv("SHELL");
	m.shell = shell != NULL && shell[0] != '\0' ? shell : "/bin/sh";
	*out = m;
	return OK;
}

void me_done(struct me *m)
{
	free(m->name);
	free(m->home);
	*m = (struct me){0};
}
