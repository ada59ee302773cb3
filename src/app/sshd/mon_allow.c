/* SPDX-License-Identifier: ISC */
/*
 * mon_allow - AllowUsers, DenyUsers, AllowGroups and DenyGroups
 *
 * In this order: denied users, allowed ones, denied groups, allowed ones.  A pattern that cannot be
 * read keeps everybody out, in whichever list it stands.
 */
#include "app/sshd/monitor.h"
#include "base/text.h"

enum listed { L_BAD = 0, L_NO, L_YES };

/* user, or user@host with an address, a network or a name for the host. */
static enum listed is_user(const struct monitor *m, const char *host, const char *pattern)
{
	const char *at = strrchr(pattern, '@');
	size_t n = at != NULL ? (size_t)(at - pattern) : strlen(pattern);
	bool is_name = glob_match(cslice_of(pattern, n), cslice_str(m->user.name));
	if (at == NULL)
		return is_name ? L_YES : L_NO;
	const char *address = m->ends.is_socket ? m->ends.remote : NULL;
	enum addr_verdict v = addr_match_list(cslice_str(at + 1), address, host);
	if (v == ADDR_BAD_LIST)
		return L_BAD;
	return is_name && v == ADDR_MATCH ? L_YES : L_NO;
}

static enum listed has_user(const struct monitor *m, const char *host, const struct cfg_list *list)
{
	enum listed found = L_NO;
	for (size_t i = 0; i < list->n; i++) {
		enum listed one = is_user(m, host, list->v[i]);
		if (one == L_BAD) {
			log_put(LOG_L_ERROR, "Invalid user pattern \"%.100s\"", list->v[i]);
			return L_BAD;
		}
		found = one == L_YES ? L_YES : found;
	}
	return found;
}

static bool has_group(const char *groups, const struct cfg_list *list)
{
	struct cslice rest = cslice_str(groups), one;
	while (list_next(&rest, &one))
		for (size_t i = 0; i < list->n; i++)
			if (glob_match(cslice_str(list->v[i]), one))
				return true;
	return false;
}

bool mon_is_listed(const struct monitor *m, const char *host, const char *groups)
{
	const struct server_config *c = mon_conf(m);
	const char *why = NULL;
	if (c->deny_users.n > 0 && has_user(m, host, &c->deny_users) != L_NO)
		why = "listed in DenyUsers";
	else if (c->allow_users.n > 0 && has_user(m, host, &c->allow_users) != L_YES)
		why = "not listed in AllowUsers";
	else if (c->deny_groups.n > 0 && has_group(groups, &c->deny_groups))
		why = "a group is listed in DenyGroups";
	else if (c->allow_groups.n > 0 && !has_group(groups, &c->allow_groups))
		why = "none of user's groups are listed in AllowGroups";
	if (why != NULL)
		log_put(LOG_L_INFO, "User %.100s from %.100s not allowed because %s", m->user.name,
			host, why);
	return why == NULL;
}
