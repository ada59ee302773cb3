/* SPDX-License-Identifier: ISC */
/*
 * place - the keys into the file at the other end, over SFTP
 *
 * The new text is written beside the file and renamed over it, so nobody ever reads half of it, and
 * a full disk leaves the old one.  Where that would change more than the text (another owner, an
 * ACL of Windows) or is not possible (a directory that is not ours, no posix-rename), the lines are
 * put at the end of the file itself, and taken off again when that fails.  A link is followed: the
 * file behind it is changed, the link stays.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/ssh-copy-id/ci.h"
#include "os/random.h"

#define TRIES       3 /* somebody else writes at the same time */
#define S_TYPE      0170000u
#define S_REGULAR   0100000u
#define S_DIRECTORY 0040000u
#define MODE_BITS   07777u
#define OTHERS_MAY  0022u

#define OPENWRT_FILE "/etc/dropbear/authorized_keys"

struct place {
	struct ci *c;
	struct remote *r;
	char *path;  /* of the file itself, links followed */
	char *shown; /* as it was named, safe to print */
	bool is_new;
	struct sf_attr attr; /* of the file as it was read */
	struct buf text, tail;
	bool is_windows;
};

static err_t fail(const struct place *p, err_t e, const char *what)
{
	(void)ci_fail("%s %s: %s", what, p->shown, remote_words(p->r, e));
	return E_DENIED;
}

static bool is_missing(const struct place *p, err_t e)
{
	return e == E_STATUS && p->r->code == SF_no_such_file;
}

static bool exists(const struct place *p, const char *path)
{
	struct sf_attr a;
	return remote_stat(p->r, path, false, &a) == OK;
}

/* ---- where -------------------------------------------------------------------------------------
 */
/* OpenWrt's Dropbear looks for root's keys elsewhere. */
static const char *default_target(struct place *p)
{
	char *home = NULL;
	const char *target = ".ssh/authorized_keys";
	if (remote_realpath(p->r, ".", &home) != OK)
		return target;
	p->is_windows = home[0] == '/' && home[1] != '\0' && home[2] == ':';
	if (strcmp(home, "/root") == 0 && exists(p, "/etc/openwrt_release") &&
		exists(p, "/etc/dropbear"))
		target = OPENWRT_FILE;
	free(home);
	return target;
}

static void warn_mode(const char *path, const struct sf_attr *a)
{
	if ((a->flags & SF_A_MODE) != 0 && (a->mode & OTHERS_MAY) != 0)
		ci_say("WARNING",
			"%s can be written by others (mode %03o): a server with StrictModes will "
			"not look at the keys",
			path, (unsigned)(a->mode & 0777));
}

/* Every directory in front of the file. */
static err_t make_directories(struct place *p, char *path)
{
	struct sf_attr a = {0};
	err_t e = OK;
	for (char *slash = strchr(path + 1, '/'); e == OK && slash != NULL;
		slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		e = remote_stat(p->r, path, false, &a);
		if (is_missing(p, e)) {
			a = (struct sf_attr){0};
			e = p->c->is_dry_run ? OK : remote_mkdir(p->r, path, 0700);
		}
		if (e != OK)
			e = fail(p, e, "no directory for");
		else if (!p->is_windows && strchr(slash + 1, '/') == NULL && path[0] != '/')
			warn_mode(path, &a);
		*slash = '/';
	}
	return e;
}

static err_t find_file(struct place *p)
{
	const char *target = default_target(p);
	struct buf safe;
	if (p->c->target != NULL)
		target = strncmp(p->c->target, "~/", 2) == 0 ? p->c->target + 2 : p->c->target;
	buf_init(&safe, CI_KEYS_MAX);
	vis_put(&safe, cslice_str(target));
	err_t e = buf_err(&safe);
	if (e == OK)
		e = text_dup(buf_bytes(&safe), &p->shown);
	buf_done(&safe);
	char *name = strdup(target);
	if (e == OK)
		e = name != NULL ? make_directories(p, name) : E_MEM;
	/* A server that does not resolve names gives an error: then the name itself. */
	if (e == OK && remote_realpath(p->r, name, &p->path) != OK) {
		if (p->r->end != OK)
			e = fail(p, p->r->end, "looking for");
		p->path = name;
		name = NULL;
	}
	free(name);
	return e;
}

