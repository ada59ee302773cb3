/* SPDX-License-Identifier: ISC */
/*
 * edit - lines from a person at a terminal, with libedit: history, and names behind the TAB key
 *
 * libedit asks for one character after the other.  While it waits the event loop runs, so Ctrl-C is
 * an event like everywhere else.
 */
#include <histedit.h>
#include <stdlib.h>
#include <wchar.h>

#include "app/sftp/sftp.h"
#include "app/sftp/show.h"
#include "os/tty.h"

#define HISTORY_LINES 100

struct edit {
	struct sftp *s;
	EditLine *el;
	History *history;
	const char *prompt;
	mbstate_t state;
	err_t e; /* why there is no line */
};

static struct edit *edit_of(EditLine *el)
{
	void *arg = NULL;
	(void)el_get(el, EL_CLIENTDATA, &arg);
	return arg;
}

static char *on_prompt(EditLine *el)
{
	return (char *)(uintptr_t)edit_of(el)->prompt; /* libedit only reads it */
}

/* 1: a character, 0: the end, -1: an error. */
static int on_getc(EditLine *el, wchar_t *out)
{
	struct edit *e = edit_of(el);
	for (;;) {
		uint8_t byte;
		e->e = input_byte(&e->s->in, &byte);
		if (e->e != OK)
			return e->e == E_NOT_FOUND ? 0 : -1;
		char c = (char)byte;
		size_t n = mbrtowc(out, &c, 1, &e->state);
		if (n == 0 || n == 1)
			return 1;
		if (n != (size_t)-2) { /* no character of this locale */
			memset(&e->state, 0, sizeof(e->state));
			*out = byte;
			return 1;
		}
	}
}

/* ---- TAB ----------------------------------------------------------------------------------------
 */
/* How far all of them begin alike, in whole characters. */
static size_t common(const struct completion *c)
{
	size_t n = strlen(c->v[0]);
	for (size_t i = 1; i < c->n; i++) {
		size_t same = 0;
		while (same < n && c->v[i][same] == c->v[0][same])
			same++;
		n = same;
	}
	while (n > 0 && ((unsigned char)c->v[0][n] & 0xc0) == 0x80)
		n--;
	/* a backslash belongs to what follows it */
	size_t slashes = 0;
	while (slashes < n && c->v[0][n - 1 - slashes] == '\\')
		slashes++;
	return n - slashes % 2;
}

static int characters(const char *text)
{
	size_t n = mbstowcs(NULL, text, 0);
	return (int)(n == (size_t)-1 ? strlen(text) : n);
}

static void show_all(const struct completion *c)
{
	struct buf out;
	uint32_t width = tty_size_of(1).cols;
	struct show_opts o = {.width = width != 0 ? width : 80};
	struct show_item *v = calloc(c->n, sizeof(*v));
	if (v == NULL)
		return;
	for (size_t i = 0; i < c->n; i++) {
		size_t n = strlen(c->v[i]);
		const char *from = c->v[i] + n;
		while (from > c->v[i] && !(from[-1] == '/' && from[0] != '\0'))
			from--;
		v[i].name = from;
	}
	buf_init(&out, (size_t)1 << 26);
	buf_put_u8(&out, '\n');
	show_list(&out, v, c->n, &o);
	sftp_put(&out);
	buf_done(&out);
	free(v);
}

/* What is common stands in place of the word. */
static void put_common(EditLine *el, const struct completion *c, const char *line)
{
	size_t n = common(c);
	if (n < c->replace)
		return; /* less than was typed */
	char *text = strndup(c->v[0], n);
	if (text == NULL)
		return;
	el_deletestr(el, characters(line + strlen(line) - c->replace));
	(void)el_insertstr(el, text);
	if (c->n == 1 && c->is_ended[0]) {
		char end[3] = {c->quote, c->quote != '\0' ? ' ' : '\0', '\0'};
		(void)el_insertstr(el, c->quote != '\0' ? end : " ");
	}
	free(text);
}

static unsigned char on_tab(EditLine *el, int key)
{
	struct edit *e = edit_of(el);
	const LineInfo *info = el_line(el);
	struct completion c = {0};
	(void)key;
	char *line = strndup(info->buffer, (size_t)(info->cursor - info->buffer));
	err_t err = line != NULL ? sftp_complete(e->s, line, &c) : E_MEM;
	if (err != OK || c.n == 0) {
		free(line);
		if (err == E_INTERRUPTED) { /* Ctrl-C ends the line, not only the question */
			e->e = err;
			return CC_EOF;
		}
		return CC_ERROR;
	}
	size_t had = c.replace;
	put_common(el, &c, line);
	bool is_new = common(&c) > had;
	unsigned char what = CC_REFRESH;
	if (c.n > 1 && !is_new) {
		show_all(&c);
		what = CC_REDISPLAY;
	}
	completion_free(&c);
	free(line);
	return what;
}

/* ---- the face -----------------------------------------------------------------------------------
 */
static err_t start(struct edit *e)
{
	HistEvent event;
	e->el = el_init("sftp", stdin, stdout, stderr);
	e->history = history_init();
	if (e->el == NULL || e->history == NULL)
		return E_MEM;
	(void)history(e->history, &event, H_SETSIZE, HISTORY_LINES);
	(void)el_set(e->el, EL_CLIENTDATA, e);
	(void)el_set(e->el, EL_HIST, history, e->history);
	(void)el_set(e->el, EL_PROMPT, on_prompt);
	(void)el_set(e->el, EL_EDITOR, "emacs");
	(void)el_set(e->el, EL_SIGNAL, 1);
	(void)el_set(e->el, EL_GETCFN, on_getc);
	(void)el_set(e->el, EL_ADDFN, "sftp-complete", "names that the word may become", on_tab);
	(void)el_source(e->el, NULL);
	(void)el_set(e->el, EL_BIND, "^I", "sftp-complete", NULL);
	return OK;
}

err_t edit_new(struct edit **out, struct sftp *s)
{
	struct edit *e = calloc(1, sizeof(*e));
	if (e == NULL)
		return E_MEM;
	e->s = s;
	e->prompt = "";
	err_t err = start(e);
	if (err != OK) {
		edit_free(e);
		return err;
	}
	*out = e;
	return OK;
}

void edit_free(struct edit *e)
{
	if (e == NULL)
		return;
	if (e->el != NULL)
		el_end(e->el);
	if (e->history != NULL)
		history_end(e->history);
	free(e);
}

err_t edit_line(struct edit *e, const char *prompt, struct buf *line)
{
	HistEvent event;
	int n = 0;
	e->prompt = prompt;
	e->e = OK;
	const char *text = el_gets(e->el, &n);
	if (e->e != OK)
		return e->e;
	if (text == NULL || n <= 0)
		return E_NOT_FOUND;
	(void)history(e->history, &event, H_ENTER, text);
	buf_put(line, text, strcspn(text, "\n"));
	buf_put_u8(line, 0);
	return buf_err(line);
}
