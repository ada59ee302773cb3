/* SPDX-License-Identifier: ISC */
/* many - one question about many names, without waiting for one answer after the other */
#include <stdlib.h>

#include "app/sftp/sftp.h"

#define AT_ONCE 256

struct many {
	struct sftp *s;
	char *const *paths;
	struct sf_attr *a;
	bool *ok;
	size_t n, asked, answered;
	bool is_done;
	err_t e;
	struct one {
		struct sf_ask ask;
		struct many *of;
		size_t i;
	} v[AT_ONCE];
};

static void ask_next(struct many *m, struct one *o);

static void on_answer(struct sf_ask *ask, const struct sf_reply *r)
{
	struct one *o = ask->arg;
	struct many *m = o->of;
	m->answered++;
	if (r->err != OK)
		m->e = r->err;
	m->ok[o->i] = r->err == OK && r->type == SF_MSG_attrs;
	if (m->ok[o->i]) {
		m->a[o->i] = r->attr;
		m->a[o->i].extended = (struct cslice){0};
	}
	ask_next(m, o);
	m->is_done = m->answered == m->asked && (m->asked == m->n || m->e != OK);
}

static void ask_next(struct many *m, struct one *o)
{
	if (m->e != OK || m->asked == m->n)
		return;
	o->i = m->asked;
	o->of = m;
	o->ask = (struct sf_ask){.on = on_answer, .arg = o};
	err_t e = sf_ask_lstat(
		m->s->r.sf, &o->ask, &(struct sf_lstat){.path = cslice_str(m->paths[o->i])});
	if (e == OK)
		m->asked++;
	else
		m->e = e;
}

/* What is under way has pointers to us: it is waited for, also after an interruption. */
static err_t wait_all(struct many *m)
{
	while (m->answered < m->asked) {
		err_t e;
		m->is_done = false;
		remote_push(&m->s->r);
		e = remote_run_until(&m->s->r, &m->is_done);
		if (e != OK && m->e == OK)
			m->e = e;
		if (e != OK && e != E_INTERRUPTED)
			break;
	}
	return m->e;
}

err_t sftp_stat_many(struct sftp *s, char *const *paths, size_t n, struct sf_attr *a, bool *ok)
{
	struct many *m = calloc(1, sizeof(*m));
	if (m == NULL)
		return E_MEM;
	*m = (struct many){.s = s, .paths = paths, .a = a, .n = n};
	m->ok = ok;
	for (size_t i = 0; i < AT_ONCE && i < n; i++)
		ask_next(m, &m->v[i]);
	err_t e = wait_all(m);
	if (m->answered < m->asked)
		return e; /* the connection is broken: its end still calls on_answer */
	free(m);
	return e;
}
