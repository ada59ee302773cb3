/* SPDX-License-Identifier: ISC */
/*
 * confirm - the program that asks whether a key may be used (compat 8.5), beside the loop
 *
 * Questions stand in a row, one is shown at a time.  Nothing waits here: the answer is read when
 * the program has ended.  When whoever wanted the signature has gone, so does the question.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/common/askpass.h"
#include "app/ssh-agent/sa.h"
#include "os/helper.h"

#define DEFAULT_PROGRAM "/usr/bin/ssh-askpass"
#define LOOK_US         500000u

struct agent_asker {
	struct ev *ev;
	struct list row; /* the first one is shown when a program runs */
	struct helper program;
	struct ev_timer look;
};

static struct agent_question *first(struct agent_asker *a)
{
	return LIST_ENTRY(a->row.next, struct agent_question, link);
}

static void show_next(struct agent_asker *a);

static void finish(struct agent_asker *a, err_t verdict)
{
	struct agent_question *q = first(a);
	list_remove(&q->link);
	show_next(a); /* first: whoever is told may ask again */
	q->done(q->arg, verdict);
}

static void look(struct ev_timer *t, uint64_t now_us)
{
	struct agent_asker *a = t->arg;
	if (a->program.pid <= 0)
		return;
	if (!first(a)->is_wanted(first(a)->arg)) {
		finish(a, E_CANCELLED);
		return;
	}
	ev_timer_set(a->ev, &a->look, now_us + LOOK_US);
}

static void show_next(struct agent_asker *a)
{
	const char *program = getenv("SSH_ASKPASS");
	helper_end(&a->program);
	ev_timer_stop(a->ev, &a->look);
	while (!list_is_empty(&a->row) && a->program.pid <= 0) {
		struct agent_question *q = first(a);
		const char *const argv[] = {
			program != NULL && program[0] != '\0' ? program : DEFAULT_PROGRAM, q->text,
			NULL};
		if (askpass_wanted(false) && helper_start(argv, false, &a->program) == OK) {
			ev_timer_set(a->ev, &a->look, os_monotonic_us() + LOOK_US);
			break;
		}
		list_remove(&q->link);
		q->done(q->arg, E_CANCELLED); /* nobody can be asked: no */
	}
}

/* "yes" in any case, or nothing: the program ended well, that is enough. */
static bool is_yes(int fd)
{
	char text[64];
	(void)fcntl(fd, F_SETFL, O_NONBLOCK);
	ssize_t n = read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\r\n")] = '\0';
	return text[0] == '\0' || strcasecmp(text, "yes") == 0;
}

void agent_asker_child(struct agent_asker *a)
{
	int how;
	for (pid_t pid = waitpid(-1, &how, WNOHANG); pid > 0; pid = waitpid(-1, &how, WNOHANG)) {
		if (pid != a->program.pid)
			continue; /* one that was dropped */
		bool is_good = WIFEXITED(how) && WEXITSTATUS(how) == 0;
		a->program.pid = 0;
		finish(a, is_good && is_yes(a->program.from) ? OK : E_DENIED);
	}
}

void agent_ask(struct agent_asker *a, struct agent_question *q)
{
	bool is_idle = list_is_empty(&a->row);
	list_push(&a->row, &q->link);
	if (is_idle)
		show_next(a);
}

void agent_ask_drop(struct agent_asker *a, struct agent_question *q)
{
	if (q->link.next == NULL || list_is_empty(&q->link))
		return;
	bool is_shown = first(a) == q;
	list_remove(&q->link);
	if (is_shown)
		show_next(a);
}

err_t agent_asker_new(struct agent_asker **out, struct ev *ev)
{
	struct agent_asker *a = calloc(1, sizeof(*a));
	if (a == NULL)
		return E_MEM;
	a->ev = ev;
	a->program = (struct helper){.pid = 0, .from = -1, .to = -1};
	a->look = (struct ev_timer){.at_us = UINT64_MAX, .on = look, .arg = a};
	list_init(&a->row);
	/* It never asks for anything else. */
	(void)setenv("SSH_ASKPASS_PROMPT", "confirm", 1);
	*out = a;
	return OK;
}

void agent_asker_free(struct agent_asker *a)
{
	if (a == NULL)
		return;
	helper_end(&a->program);
	free(a);
}