/* ---- what is in it ------------------------------------------------------------------------------
 */
static err_t read_file(struct place *p)
{
	buf_clear(&p->text);
	buf_clear(&p->tail);
	p->attr = (struct sf_attr){0};
	err_t e = remote_stat(p->r, p->path, false, &p->attr);
	p->is_new = is_missing(p, e);
	if (p->is_new)
		e = OK;
	else if (e == OK && (p->attr.flags & SF_A_MODE) != 0 &&
		 (p->attr.mode & S_TYPE) != S_REGULAR) {
		(void)ci_fail("%s is no regular file", p->shown);
		return E_DENIED;
	} else if (e == OK)
		e = remote_read_file(p->r, p->path, &p->text);
	if (e != OK)
		return fail(p, e, "reading");
	e = ci_merge(buf_bytes(&p->text), &p->c->keys, p->c->is_forced, &p->tail);
	if (e == E_FORMAT) {
		(void)ci_fail("%s is UTF-16 text, which no server reads: write it anew as plain "
			      "text there",
			p->shown);
		return E_DENIED;
	}
	return e != OK ? fail(p, e, "comparing the keys with") : OK;
}

/* ---- changes ------------------------------------------------------------------------------------
 */
static err_t write_new(struct place *p)
{
	struct remote_put put = {.path = p->path,
		.flags = SF_OPEN_WRITE | SF_OPEN_CREATE | SF_OPEN_EXCL,
		.mode = 0600,
		.bytes = buf_bytes(&p->tail)};
	bool is_open = false;
	err_t e = remote_write_file(p->r, &put, &is_open);
	if (e != OK) {
		int code = (int)p->r->code;
		e = fail(p, e, "writing");
		if (is_open && p->r->end == OK)
			(void)!remote_remove(p->r, p->path);
		p->r->code = (uint32_t)code;
	}
	return e;
}

static err_t append(struct place *p)
{
	struct remote_put put = {.path = p->path,
		.flags = SF_OPEN_WRITE | SF_OPEN_APPEND,
		.offset = p->text.n,
		.bytes = buf_bytes(&p->tail)};
	struct sf_attr old = {.flags = SF_A_SIZE, .size = p->text.n};
	bool is_open = false;
	err_t e = remote_write_file(p->r, &put, &is_open);
	if (e == OK)
		return OK;
	e = fail(p, e, "writing");
	if (is_open && (p->r->end != OK || remote_setstat(p->r, p->path, false, &old) != OK))
		(void)ci_fail("its end may hold a part of the new lines");
	return e;
}

static err_t name_beside(const struct place *p, char **out)
{
	uint64_t number = 0;
	rng_fill(os_rng(), (uint8_t *)&number, sizeof(number));
	return asprintf(out, "%s.%012llx", p->path,
		       (unsigned long long)(number & 0xffffffffffffu)) >= 0
		       ? OK
		       : E_MEM;
}

/* Mode and owner of the file for the one beside it.  E_AGAIN: that cannot be had. */
static err_t dress(const struct place *p, const char *beside)
{
	struct sf_attr is = {0}, mode = {.flags = SF_A_MODE, .mode = p->attr.mode & MODE_BITS};
	const struct sf_attr *want = &p->attr;
	TRY(remote_stat(p->r, beside, false, &is));
	bool has_owners = (want->flags & is.flags & SF_A_OWNER) != 0;
	if (has_owners && (is.uid != want->uid || is.gid != want->gid)) {
		struct sf_attr owner = {.flags = SF_A_OWNER, .uid = want->uid, .gid = want->gid};
		if (remote_setstat(p->r, beside, false, &owner) != OK)
			return E_AGAIN;
	}
	if ((want->flags & SF_A_MODE) != 0 && remote_setstat(p->r, beside, false, &mode) != OK)
		return E_AGAIN;
	return OK;
}

