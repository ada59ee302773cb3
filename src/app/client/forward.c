/* SPDX-License-Identifier: ISC */
/* forward - channels that the server opens */
#include "app/client/client.h"

#define OPEN_PROHIBITED 1 /* RFC4254 5.1 */
#define OPEN_UNKNOWN    3

void forward_start(struct ssh *s)
{
	struct forward *f = &s->forward;
	*f = (struct forward){
		.joints = {.ev = s->ev, .pump = &s->pump, .cn = s->cn}, .is_started = true};
	joints_init(&f->joints);
	list_init(&f->binding);
}

void forward_done(struct ssh *s)
{
	struct forward *f = &s->forward;
	if (!f->is_started)
		return;
	forward_agent_done(f);
	joints_done(&f->joints);
	*f = (struct forward){.is_started = false};
}

static err_t on_open(struct ssh *s, const struct cn_event *e)
{
	static const char *const forwards[] = {
		"forwarded-tcpip", "forwarded-streamlocal@openssh.com", "x11", "tun@openssh.com"};
	log_debug1("client_input_channel_open: ctype %.*s", (int)num_min(e->name.n, 64),
		(const char *)e->name.p);
	if (forward_agent_is(e->name))
		return forward_agent_open(s, e);
	for (size_t i = 0; i < ARRAY_N(forwards); i++)
		if (cslice_eq_str(e->name, forwards[i]))
			return cn_refuse(s->cn, e->chan, OPEN_PROHIBITED, "open failed");
	return cn_refuse(s->cn, e->chan, OPEN_UNKNOWN, "unknown channel type");
}

err_t forward_event(struct ssh *s, struct cn_event *e, bool *is_ours)
{
	*is_ours = e->type == CN_EV_OPEN;
	if (*is_ours)
		return on_open(s, e);
	return joints_event(&s->forward.joints, e, is_ours);
}

err_t forward_flush(struct ssh *s)
{
	return joints_flush(&s->forward.joints);
}
