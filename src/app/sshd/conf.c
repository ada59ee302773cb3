/* SPDX-License-Identifier: ISC */
/* conf - reads sshd_config: what the configuration engine may ask of the world */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/sshd/files.h"
#include "app/sshd/sshd.h"

#define CONFIG_MAX  ((size_t)64 * 1024 * 1024)
#define INCLUDE_DIR "/etc/ssh"

static err_t env_read(void *arg, const char *path, bool is_user, struct buf *out)
{
	return file_read(path, CONFIG_MAX, out);
}

static err_t env_glob(void *arg, const char *pattern, struct cfg_list *out)
{
	glob_t g;
	struct cfg_list list = {NULL, 0};
	int code = glob(pattern, 0, NULL, &g);
	if (code == GLOB_NOMATCH) {
		*out = list;
		return OK;
	}
	if (code != 0)
		return E_IO;
	list.v = calloc(g.gl_pathc + 1, sizeof(*list.v));
	for (size_t i = 0; list.v != NULL && i < g.gl_pathc; i++) {
		list.v[i] = strdup(g.gl_pathv[i]);
		if (list.v[i] == NULL)
			break;
		list.n++;
	}
	bool is_whole = list.v != NULL && list.n == g.gl_pathc;
	globfree(&g);
	if (!is_whole) {
		for (size_t i = 0; i < list.n; i++)
			free(list.v[i]);
		free(list.v);
		return E_MEM;
	}
	*out = list;
	return OK;
}

static const char *env_get(void *arg, const char *name)
{
	return getenv(name);
}

static void env_warn(void *arg, const char *text)
{
	log_put(LOG_L_INFO, "%s", text);
}

static void env_debug(void *arg, const char *text)
{
	log_debug2("%s", text);
}

static const struct cfg_env env_first = {.read_file = env_read,
	.glob = env_glob,
	.getenv = env_get,
	.warn = env_warn,
	.debug = env_debug};
const struct cfg_env conf_env_quiet = {.getenv = env_get};

static void tell(const struct buf *why)
{
	const char *p = (const char *)why->p;
	size_t n = why->n;
	while (n > 0) {
		const char *end = memchr(p, '\n', n);
		size_t line = end != NULL ? (size_t)(end - p) : n;
		log_put(LOG_L_FATAL, "%.*s", (int)line, p);
		n -= line + (end != NULL);
		p += line + (end != NULL);
	}
}

err_t conf_read(struct sshd_options *o)
{
	struct buf text, why;
	if (strcmp(o->config_file, "none") == 0)
		return OK;
	buf_init(&text, CONFIG_MAX + 1);
	buf_init(&why, (size_t)1 << 20);
	err_t e = file_read_any(o->config_file, CONFIG_MAX, &text);
	if (e != OK) /* no configuration at all: 1, as against 255 for a wrong one */
		o->is_config_missing = true;
	if (e != OK)
		log_put(LOG_L_FATAL, "%s: %s", o->config_file,
			errno != 0 ? strerror(errno) : err_text(e));
	else
		e = cfg_lines_text(o->lines, buf_bytes(&text),
			&(struct cfg_source){.name = o->config_file, .include_dir = INCLUDE_DIR},
			&env_first, &why);
	tell(&why);
	buf_done(&text);
	buf_done(&why);
	return e;
}

/* -p takes the place of the file's ports. */
static err_t apply_ports(const struct sshd_options *o, struct server_config *c)
{
	if (o->ports_n == 0)
		return OK;
	char **v = calloc(o->ports_n, sizeof(*v));
	if (v == NULL)
		return E_MEM;
	size_t n = 0;
	while (n < o->ports_n && (v[n] = strdup(o->ports[n])) != NULL)
		n++;
	for (size_t i = 0; i < c->ports.n; i++)
		free(c->ports.v[i]);
	free(c->ports.v);
	c->ports = (struct cfg_list){v, n};
	return n == o->ports_n ? OK : E_MEM;
}

err_t conf_global(const struct sshd_options *o, struct server_config *out)
{
	struct server_config c;
	struct buf why;
	buf_init(&why, (size_t)1 << 20);
	err_t e = server_config_eval(&c, o->lines, NULL, &env_first, &why);
	tell(&why);
	buf_done(&why);
	TRY(e);
	e = apply_ports(o, &c);
	if (e != OK) {
		server_config_done(&c);
		return e;
	}
	*out = c;
	return OK;
}
