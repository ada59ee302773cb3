/* SPDX-License-Identifier: ISC */
/* expand - percent tokens, ${NAME} and ~ in client values (compat 3.4) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/int.h"

static void put_upto_dot(struct buf *out, const char *s)
{
	buf_put(out, s, strcspn(s, "."));
}

/* %C: SHA-1 of %l%h%p%r%j in hex. */
static err_t put_digest(
	const char *local, const char *host, const char *port, const char *user, struct buf *out)
{
	uint8_t digest[HASH_MAX];
	const struct cslice parts[] = {
		cslice_str(local), cslice_str(host), cslice_str(port), cslice_str(user)};
	TRY(hash_parts(HASH_SHA1, parts, ARRAY_N(parts), digest));
	for (size_t i = 0; i < hash_size(HASH_SHA1); i++)
		buf_printf(out, "%02x", digest[i]);
	return OK;
}

static err_t token(const struct client_config *c, const struct client_situation *s, char letter,
	struct buf *out)
{
	const char *host = c->hostname != NULL ? c->hostname : s->host_arg;
	const char *user = c->user != NULL ? c->user : s->local_user;
	const char *local = s->local_host != NULL ? s->local_host : "";
	char port[8];
	(void)snprintf(port, sizeof(port), "%u", c->port != 0 ? c->port : 22u);
	switch (letter) {
	case '%':
		buf_put_u8(out, '%');
		break;
	case 'C':
		return put_digest(local, host, port, user, out);
	case 'd':
		buf_printf(out, "%s", s->home);
		break;
	case 'h':
		buf_printf(out, "%s", host);
		break;
	case 'i':
		buf_printf(out, "%u", s->uid);
		break;
	case 'j':
		break; /* no jump hosts in this build */
	case 'k':
		buf_printf(out, "%s", c->hostkey_alias != NULL ? c->hostkey_alias : s->host_arg);
		break;
	case 'L':
		put_upto_dot(out, local);
		break;
	case 'l':
		buf_printf(out, "%s", local);
		break;
	case 'n':
		buf_printf(out, "%s", s->host_arg);
		break;
	case 'p':
		buf_printf(out, "%s", port);
		break;
	case 'r':
		buf_printf(out, "%s", user);
		break;
	case 'u':
		buf_printf(out, "%s", s->local_user);
		break;
	default:
		return E_NAME;
	}
	return OK;
}

static err_t put_env(
	const struct cfg_env *env, const char *name, size_t n, struct buf *out, struct buf *why)
{
	char *copy = strndup(name, n);
	if (copy == NULL)
		return E_MEM;
	const char *value = env->getenv != NULL ? env->getenv(env->arg, copy) : NULL;
	if (value != NULL)
		buf_printf(out, "%s", value);
	else
		buf_printf(why, "env var ${%s} has no value\n", copy);
	free(copy);
	return value != NULL ? OK : E_CONFIG;
}

err_t client_config_expand(const struct client_expansion *x, const char *value, struct buf *out)
{
	if (value[0] == '~' && (value[1] == '/' || value[1] == '\0')) {
		buf_printf(out, "%s", x->situation->home);
		value++;
	}
	for (const char *p = value; *p != '\0'; p++) {
		const char *end = x->with_env && p[0] == '$' && p[1] == '{' ? strchr(p, '}') : NULL;
		if (end != NULL) {
			TRY(put_env(x->env, p + 2, (size_t)(end - p - 2), out, x->why));
			p = end;
		} else if (p[0] == '%') {
			char letter = *++p;
			if (letter == '\0' || strchr(x->allowed, letter) == NULL) {
				buf_printf(x->why, "unknown key %%%c in \"%s\"\n",
					letter != '\0' ? letter : ' ', value);
				return E_CONFIG;
			}
			TRY(token(x->config, x->situation, letter, out));
		} else {
			buf_put_u8(out, (uint8_t)*p);
		}
	}
	return buf_err(out);
}
