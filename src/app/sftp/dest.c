/* SPDX-License-Identifier: ISC */
/* dest - where sftp goes: [user@]host[:path], or a URI whose path starts where the server does */
#include <stdlib.h>

#include "app/sftp/sftp.h"

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

/* The colon behind the host: not in brackets, not behind a slash, not the first character. */
static const char *find_colon(const char *text)
{
	bool in_brackets = false;
	for (const char *p = text; *p != '\0' && *p != '/'; p++) {
		if (*p == '[' && (p == text || p[-1] == '@'))
			in_brackets = true;
		if (*p == ']')
			in_brackets = false;
		if (*p == ':' && !in_brackets)
			return p == text ? NULL : p;
	}
	return NULL;
}

/* host is "[address]", too. */
static err_t take_host(const char *text, struct sftp_dest *d)
{
	struct dest who = {0};
	TRY(dest_parse(text, &who));
	size_t n = strlen(who.host);
	if (who.host[0] == '[' && who.host[n - 1] == ']') {
		memmove(who.host, who.host + 1, n - 2);
		who.host[n - 2] = '\0';
	}
	d->user = who.user;
	d->host = who.host;
	d->port = who.port;
	return d->host[0] != '\0' ? OK : E_FORMAT;
}

static err_t parse_uri(const char *text, struct sftp_dest *d)
{
	struct buf who;
	const char *slash = strchr(text, '/');
	size_t n = slash != NULL ? (size_t)(slash - text) : strlen(text);
	buf_init(&who, 65536);
	buf_printf(&who, "ssh://%.*s", (int)num_min(n, 32768), text);
	buf_put_u8(&who, 0);
	err_t e = buf_err(&who);
	if (e == OK)
		e = take_host((const char *)who.p, d);
	buf_done(&who);
	if (e != OK || slash == NULL || slash[1] == '\0')
		return e;
	d->path = strdup(slash + 1);
	return d->path != NULL ? percent_decode(d->path) : E_MEM;
}

static err_t parse_plain(const char *text, struct sftp_dest *d)
{
	const char *colon = find_colon(text);
	if (colon == NULL)
		return take_host(text, d);
	char *who = strndup(text, (size_t)(colon - text));
	err_t e = who != NULL ? take_host(who, d) : E_MEM;
	free(who);
	if (e != OK || colon[1] == '\0')
		return e;
	d->path = strdup(colon + 1);
	return d->path != NULL ? OK : E_MEM;
}

err_t sftp_dest_parse(const char *text, struct sftp_dest *out)
{
	struct sftp_dest d = {0};
	err_t e =
		strncmp(text, "sftp://", 7) == 0 ? parse_uri(text + 7, &d) : parse_plain(text, &d);
	if (e != OK) {
		free(d.user);
		free(d.host);
		free(d.path);
		return e;
	}
	*out = d;
	return OK;
}
