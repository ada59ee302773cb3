/* SPDX-License-Identifier: ISC */
/*
 * agent_bind - the agent is told which host this login goes to, before it signs (compat 7.6)
 *
 * Its list was read while the key exchange ran; bound, it may hide keys whose destinations are
 * others, and these are not offered.
 */
#include <stdlib.h>

#include "app/client/client.h"
#include "key/cert.h"

#define BLOB_ROOM AG_FRAME_MAX

struct still {
	struct ssh *s;
	bool there[IDENTITIES_MAX];
};

static bool is_blob_of(const struct key *k, struct cslice blob)
{
	struct buf own;
	buf_init(&own, BLOB_ROOM);
	bool is_same = key_blob_any(k, &own) == OK && cslice_eq(buf_bytes(&own), blob);
	buf_done(&own);
	return is_same;
}

static void on_entry(void *arg, struct cslice blob, struct cslice comment)
{
	struct still *l = arg;
	(void)comment;
	for (size_t i = 0; i < l->s->ids_n; i++)
		if (l->s->ids[i].is_agent && !l->there[i])
			l->there[i] = is_blob_of(l->s->ids[i].pub, blob);
}

/* A connection serves one login: the next one is bound to a session of its own. */
static void connect_anew(struct ssh *s)
{
	char *path = identity_agent_path(s);
	agent_close(&s->agent);
	if (path == NULL || agent_connect(&s->agent, path) != OK)
		log_debug1("the agent is not there any more");
	free(path);
}

static err_t bind_here(struct ssh *s)
{
	const struct ag_binding b = {.hostkey = tp_first_hostkey(s->tp),
		.session = tp_session_id(s->tp),
		.signature = tp_first_signature(s->tp)};
	return agent_bind(&s->agent, &b);
}

void identities_bind(struct ssh *s)
{
	if (s->agent.fd < 0)
		return;
	if (s->logins > 0)
		connect_anew(s);
	err_t e = s->agent.fd >= 0 ? bind_here(s) : E_CLOSED;
	if (e != OK) {
		log_debug1("the agent is not bound to the host: %s", err_text(e));
		return;
	}
	log_debug1("bound agent to hostkey");
	struct still *l = calloc(1, sizeof(*l));
	if (l == NULL)
		return;
	l->s = s;
	if (agent_list_blobs(&s->agent, on_entry, l) == OK)
		identities_hide(s, l->there);
	free(l);
}
