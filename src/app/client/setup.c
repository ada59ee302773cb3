/* SPDX-License-Identifier: ISC */
/* setup - configuration files, the names of host and user, the log */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "app/client/client.h"
#include "build_config.h"
#include "os/file.h"

#define CONFIG_MAX ((size_t)64 << 20)

/* ---- what config asks of the world --------------------------------------------------------------
 */
static err_t env_read(void *arg, const char *path, bool is_user, struct buf *out)
{
	const struct ssh *s = arg;
	struct os_file info;
	TRY(os_file_read(path, out, &info));
	bool is_safe = (info.uid == 0 || info.uid == s->me.uid) && (info.mode & 022) == 0;
	return !is_user || is_safe ? OK : E_PERMISSION;
}

static err_t list_add(struct cfg_list *l, const char *word)
{
	char **v = realloc(l->v, (l->n + 1) * sizeof(*v));
	if (v == NULL)
		return E_MEM;
	l->v = v;
	v[l->n] = strdup(word);
	if (v[l->n] == NULL)
		return E_MEM;
	l->n++;
	return OK;
}

static err_t env_glob(void *arg, const char *pattern, struct cfg_list *out)
{
	(void)arg;
	glob_t found;
	int r = glob(pattern, 0, NULL, &found);
	err_t e = r == 0 || r == GLOB_NOMATCH ? OK : E_IO;
	for (size_t i = 0; r == 0 && e == OK && i < found.gl_pathc; i++)
		e = list_add(out, found.gl_pathv[i]);
	if (r == 0)
		globfree(&found);
	return e;
}

static bool env_exec(void *arg, const char *command)
{
	const struct ssh *s = arg;
	return helper_run(s->me.shell, command) == 0;
}

static const char *env_getenv(void *arg, const char *name)
{
	(void)arg;
	return getenv(name);
}

static void env_warn(void *arg, const char *text)
{
	(void)arg;
	ssh_say(LOG_L_INFO, "%s", text);
}

static void env_debug(void *arg, const char *text)
{
	(void)arg;
	log_debug1("%s", text);
}

/* ---- files --------------------------------------------------------------------------------------
 */
/* E_NOT_FOUND stays an error: the caller knows whether the file must exist. */
static err_t add_file(
	struct ssh *s, const char *path, bool is_checked, bool is_user, struct buf *why)
{
	struct buf text, dir;
	buf_init(&text, CONFIG_MAX);
	buf_init(&dir, 65536);
	if (is_user)
		buf_printf(&dir, "%s/.ssh", s->me.home);
	else
		buf_printf(&dir, "%s/ssh", SYSCONFDIR);
	buf_put_u8(&dir, 0);
	err_t e = buf_err(&dir);
	if (e == OK)
		e = env_read(s, path, is_checked, &text);
	if (e == OK) {
		struct cfg_source from = {path, is_user, (const char *)dir.p};
		log_debug1("Reading configuration data %s", path);
		e = cfg_lines_text(s->args.options, buf_bytes(&text), &from, &s->cfg_env, why);
	} else if (e == E_PERMISSION && is_checked && os_file_probe(path) == 0) {
		buf_printf(why, "Bad owner or permissions on %s\n", path);
	}
	buf_done(&text);
	buf_done(&dir);
	return e;
}

static err_t add_files(struct ssh *s, struct buf *why)
{
	const char *named = s->args.config_file;
	if (named != NULL) {
		if (strcasecmp(named, "none") == 0)
			return OK;
		err_t e = add_file(s, named, false, true, why);
		int error = e != OK ? os_file_probe(named) : 0;
		if (e != OK && why->n == 0)
			buf_printf(why, "Can't open user config file %s: %s\n", named,
				error != 0 ? strerror(error) : err_text(e));
		return e;
	}
	struct buf path;
	buf_init(&path, 65536);
	buf_printf(&path, "%s/.ssh/config", s->me.home);
	buf_put_u8(&path, 0);
	err_t e = buf_err(&path);
	if (e == OK)
		e = add_file(s, (const char *)path.p, true, true, why);
	buf_done(&path);
	if (e == E_NOT_FOUND || (e == E_PERMISSION && why->n == 0))
		e = OK;
	TRY(e);
	e = add_file(s, SYSCONFDIR "/ssh/ssh_config", false, false, why);
	return e == E_NOT_FOUND || (e == E_PERMISSION && why->n == 0) ? OK : e;
}

/* ---- values -------------------------------------------------------------------------------------
 */
bool value_is_none(const char *value)
{
	return value == NULL || strcasecmp(value, "none") == 0;
}

static void know_local_host(struct ssh *s, const char *value)
{
	static char name[256]; /* one process, one host */
	if (s->situation.local_host != NULL || strpbrk(value, "%") == NULL)
		return;
	if (gethostname(name, sizeof(name) - 1) == 0)
		s->situation.local_host = name;
}

