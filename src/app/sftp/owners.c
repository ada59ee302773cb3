/* SPDX-License-Identifier: ISC */
/* owners - a sorted set of numbers, asked for in parts */
#include <stdlib.h>

#include "app/sftp/owners.h"

#define AT_ONCE 1024 /* their names fit into a reply */

static err_t want(struct owner_set *o, uint32_t id)
{
	/* the same owner comes many times in a row */
	if (o->n > 0 && o->ids[o->n - 1] == id)
		return OK;
	if (o->n == o->cap) {
		size_t cap = o->cap == 0 ? 64 : 2 * o->cap;
		uint32_t *ids = realloc(o->ids, cap * sizeof(*ids));
		if (ids == NULL)
			return E_MEM;
		o->ids = ids;
		o->cap = cap;
	}
	o->ids[o->n++] = id;
	return OK;
}

err_t owners_want(struct owners *o, uint32_t uid, uint32_t gid)
{
	TRY(want(&o->users, uid));
	return want(&o->groups, gid);
}

static int by_id(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

static err_t ask(struct owner_set *o, struct remote *r, bool is_group)
{
	size_t n = 0;
	if (o->n == 0)
		return OK;
	qsort(o->ids, o->n, sizeof(*o->ids), by_id);
	for (size_t i = 0; i < o->n; i++)
		if (i == 0 || o->ids[i] != o->ids[n - 1])
			o->ids[n++] = o->ids[i];
	o->n = n;
	o->names = calloc(n, sizeof(*o->names));
	if (o->names == NULL)
		return E_MEM;
	for (size_t i = 0; i < n; i += AT_ONCE) {
		err_t e = remote_names(
			r, o->ids + i, num_min(n - i, AT_ONCE), is_group, o->names + i);
		if (e != OK)
			return e == E_STATUS || e == E_UNSUPPORTED ? OK : e;
	}
	return OK;
}

err_t owners_ask(struct owners *o, struct remote *r)
{
	if (!sf_client_has(r->sf, SF_EXT_users_groups_by_id))
		return OK;
	TRY(ask(&o->users, r, false));
	return ask(&o->groups, r, true);
}

static const char *find(const struct owner_set *o, uint32_t id)
{
	if (o->names == NULL)
		return NULL;
	const uint32_t *at = bsearch(&id, o->ids, o->n, sizeof(*o->ids), by_id);
	return at != NULL ? o->names[at - o->ids] : NULL;
}

const char *owners_user(const struct owners *o, uint32_t uid)
{
	return find(&o->users, uid);
}

const char *owners_group(const struct owners *o, uint32_t gid)
{
	return find(&o->groups, gid);
}

static void set_done(struct owner_set *o)
{
	for (size_t i = 0; o->names != NULL && i < o->n; i++)
		free(o->names[i]);
	free(o->names);
	free(o->ids);
}

void owners_done(struct owners *o)
{
	set_done(&o->users);
	set_done(&o->groups);
	*o = (struct owners){0};
}
