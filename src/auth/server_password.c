/* SPDX-License-Identifier: ISC */
/* server_password - RFC 4252 8; a change of password by the protocol is not offered, so asking for
 * one is refused */
#include "auth/au_server.h"

static err_t password_request(struct au_server *au, struct cslice body)
{
	struct ssh_auth_password m;
	TRY(ssh_get_auth_password(body, &m));
	if (m.change) {
		struct rd r = rd_of(m.more);
		(void)rd_str(&r); /* the new password */
		TRY(rd_end(&r));
		return au_server_end(au, AU_REFUSED, cslice_of(NULL, 0));
	}
	if (m.more.n > 0)
		return E_TRAILING;
	return au_server_ask(
		au, (struct au_event){.type = AU_EV_ASK_PASSWORD_CHECK, .data = m.password});
}

static err_t password_answer(struct au_server *au, err_t verdict, struct cslice data)
{
	buf_clear(&au->body); /* wiped as soon as it has been judged */
	return au_server_judge(au, verdict, data);
}

const struct au_server_method au_server_password = {
	AU_PASSWORD, AU_PASSWORD, false, password_request, password_answer};
