/* SPDX-License-Identifier: ISC */
/* server_kbdint - RFC 4256: rounds of prompts and responses, all of them the outside's */
#include "auth/au_server.h"

static err_t kbdint_request(struct au_server *au, struct cslice body)
{
	struct ssh_auth_kbdint m;
	TRY(ssh_get_auth_kbdint(body, &m));
	au->ki.round = 0;
	return au_server_ask(au, (struct au_event){.type = AU_EV_ASK_KBDINT, .data = m.devices});
}

err_t au_server_kbdint_responses(struct au_server *au, struct cslice body)
{
	struct ssh_userauth_info_response m;
	TRY(ssh_get_userauth_info_response(body, &m));
	struct rd r = rd_of(m.responses);
	for (uint32_t i = 0; i < m.count && !r.bad; i++)
		(void)rd_str(&r);
	TRY(rd_end(&r));
	if (m.count != au->ki.prompts_n) /* RFC4256 3.4: a failure */
		return au_server_end(au, AU_REFUSED, cslice_of(NULL, 0));
	au->ki.is_open = false;
	return au_server_ask(au,
		(struct au_event){
			.type = AU_EV_ASK_KBDINT, .attempt = ++au->ki.round, .data = m.responses});
}

/* E_AGAIN with prompts is the third answer that only this method has.  Prompts of a bad form are a
 * no. */
static err_t kbdint_answer(struct au_server *au, err_t verdict, struct cslice data)
{
	struct ssh_info_request m;
	buf_clear(&au->body);
	if (verdict != E_AGAIN)
		return au_server_judge(au, verdict, data);
	if (ssh_get_info_request(data, &m) != OK)
		return au_server_end(au, AU_REFUSED, cslice_of(NULL, 0));
	struct rd r = rd_of(m.prompts);
	for (uint32_t i = 0; i < m.count && !r.bad; i++) {
		(void)rd_str(&r);
		(void)rd_bool(&r);
	}
	if (rd_end(&r) != OK)
		return au_server_end(au, AU_REFUSED, cslice_of(NULL, 0));
	TRY(tq_put(&au->out, TQ_OWN, userauth_60, .body = data));
	au->ki.prompts_n = m.count;
	au->ki.is_open = true;
	return OK;
}

const struct au_server_method au_server_kbdint = {
	AU_KBDINT, AU_KBDINT, false, kbdint_request, kbdint_answer};