static bool is_unchanged(const struct place *p)
{
	struct sf_attr now;
	return remote_stat(p->r, p->path, false, &now) == OK && now.size == p->attr.size &&
	       now.mtime == p->attr.mtime;
}

/* E_AGAIN: not possible here, the file is as it was.  E_PHASE: somebody else has written. */
static err_t replace(struct place *p)
{
	char *beside = NULL;
	struct buf whole;
	bool is_open = false;
	TRY(name_beside(p, &beside));
	buf_init(&whole, CI_FILE_MAX + CI_KEYS_MAX);
	buf_put(&whole, p->text.p, p->text.n);
	buf_put(&whole, p->tail.p, p->tail.n);
	struct remote_put put = {.path = beside,
		.flags = SF_OPEN_WRITE | SF_OPEN_CREATE | SF_OPEN_EXCL,
		.mode = 0600,
		.bytes = buf_bytes(&whole)};
	err_t e = buf_err(&whole);
	if (e == OK)
		e = remote_write_file(p->r, &put, &is_open);
	if (e != OK)
		e = is_open || p->r->end != OK ? fail(p, e, "writing beside") : E_AGAIN;
	if (e == OK)
		e = dress(p, beside);
	if (e == OK && !is_unchanged(p))
		e = E_PHASE;
	if (e == OK && remote_rename(p->r, beside, p->path, false) != OK)
		e = E_AGAIN;
	if (e != OK && is_open && p->r->end == OK)
		(void)!remote_remove(p->r, beside);
	buf_done(&whole);
	free(beside);
	return e;
}

static bool may_replace(const struct place *p)
{
	return !p->is_windows && sf_client_has(p->r->sf, SF_EXT_posix_rename) &&
	       (p->attr.flags & SF_A_SIZE) != 0 && p->attr.size == p->text.n;
}

static err_t write_file(struct place *p)
{
	if (p->is_new)
		return write_new(p);
	err_t e = may_replace(p) ? replace(p) : E_AGAIN;
	if (p->c->is_interrupted)
		return e == OK ? OK : E_INTERRUPTED;
	return e == E_AGAIN || e == E_STATUS ? append(p) : e;
}

/* ---- the whole ----------------------------------------------------------------------------------
 */
static err_t work(struct place *p)
{
	TRY(find_file(p));
	for (size_t i = 0; i < TRIES; i++) {
		TRY(read_file(p));
		if (i == 0 && !p->is_windows && !p->is_new)
			warn_mode(p->shown, &p->attr);
		if (i == 0 && !ci_report(p->c))
			return OK;
		if (p->c->is_dry_run || p->c->keys.to_add == 0)
			return OK;
		err_t e = write_file(p);
		if (e != E_PHASE)
			return e;
	}
	(void)ci_fail("%s is written by another program at the same time", p->shown);
	return E_DENIED;
}

err_t ci_place_sftp(struct ci *c, int *status)
{
	err_t e = remote_start(&c->remote, copy_link(c->conn), 0, 0);
	if (e != OK && e != E_INTERRUPTED) {
		remote_done(&c->remote);
		return e;
	}
	struct place p = {.c = c, .r = &c->remote};
	buf_init(&p.text, CI_FILE_MAX);
	buf_init(&p.tail, CI_KEYS_MAX);
	if (e == OK)
		e = work(&p);
	if (e != OK && e != E_DENIED && e != E_INTERRUPTED && p.shown != NULL)
		(void)fail(&p, e, "writing");
	*status = e == OK ? 0 : CI_FAILED;
	buf_done(&p.tail);
	buf_done(&p.text);
	free(p.path);
	free(p.shown);
	remote_done(&c->remote);
	return OK;
}