err_t setup_expand(struct ssh *s, const char *value, const char *letters, char **out)
{
	struct buf text, why;
	buf_init(&text, 1 << 20);
	buf_init(&why, 65536);
	know_local_host(s, value);
	struct client_expansion x = {.config = &s->cfg,
		.situation = &s->situation,
		.env = &s->cfg_env,
		.allowed = letters,
		.with_env = letters[0] == '%' && letters[1] != 'h',
		.why = &why};
	err_t e = client_config_expand(&x, value, &text);
	buf_put_u8(&text, 0);
	if (e == OK)
		e = buf_err(&text);
	if (e == OK) {
		char *copy = strdup((const char *)text.p);
		if (copy != NULL)
			*out = copy;
		else
			e = E_MEM;
	} else {
		ssh_say_lines(LOG_L_FATAL, buf_bytes(&why));
	}
	buf_done(&text);
	buf_done(&why);
	return e;
}

static void set_log(struct ssh *s, enum log_level level)
{
	if (s->args.use_syslog)
		logsink_syslog(&s->log, "ssh", s->cfg.syslog_facility, level);
	else
		logsink_level(&s->log, level);
}

/* -v holds for the reading of the files too; where it is written to syslog, only once they are
 * known.
 */
static void begin_log(struct ssh *s)
{
	if (s->args.has_level && s->args.level >= LOG_L_DEBUG1 && !s->args.use_syslog)
		logsink_level(&s->log, s->args.level);
	log_debug1("%s, %s", BOWLINE_RELEASE, crypto_version());
}

static err_t name_user(struct ssh *s)
{
	if (s->args.user != NULL) {
		s->user = strdup(s->args.user);
	} else if (strchr(s->cfg.user, '%') != NULL || strchr(s->cfg.user, '$') != NULL) {
		TRY(setup_expand(s, s->cfg.user, "%Cdhijkllnpu", &s->user));
		if (!dest_user_is_fine(s->user)) {
			ssh_say(LOG_L_FATAL, "remote username contains invalid characters");
			return E_USAGE;
		}
	} else {
		s->user = strdup(s->cfg.user);
	}
	if (s->user == NULL)
		return E_MEM;
	if (s->args.user == NULL)
		return OK;
	free(s->cfg.user);
	s->cfg.user = strdup(s->user);
	return s->cfg.user != NULL ? OK : E_MEM;
}

static err_t name_host(struct ssh *s)
{
	s->host = strdup(s->cfg.hostname);
	if (s->host == NULL)
		return E_MEM;
	ascii_lower(s->host);
	s->known_name = s->cfg.hostkey_alias != NULL ? s->cfg.hostkey_alias : s->host;
	s->known_port = s->cfg.hostkey_alias != NULL ? 22 : s->cfg.port;
	buf_init(&s->known_shown, 65536);
	kh_name(s->known_name, s->known_port, &s->known_shown);
	buf_put_u8(&s->known_shown, 0);
	return buf_err(&s->known_shown);
}

static err_t check_names(struct ssh *s)
{
	if (s->args.user != NULL && !dest_user_is_fine(s->args.user)) {
		ssh_say(LOG_L_FATAL, "remote username contains invalid characters");
		return E_USAGE;
	}
	if (!dest_host_is_fine(s->args.host)) {
		ssh_say(LOG_L_FATAL, "hostname contains invalid characters");
		return E_USAGE;
	}
	return OK;
}

static err_t take_remote_command(struct ssh *s)
{
	if (value_is_none(s->cfg.remote_command))
		return OK;
	if (s->args.has_command) {
		ssh_say(LOG_L_FATAL, "Cannot execute command-line and remote command.");
		return E_USAGE;
	}
	char *command;
	TRY(setup_expand(s, s->cfg.remote_command, TOKENS_ALL, &command));
	buf_put(&s->args.command, command, strlen(command) + 1);
	free(command);
	s->args.has_command = true;
	return buf_err(&s->args.command);
}

/* As with OpenSSH the last of -A and -a stands over every keyword. */
static err_t take_forward_agent(struct ssh *s)
{
	if (s->args.forward_agent == NULL)
		return OK;
	char *copy = strdup(s->args.forward_agent);
	if (copy == NULL)
		return E_MEM;
	free(s->cfg.forward_agent);
	s->cfg.forward_agent = copy;
	return OK;
}

err_t setup_config(struct ssh *s)
{
	struct ssh_args *a = &s->args;
	struct buf why;
	TRY(check_names(s));
	s->cfg_env = (struct cfg_env){.arg = s,
		.read_file = env_read,
		.glob = env_glob,
		.exec = env_exec,
		.getenv = env_getenv,
		.warn = env_warn,
		.debug = env_debug};
	s->situation = (struct client_situation){.host_arg = a->host,
		.local_user = s->me.name,
		.home = s->me.home,
		.uid = s->me.uid,
		.command = a->has_command ? (const char *)a->command.p : NULL};
	begin_log(s);
	buf_init(&why, 1 << 20);
	err_t e = add_files(s, &why);
	if (e == OK)
		e = client_config_eval(&s->cfg, a->options, &s->situation, &s->cfg_env, &why);
	if (why.n > 0)
		ssh_say_lines(LOG_L_FATAL, buf_bytes(&why));
	buf_done(&why);
	TRY(e);
	s->has_cfg = true;
	if (a->port != 0)
		s->cfg.port = a->port;
	TRY(take_forward_agent(s));
	set_log(s, a->has_level ? a->level : (enum log_level)s->cfg.log_level);
	TRY(name_user(s));
	TRY(name_host(s));
	return take_remote_command(s);
}
