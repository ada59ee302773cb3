/* SPDX-License-Identifier: ISC */
/* main - which way each source goes, and how the run ends */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/scp/scp.h"
#include "os/child.h"
#include "os/prompt.h"

static err_t take_targets(struct scp *s, int n, char **words)
{
	s->sources_n = (size_t)n - 1;
	s->sources = calloc(s->sources_n, sizeof(*s->sources));
	s->source_words = (const char **)words;
	s->to_word = words[n - 1];
	err_t e = s->sources != NULL ? OK : E_MEM;
	const char *word = "";
	for (size_t i = 0; e == OK && i <= s->sources_n; i++) {
		word = words[i];
		e = target_parse(word, i < s->sources_n ? &s->sources[i] : &s->to);
	}
	if (e == OK)
		return OK;
	char *safe = scp_safe(word);
	if (e == E_FORMAT && strncmp(word, "scp://", 6) == 0)
		fprintf(stderr, "scp: %s: invalid uri\n", safe);
	else
		fprintf(stderr, "scp: %s: %s\n", safe,
			e == E_FORMAT ? "there is no host in front of the colon" : err_text(e));
	free(safe);
	return e;
}

/* ---- one source ---------------------------------------------------------------------------------
 */
static void to_remote(struct scp *s, size_t i)
{
	bool is_old = s->mode == SCP_OLD;
	if (s->sources[i].host == NULL && is_old)
		return; /* old_upload takes them all */
	if (s->sources[i].host == NULL)
		copy_upload(s, i);
	else if (s->is_direct)
		direct_copy(s, i);
	else if (is_old)
		old_across(s, i);
	else
		copy_across(s, i);
}

static void to_local(struct scp *s, size_t i)
{
	if (s->sources[i].host == NULL && s->has_extras) {
		copy_local(s, i);
	} else if (s->sources[i].host == NULL) {
		copy_flush(s); /* in the order of the words */
		cp_copy(s, i);
	} else if (s->mode == SCP_OLD) {
		old_download(s, i);
	} else {
		copy_download(s, i);
	}
}

static void copy_all(struct scp *s)
{
	bool is_upload = s->to.host != NULL;
	if (!is_upload && s->sources_n > 1 && !cp_target_is_directory(s))
		return;
	for (size_t i = 0; i < s->sources_n && !s->is_interrupted; i++) {
		if (is_upload)
			to_remote(s, i);
		else
			to_local(s, i);
	}
	if (is_upload && s->mode == SCP_OLD && !s->is_interrupted)
		old_upload(s);
	copy_flush(s);
}

/* ---- the run ------------------------------------------------------------------------------------
 */
static int run(struct scp *s)
{
	err_t e = ev_new(&s->ev);
	if (e != OK) {
		fprintf(stderr, "scp: %s\n", err_text(e));
		return SCP_FAILED;
	}
	meter_init(&s->meter, STDOUT_FILENO, s->is_quiet ? NULL : s->ev);
	if (s->is_quiet)
		meter_set(&s->meter, false);
	copy_all(s);
	meter_done(&s->meter);
	hosts_close(s);
	ev_free(s->ev);
	if (s->failed == 0)
		return 0;
	return s->is_lost ? SCP_NO_HOST : SCP_FAILED;
}

static int run_side(const struct scp *s, char *const *paths, int n)
{
	struct rcp_served how = {.is_source = s->side == 'f',
		.is_recursive = s->opts.is_recursive,
		.keep = s->opts.keep,
		.is_dir_target = s->old.is_dir_target};
	return rcp_main(&how, (const char *const *)paths, (size_t)n);
}

static int run_mode(struct scp *s, int argc, char **argv, int rest)
{
	if (s->mode == SCP_HELP) {
		args_usage(true);
		return 0;
	}
	if (s->side != 0)
		return run_side(s, argv + rest, argc - rest);
	if (argc - rest < 2) {
		args_usage(false);
		return SCP_FAILED;
	}
	if (take_targets(s, argc - rest, argv + rest) != OK)
		return SCP_FAILED;
	return run(s);
}

int main(int argc, char **argv)
{
	struct scp s = {0};
	int rest = argc, status = SCP_FAILED;
	child_open_stdio();
	os_sigpipe_ignore();
	s.umask = umask(0);
	(void)umask((mode_t)s.umask);
	if (copy_options_init(&s.copy, "scp") == OK) {
		err_t e = args_parse(&s, argc, argv, &rest);
		if (e == OK)
			status = run_mode(&s, argc, argv, rest);
		else if (e == E_USAGE)
			args_usage(false);
		else
			status = SCP_NO_HOST;
	}
	for (size_t i = 0; s.sources != NULL && i < s.sources_n; i++)
		target_done(&s.sources[i]);
	free(s.sources);
	target_done(&s.to);
	free(s.dest.path);
	copy_options_done(&s.copy);
	if (s.signo != 0)
		prompt_die(s.signo);
	return status;
}
