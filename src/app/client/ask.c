/* SPDX-License-Identifier: ISC */
/* ask - a question to the person: at the terminal, or by the program of SSH_ASKPASS (compat 8.5) */
#include <stdlib.h>
#include <string.h>

#include "app/client/client.h"
#include "app/common/askpass.h"
#include "os/prompt.h"

#define ANSWER_MAX 65536

static err_t ask_person(struct ssh *s, enum ask_kind kind, const char *question, struct buf *answer)
{
	if (askpass_wanted(prompt_possible()))
		return askpass_run(question, kind == ASK_PERMISSION, answer);
	int signo = 0;
	err_t e = prompt_line(question, kind != ASK_SECRET, answer, &signo);
	if (signo != 0)
		s->hooks->prompt_signal(s, signo);
	return e;
}

/* ---- what was answered before -------------------------------------------------------------------
 */
void ask_memory_done(struct ask_memory *m)
{
	for (size_t i = 0; i < m->n; i++) {
		free(m->v[i].question);
		buf_done(&m->v[i].answer);
	}
	m->n = 0;
}

/* The place of a question, made when it is new; m->n when there is no room. */
static size_t memory_find(struct ask_memory *m, const char *question)
{
	size_t i = 0;
	while (i < m->n && strcmp(m->v[i].question, question) != 0)
		i++;
	if (i < m->n || m->n == MEMORY_MAX)
		return i;
	char *copy = strdup(question);
	if (copy == NULL)
		return MEMORY_MAX;
	m->v[m->n].question = copy;
	m->v[m->n].used_in = UINT32_MAX;
	buf_init(&m->v[m->n].answer, ANSWER_MAX);
	return m->n++;
}

static err_t ask_once(struct ssh *s, const char *question, struct buf *answer)
{
	size_t i = memory_find(s->memory, question), before = answer->n;
	if (i >= s->memory->n)
		return ask_person(s, ASK_SECRET, question, answer);
	struct buf *known = &s->memory->v[i].answer;
	uint32_t *used_in = &s->memory->v[i].used_in;
	if (*used_in != UINT32_MAX && *used_in != s->logins) {
		*used_in = s->logins;
		buf_put(answer, known->p, known->n);
		return buf_err(answer);
	}
	TRY(ask_person(s, ASK_SECRET, question, answer));
	*used_in = s->logins;
	buf_clear(known);
	buf_put(known, answer->p + before, answer->n - before);
	return buf_err(known);
}

err_t ask(struct ssh *s, enum ask_kind kind, const char *question, struct buf *answer)
{
	if (s->cfg.batch_mode)
		return E_CANCELLED;
	uint64_t begin_us = os_monotonic_us();
	err_t e = s->memory != NULL && kind == ASK_SECRET ? ask_once(s, question, answer)
							  : ask_person(s, kind, question, answer);
	s->asked_us += os_monotonic_us() - begin_us;
	return e;
}

err_t ask_passphrase(void *arg, const char *path, uint32_t try, struct buf *passphrase)
{
	struct buf question;
	(void)try;
	buf_init(&question, 65536);
	buf_printf(&question, "Enter passphrase for key '%s': ", path);
	buf_put_u8(&question, 0);
	err_t e = buf_err(&question);
	if (e == OK)
		e = ask(arg, ASK_SECRET, (const char *)question.p, passphrase);
	buf_done(&question);
	return e;
}
