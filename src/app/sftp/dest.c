/* SPDX-License-Identifier: ISC */
/* dest - where sftp goes: [user@]host[:path], or a URI whose path starts where the server does */
#include <stdlib.h>

#include "app/sftp/sftp.h"

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
	struct dest who = {0};
	TRY(dest_parse_uri("sftp", text, &who, &d->path));
	d->user = who.user;
	d->host = who.host;
	d->port = who.port;
	return OK;
}

static err_t parse_plain(const char *text, struct sftp_dest *d)
{
	const char *colon = dest_colon(text);
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
	err_t e = strncmp(text, "sftp://", 7) == 0 ? parse_uri(text, &d) : parse_plain(text, &d);
	if (e != OK) {
		free(d.user);
		free(d.host);
		free(d.path);
		return e;
	}
	*out = d;
	return OK;
}
