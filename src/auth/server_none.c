/* SPDX-License-Identifier: ISC */
/* server_none - RFC 4252 5.2: once, mostly to learn the list of methods */
#include "auth/au_server.h"

static err_t none_request(struct au_server *au, struct cslice body)
{
	if (body.n > 0)
		return E_TRAILING;
	if (au->is_counted) /* not the first one */
		return au_server_end(au, AU_REFUSED, cslice_of(NULL, 0));
	return au_server_ask(au, (struct au_event){.type = AU_EV_ASK_NONE});
}

static err_t none_answer(struct au_server *au, err_t verdict, struct cslice data)
{
	return au_server_judge(au, verdict, data);
}

const struct au_server_method au_server_none = {AU_NONE, NULL, false, none_request, none_answer};
