/* SPDX-License-Identifier: ISC */
/* target - what a word of the command line means: a path here, or a path on a host */
#include <stdlib.h>
#include <string.h>

#include "app/scp/scp.h"

/* Without the brackets of an address. */
static char *dup_host(const char *host, size_t n)
{
	if (n > 2 && host[0] == '[' && host[n - 1] == ']')
		return strndup(host + 1, n - 2);
	return strndup(host, n);
}

static err_t parse_host(const char *text, const char *colon, struct target *t)
{
	const char *host = text;
	for (const char *p = text; p < colon; p++)
		if (*p == '@')
			host = p + 1;
	if (host - text > 1)
		t->user = strndup(text, (size_t)(host - text - 1));
	t->host = dup_host(host, (size_t)(colon - host));
	t->path = strdup(colon[1] != '\0' ? colon + 1 : ".");
	if (t->host == NULL || t->path == NULL || (host - text > 1 && t->user == NULL))
		return E_MEM;
	return t->host[0] != '\0' ? OK : E_FORMAT;
}

static err_t parse_uri(const char *text, struct target *t)
{
	struct dest d;
	char *path;
	TRY(dest_parse_uri("scp", text, &d, &path));
	*t = (struct target){.user = d.user, .host = d.host, .port = d.port, .path = path};
	if (t->path == NULL)
		t->path = strdup(".");
	return t->path != NULL ? OK : E_MEM;
}

err_t target_parse(const char *text, struct target *out)
{
	struct target t = {0};
	const char *colon;
	err_t e = OK;
	if (strncmp(text, "scp://", 6) == 0) {
		e = parse_uri(text, &t);
	} else if ((colon = dest_colon(text)) != NULL) {
		e = parse_host(text, colon, &t);
	} else {
		t.path = strdup(text);
		e = t.path != NULL ? OK : E_MEM;
	}
	if (e != OK) {
		target_done(&t);
		return e;
	}
	*out = t;
	return OK;
}

void target_done(struct target *t)
{
	free(t->user);
	free(t->host);
	free(t->path);
	*t = (struct target){0};
}

struct cslice target_name(const char *path)
{
	size_t n = strlen(path);
	while (n > 0 && path[n - 1] == '/')
		n--;
	size_t at = n;
	while (at > 0 && path[at - 1] != '/')
		at--;
	struct cslice name = cslice_of(path + at, n - at);
	if (cslice_eq_str(name, ".") || cslice_eq_str(name, ".."))
		name.n = 0;
	return name;
}

err_t target_join(const char *dir, struct cslice name, char **out)
{
	size_t n = strlen(dir);
	bool has_slash = n > 0 && dir[n - 1] == '/';
	struct buf b;
	buf_init(&b, (size_t)1 << 20);
	buf_printf(&b, "%s", dir);
	if (name.n > 0 && n > 0 && !has_slash)
		buf_put_u8(&b, '/');
	buf_put(&b, name.p, name.n);
	err_t e = buf_err(&b);
	if (e == OK)
		e = text_dup(buf_bytes(&b), out);
	buf_done(&b);
	return e;
}
