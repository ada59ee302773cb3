/* SPDX-License-Identifier: ISC */
/* user - accounts: passwd, groups and shadow; acting as a user, becoming one */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <shadow.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/secret.h"
#include "os/user.h"

#define GROUPS_MAX 65536
#define DAY_S      86400

static char *copy_text(const char *s)
{
	return strdup(s != NULL ? s : "");
}

static err_t find_groups(struct os_user *u)
{
	int n = 32;
	for (;;) {
		gid_t *groups = calloc((size_t)n, sizeof(*groups));
		if (groups == NULL)
			return E_MEM;
		int had = n;
		if (getgrouplist(u->name, u->gid, groups, &n) >= 0) {
			u->groups = groups;
			u->groups_n = (size_t)n;
			return OK;
		}
		free(groups);
		if (n <= had || n > GROUPS_MAX)
			return E_LIMIT;
	}
}

/* shadow(5): days since 1970; an empty field reads as -1. */
static enum user_expiry expiry_of(const struct spwd *sp)
{
	long today = (long)(time(NULL) / DAY_S);
	if (sp->sp_expire > 0 && today > sp->sp_expire)
		return USER_EXPIRED;
	if (sp->sp_lstchg == 0)
		return USER_PASSWORD_EXPIRED;
	if (sp->sp_lstchg > 0 && sp->sp_max >= 0 && today - sp->sp_lstchg > sp->sp_max)
		return USER_PASSWORD_EXPIRED;
	return USER_CURRENT;
}

static err_t fill(const struct passwd *pw, struct os_user *out)
{
	struct os_user u = {.uid = pw->pw_uid, .gid = pw->pw_gid, .expiry = USER_CURRENT};
	u.name = copy_text(pw->pw_name);
	u.home = copy_text(pw->pw_dir);
	u.shell =
		copy_text(pw->pw_shell != NULL && pw->pw_shell[0] != 0 ? pw->pw_shell : "/bin/sh");
	const char *hash = pw->pw_passwd;
	const struct spwd *sp = u.name != NULL ? getspnam(u.name) : NULL;
	if (sp != NULL) {
		u.expiry = expiry_of(sp);
		hash = sp->sp_pwdp;
	}
	u.hash = copy_text(hash);
	err_t e = u.name && u.home && u.shell && u.hash ? find_groups(&u) : E_MEM;
	if (e != OK) {
		user_done(&u);
		return e;
	}
	*out = u;
	return OK;
}

err_t user_find(const char *name, struct os_user *out)
{
	const struct passwd *pw = getpwnam(name);
	return pw != NULL ? fill(pw, out) : E_NOT_FOUND;
}

err_t user_find_uid(uint32_t uid, struct os_user *out)
{
	const struct passwd *pw = getpwuid(uid);
	return pw != NULL ? fill(pw, out) : E_NOT_FOUND;
}

void user_done(struct os_user *u)
{
	if (u->hash != NULL)
		wipe_free(u->hash, strlen(u->hash));
	free(u->groups);
	free(u->shell);
	free(u->home);
	free(u->name);
	*u = (struct os_user){.expiry = USER_EXPIRED};
}

void user_forget_hash(struct os_user *u)
{
	size_t n = u->hash != NULL ? strlen(u->hash) : 0;
	if (n == 0)
		return;
	wipe(u->hash, n);
	u->hash[0] = '*';
}

err_t user_group_names(const struct os_user *u, struct buf *out)
{
	for (size_t i = 0; i < u->groups_n; i++) {
		const struct group *gr = getgrgid(u->groups[i]);
		if (gr != NULL)
			buf_printf(out, "%s%s", out->n > 0 ? "," : "", gr->gr_name);
	}
	return buf_err(out);
}

err_t user_typical_hash(struct buf *out)
{
	const struct spwd *sp;
	setspent();
	while ((sp = getspent()) != NULL && !user_hash_is_wellformed(sp->sp_pwdp))
		;
	const char *hash = sp != NULL ? sp->sp_pwdp : NULL;
	if (hash != NULL && hash[0] == '$') {
		/* The setting with an invented digest: the real one stays where it was. */
		size_t setting = (size_t)(strrchr(hash, '$') - hash) + 1;
		buf_put(out, hash, setting);
		for (size_t i = setting; hash[i] != 0; i++)
			buf_put_u8(out, '.');
	} else {
		buf_put(out, "$6$bowlinebowline0$", 19);
		for (size_t i = 0; i < 86; i++)
			buf_put_u8(out, '.');
	}
	endspent();
	buf_put_u8(out, 0);
	return buf_err(out);
}

err_t user_become(const struct os_user *u)
{
	if (geteuid() != 0)
		return getuid() == u->uid && geteuid() == u->uid ? OK : E_PERMISSION;
	if (setgroups(u->groups_n, u->groups) != 0 || setresgid(u->gid, u->gid, u->gid) != 0 ||
		setresuid(u->uid, u->uid, u->uid) != 0)
		return E_IO;
	bool is_back = u->uid != 0 && (setuid(0) == 0 || seteuid(0) == 0);
	if (is_back || getuid() != u->uid || geteuid() != u->uid || getgid() != u->gid ||
		getegid() != u->gid)
		return E_IO;
	return OK;
}

err_t user_act_begin(const struct os_user *u, struct user_saved *saved)
{
	struct user_saved s = {.is_active = geteuid() == 0, .gid = getegid()};
	if (s.is_active) {
		s.groups_n = getgroups((int)ARRAY_N(s.groups), s.groups);
		if (s.groups_n < 0)
			return E_LIMIT;
		if (setgroups(u->groups_n, u->groups) != 0 || setegid(u->gid) != 0 ||
			seteuid(u->uid) != 0) {
			if (user_act_end(&s) != OK)
				abort();
			return E_IO;
		}
	}
	*saved = s;
	return OK;
}

err_t user_act_end(struct user_saved *saved)
{
	if (!saved->is_active)
		return OK;
	if (seteuid(0) != 0 || setegid(saved->gid) != 0 ||
		setgroups((size_t)saved->groups_n, saved->groups) != 0)
		return E_IO;
	saved->is_active = false;
	return OK;
}
