/* SPDX-License-Identifier: ISC */
/*
 * shell - the keys into the file by commands of the shell there, where there is no SFTP
 *
 * Two commands over the connection that is open already: one shows the file, the other puts the
 * missing lines at its end.  Both are for any shell that knows exec and quotes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/ssh-copy-id/ci.h"

#define COMMAND_MAX ((size_t)64 << 10)
#define NO_FILE     44 /* status: there is none yet */

/* One command: bytes to its input, its output whole. */
struct run {
	struct link *link;
	struct ev *ev;
	struct cslice in;
	struct buf out;
	bool has_ended;
	err_t why;
};

static void push(struct run *u)
{
	while (u->in.n > 0) {
		size_t n = num_min(u->in.n, 16384);
		if (link_put(u->link, cslice_of(u->in.p, n)) != OK)
			return;
		u->in = cslice_of(u->in.p + n, u->in.n - n);
	}
	u->link->ops->finish(u->link);
}

static void on_bytes(void *arg, struct span in)
{
	struct run *u = arg;
	buf_put(&u->out, in.p, in.n);
}

static void on_room(void *arg)
{
	push(arg);
}

static void on_end(void *arg, err_t why)
{
	struct run *u = arg;
	u->has_ended = true;
	u->why = why;
	ev_stop(u->ev);
}

static err_t talk(struct ci *c, struct run *u)
{
	u->ev = c->ev;
	u->link = copy_link(c->conn);
	u->link->arg = u;
	u->link->on_bytes = on_bytes;
	u->link->on_room = on_room;
	u->link->on_end = on_end;
	push(u);
	u->link->ops->kick(u->link);
	while (!u->has_ended && !c->is_interrupted && buf_err(&u->out) == OK)
		TRY(ev_run(c->ev));
	u->link->on_bytes = NULL;
	u->link->on_room = NULL;
	u->link->on_end = NULL;
	TRY(buf_err(&u->out));
	return c->is_interrupted ? E_INTERRUPTED : u->why;
}

/* For sh inside of single quotes: inside of double ones there. */
static void put_path(struct buf *b, const char *path)
{
	buf_put_u8(b, '"');
	for (const char *p = path; *p != '\0'; p++) {
		if (strchr("\"\\$`", *p) != NULL)
			buf_put_u8(b, '\\');
		if (*p == '\'')
			buf_printf(b, "'\\''");
		else
			buf_put(b, p, 1);
	}
	buf_put_u8(b, '"');
}

/* Sets F to the file and D to its directory, at home. */
static void put_begin(const struct ci *c, struct buf *b)
{
	const char *path = c->target != NULL ? c->target : ".ssh/authorized_keys";
	if (strncmp(path, "~/", 2) == 0)
		path += 2;
	buf_printf(b, "exec sh -c 'cd; umask 077; F=");
	put_path(b, path);
	if (c->target == NULL)
		buf_printf(b, "; if [ -f /etc/openwrt_release ] && [ \"$HOME\" = /root ] && "
			      "[ -d /etc/dropbear ]; then F=/etc/dropbear/authorized_keys; fi");
	buf_printf(b, "; case $F in */*) D=${F%%/*};; *) D=.;; esac; ");
}

static err_t show_command(const struct ci *c, struct buf *b)
{
	put_begin(c, b);
	buf_printf(b, "if [ -e \"$F\" ]; then exec cat \"$F\"; else exit %d; fi'", NO_FILE);
	buf_put_u8(b, 0);
	return buf_err(b);
}

static err_t add_command(const struct ci *c, struct buf *b)
{
	put_begin(c, b);
	buf_printf(b, "mkdir -p \"$D\" && cat >>\"$F\" || exit 1; "
		      "if type restorecon >/dev/null 2>&1; then restorecon -F \"$D\" \"$F\"; fi; "
		      "exit 0'");
	buf_put_u8(b, 0);
	return buf_err(b);
}

static int lost(err_t e)
{
	return e == E_INTERRUPTED ? CI_FAILED : ci_fail("the connection was lost: %s", err_text(e));
}

/* The file's text into u->out. */
static err_t look(struct ci *c, struct buf *command, struct run *u)
{
	int status = 0;
	struct copy_to to = {.command = (const char *)command->p};
	TRY(copy_again(c->conn, &to, &status));
	err_t e = talk(c, u);
	return e;
}

/* The missing lines go in: *status of the command that showed the file. */
static err_t add(struct ci *c, struct buf *command, struct buf *tail, int *status)
{
	struct run u = {.in = buf_bytes(tail)};
	struct copy_to to = {.command = (const char *)command->p};
	TRY(copy_again(c->conn, &to, status));
	if (*status != 0 && *status != NO_FILE)
		return E_DENIED;
	buf_init(&u.out, COMMAND_MAX);
	err_t e = talk(c, &u);
	buf_done(&u.out);
	return e;
}

static int run(struct ci *c, struct buf commands[2], struct run *u, struct buf *tail)
{
	int shown = 0;
	err_t e = look(c, &commands[0], u);
	if (e != OK)
		return lost(e);
	e = ci_merge(buf_bytes(&u->out), &c->keys, c->is_forced, tail);
	if (e != OK)
		return ci_fail("the file there cannot be compared with the keys: %s", err_text(e));
	if (!ci_report(c) || c->is_dry_run)
		return 0;
	e = add(c, &commands[1], tail, &shown);
	if (e == E_DENIED)
		return ci_fail(
			"the file there cannot be read: the command ended with status %d", shown);
	if (e != OK)
		return lost(e);
	int status = copy_close(c->conn);
	c->conn = NULL;
	if (status == 0)
		return 0;
	return ci_fail("the lines could not be added: the command ended with status %d", status);
}

int ci_place_shell(struct ci *c)
{
	struct buf commands[2], tail;
	struct run u = {0};
	log_debug1("no SFTP there: the keys go by a command of the shell");
	buf_init(&commands[0], COMMAND_MAX);
	buf_init(&commands[1], COMMAND_MAX);
	buf_init(&tail, CI_KEYS_MAX);
	buf_init(&u.out, CI_FILE_MAX);
	err_t e = show_command(c, &commands[0]);
	if (e == OK)
		e = add_command(c, &commands[1]);
	int status = e == OK ? run(c, commands, &u, &tail) : ci_fail("%s", err_text(e));
	buf_done(&u.out);
	buf_done(&tail);
	buf_done(&commands[1]);
	buf_done(&commands[0]);
	return status;
}
