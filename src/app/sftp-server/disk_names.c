/* SPDX-License-Identifier: ISC */
/* disk_names - names of users and groups: looked up once, as a listing asks for each file */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>

#include "app/sftp-server/disk.h"

static const char *user_word(uint32_t id)
{
	const struct passwd *pw = getpwuid(id);
	return pw != NULL ? pw->pw_name : NULL;
}

static const char *group_word(uint32_t id)
{
	const struct group *gr = getgrgid(id);
	return gr != NULL ? gr->gr_name : NULL;
}

static const char *name_of(struct disk_names *t, uint32_t id, const char *(*ask)(uint32_t id))
{
	for (size_t i = 0; i < DISK_NAMES; i++)
		if (t->v[i].is_known && t->v[i].id == id)
			return t->v[i].has_name ? t->v[i].word : NULL;
	const char *word = ask(id);
	size_t n = word != NULL ? strlen(word) : 0;
	if (n >= DISK_WORD)
		return word; /* too long to be kept */
	size_t at = t->next++ % DISK_NAMES;
	t->v[at].is_known = true;
	t->v[at].has_name = word != NULL;
	t->v[at].id = id;
	if (word != NULL)
		memcpy(t->v[at].word, word, n + 1);
	return word != NULL ? t->v[at].word : NULL;
}

const char *disk_user_name(void *fs, uint32_t uid)
{
	return name_of(&((struct disk *)fs)->users, uid, user_word);
}

const char *disk_group_name(void *fs, uint32_t gid)
{
	return name_of(&((struct disk *)fs)->groups, gid, group_word);
}

enum sf_code disk_home(void *fs, const char *user, struct slice room, size_t *n)
{
	struct disk *d = fs;
	const char *home = d->home;
	if (user[0] != '\0') {
		const struct passwd *pw = getpwnam(user);
		home = pw != NULL ? pw->pw_dir : NULL;
	}
	if (home == NULL)
		return disk_code(d, ENOENT);
	if (strlen(home) > room.n)
		return disk_code(d, ENAMETOOLONG);
	*n = strlen(home);
	memcpy(room.p, home, *n);
	return SF_ok;
}
