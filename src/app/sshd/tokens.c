/* SPDX-License-Identifier: ISC */
/* tokens - %% %h %U %u of an account in a path of sshd_config (compat 4.4) */
#include <string.h>

#include "app/sshd/tokens.h"

err_t tokens_expand(const struct os_user *u, const char *pattern, struct buf *out)
{
	/* A name with a slash would lead out of the directory that the administrator meant. */
	bool is_plain = strchr(u->name, '/') == NULL && strcmp(u->name, ".") != 0 &&
			strcmp(u->name, "..") != 0;
	for (const char *p = pattern; *p != 0; p++) {
		if (*p != '%') {
			buf_put_u8(out, (uint8_t)*p);
			continue;
		}
		p++;
		if (*p == '%')
			buf_put_u8(out, '%');
		else if (*p == 'h')
			buf_printf(out, "%s", u->home);
		else if (*p == 'U')
			buf_printf(out, "%u", (unsigned)u->uid);
		else if (*p == 'u' && is_plain)
			buf_printf(out, "%s", u->name);
		else
			return E_CONFIG;
	}
	return buf_err(out);
}
