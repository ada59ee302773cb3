/* SPDX-License-Identifier: ISC */
/* longname - a directory entry as `ls -l` shows it: clients show it to people, some parse it */
#include <stdio.h>

#include "sftp/server_int.h"

#define HALF_YEAR ((uint64_t)365 * 24 * 60 * 60 / 2)

/* "Jan  2 15:04", or with the year when it is half a year ago. */
static void date_words(const struct sf_server *s, uint32_t t, char *out, size_t n)
{
	static const char *const months[] = {
		"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
	struct sf_civil c = {0};
	s->env.fs->local_time(s->env.fs_arg, t, &c);
	const char *month = months[c.month < 12 ? c.month : 0];
	if (t + HALF_YEAR > s->env.fs->now(s->env.fs_arg))
		(void)snprintf(out, n, "%s %2u %02u:%02u", month, (unsigned)c.day, (unsigned)c.hour,
			(unsigned)c.minute);
	else
		(void)snprintf(out, n, "%s %2u  %u", month, (unsigned)c.day, (unsigned)c.year);
}

static void owner_word(const char *name, uint32_t id, char *out, size_t n)
{
	if (name != NULL)
		(void)snprintf(out, n, "%s", name);
	else
		(void)snprintf(out, n, "%u", (unsigned)id);
}

size_t sf_longname(const struct sf_server *s, const struct sf_dirent *e, struct slice room)
{
	char head[SF_LONGNAME_MAX - SF_NAME_MAX], mode[11], user[48], group[48], date[32];
	sf_mode_text(e->a.mode, mode);
	owner_word(s->env.fs->user_name(s->env.fs_arg, e->a.uid), e->a.uid, user, sizeof(user));
	owner_word(s->env.fs->group_name(s->env.fs_arg, e->a.gid), e->a.gid, group, sizeof(group));
	date_words(s, e->a.mtime, date, sizeof(date));
	int n = snprintf(head, sizeof(head), "%s  %3llu %-8s %-8s %8llu %s ", mode,
		(unsigned long long)e->links, user, group, (unsigned long long)e->a.size, date);
	struct wr w = wr_of(room);
	wr_raw(&w, cslice_of(head, n > 0 ? num_min((size_t)n, sizeof(head) - 1) : 0));
	wr_raw(&w, e->name);
	return w.n;
}
