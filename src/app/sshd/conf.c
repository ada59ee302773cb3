/* SPDX-License-Identifier: ISC */
/* conf - reads sshd_config: what the configuration engine may ask of the world */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
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

void conf_tell(enum log_level level, const struct buf *lines)
{
	struct cslice rest = buf_bytes(lines);
	while (rest.n > 0) {
		const uint8_t *end = memchr(rest.p, '\n', rest.n);
		size_t n = end != NULL ? (size_t)(end - rest.p) : rest.n;
		log_put(level, "%.*s", (int)n, (const char *)rest.p);
		n += end != NULL;
		rest = cslice_of(rest.p + n, rest.n - n);
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
	conf_tell(LOG_L_FATAL, &why);
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
	conf_tell(LOG_L_FATAL, &why);
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

int conf_family(const struct server_config *c)
{
	static const int families[] = {[CFG_FAMILY_ANY] = AF_UNSPEC,
		[CFG_FAMILY_INET] = AF_INET,
		[CFG_FAMILY_INET6] = AF_INET6};
	return families[c->address_family];
}

uint16_t conf_port(const struct server_config *c, size_t i)
{
	uint32_t port = 0; /* what it is was checked when it was read */
	return text_u32(cslice_str(c->ports.v[i]), &port) == OK ? (uint16_t)port : 0;
}

err_t conf_check_addresses(const struct server_config *c)
{
	struct buf why;
	buf_init(&why, (size_t)1 << 20);
	for (size_t i = 0; i < c->listen_addresses.n; i++) {
		struct os_listen_at at = {.family = conf_family(c)};
		char host[CFG_HOST_MAX];
		TRY(cfg_listen_address(c->listen_addresses.v[i], host, sizeof(host), &at.port));
		at.host = strcmp(host, "*") == 0 ? NULL : host;
		if (os_listen_check(&at, &why) != OK)
			break; /* more would mean more waiting for names */
	}
	bool is_bad = why.n > 0;
	conf_tell(LOG_L_FATAL, &why);
	buf_done(&why);
	return is_bad ? E_CONFIG : OK;
}
