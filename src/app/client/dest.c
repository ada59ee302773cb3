/* SPDX-License-Identifier: ISC */
/* dest - where to go: [user@]host, or a URI; and which names are refused */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "app/client/client.h"

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 32);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* RFC3986 2.1, in place; E_FORMAT for a bad or a NUL octet. */
static err_t percent_decode(char *s)
{
	char *to = s;
	for (; *s != '\0'; s++) {
		if (*s != '%') {
			*to++ = *s;
			continue;
		}
		int high = hex_digit(s[1]), low = high < 0 ? -1 : hex_digit(s[2]);
		if (low < 0 || high * 16 + low == 0)
			return E_FORMAT;
		*to++ = (char)(high * 16 + low);
		s += 2;
	}
	*to = '\0';
	return OK;
}

const char *dest_colon(const char *text)
{
	bool is_bracket = text[0] == '[';
	if (text[0] == ':')
		return NULL;
	for (const char *p = text; *p != '\0' && *p != '/'; p++) {
		if (p[0] == '@' && p[1] == '[')
			is_bracket = true;
		if (is_bracket ? p[0] == ']' && p[1] == ':' : p[0] == ':')
			return is_bracket ? p + 1 : p;
	}
	return NULL;
}

static err_t take_port(const char *text, uint16_t *port)
{
	uint32_t n;
	if (text_u32(cslice_str(text), &n) != OK || n == 0 || n > 65535)
		return E_FORMAT;
	*port = (uint16_t)n;
	return OK;
}

/* "host", "host:port", "[address]", "[address]:port", in place. */
static err_t take_authority(char *text, struct dest *d)
{
	char *host = text, *end = NULL;
	if (text[0] == '[') {
		host = text + 1;
		end = strchr(host, ']');
		if (end == NULL || (end[1] != '\0' && end[1] != ':'))
			return E_FORMAT;
		*end++ = '\0';
	} else {
		end = strchr(host, ':');
	}
	if (end != NULL && *end == ':') {
		*end = '\0';
		TRY(take_port(end + 1, &d->port));
	}
	if (host[0] == '\0')
		return E_FORMAT;
	d->host = strdup(host);
	return d->host != NULL ? OK : E_MEM;
}

/* What stands between "scheme://" and the path, in place. */
static err_t take_user_and_host(char *text, struct dest *d)
{
	char *at = strrchr(text, '@');
	if (at != NULL) {
		*at = '\0';
		text[strcspn(text, ";")] = '\0'; /* connection parameters: none are known */
		TRY(percent_decode(text));
		if (text[0] == '\0')
			return E_FORMAT;
		d->user = strdup(text);
		if (d->user == NULL)
			return E_MEM;
	}
	return take_authority(at != NULL ? at + 1 : text, d);
}

static err_t take_path(const char *text, char **out)
{
	char *copy = strdup(text);
	if (copy == NULL)
		return E_MEM;
	err_t e = percent_decode(copy);
	if (e != OK) {
		free(copy);
		return e;
	}
	*out = copy;
	return OK;
}

static void dest_done(struct dest *d)
{
	free(d->user);
	free(d->host);
}

err_t dest_parse_uri(const char *scheme, const char *text, struct dest *out, char **path)
{
	size_t n = strlen(scheme);
	if (strncmp(text, scheme, n) != 0 || strncmp(text + n, "://", 3) != 0)
		return E_FORMAT;
	char *copy = strdup(text + n + 3), *tail = NULL;
	if (copy == NULL)
		return E_MEM;
	struct dest d = {0};
	err_t e = OK;
	char *slash = strchr(copy, '/');
	if (slash != NULL && slash[1] != '\0')
		e = take_path(slash + 1, &tail);
	if (slash != NULL)
		*slash = '\0';
	if (e == OK)
		e = take_user_and_host(copy, &d);
	free(copy);
	if (e != OK) {
		dest_done(&d);
		free(tail);
		return e;
	}
	*out = d;
	*path = tail;
	return OK;
}

/* A URI without a path. */
static err_t parse_uri(const char *text, struct dest *d)
{
	char *path = NULL;
	TRY(dest_parse_uri("ssh", text, d, &path));
	bool has_path = path != NULL;
	free(path);
	return has_path ? E_FORMAT : OK;
}

static err_t parse_plain(const char *text, struct dest *d)
{
	const char *at = strrchr(text, '@');
	if (at != NULL && (at == text || at[1] == '\0'))
		return E_FORMAT;
	if (at != NULL)
		d->user = strndup(text, (size_t)(at - text));
	d->host = strdup(at != NULL ? at + 1 : text);
	return d->host == NULL || (at != NULL && d->user == NULL) ? E_MEM : OK;
}

err_t dest_parse(const char *text, struct dest *out)
{
	struct dest d = {0};
	bool is_uri = strncmp(text, "ssh://", 6) == 0;
	err_t e = is_uri ? parse_uri(text, &d) : parse_plain(text, &d);
	if (e == OK && d.host[0] == '\0')
		e = E_FORMAT;
	if (e != OK) {
		dest_done(&d);
		return e;
	}
	*out = d;
	return OK;
}

/* These names reach shells by ProxyCommand and Match exec (compat 2.1). */
bool dest_user_is_fine(const char *user)
{
	size_t n = strlen(user);
	if (user[0] == '-' || (n > 0 && user[n - 1] == '\\'))
		return false;
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)user[i];
		if (iscntrl(c) || strchr("'\"`;&<>|(){}", c) != NULL)
			return false;
		if (c == '-' && i > 0 && isspace((unsigned char)user[i - 1]))
			return false;
	}
	return true;
}

bool dest_host_is_fine(const char *host)
{
	if (host[0] == '-')
		return false;
	for (; *host != '\0'; host++) {
		unsigned char c = (unsigned char)*host;
		if (iscntrl(c) || isspace(c) || strchr("'\"`$\\;&<>|(){}", c) != NULL)
			return false;
	}
	return true;
}
