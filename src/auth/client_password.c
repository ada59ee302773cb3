/* SPDX-License-Identifier: ISC */
/* client_password - RFC 4252 8: the password, and its change when the server wants one */
#include "auth/au_client.h"

#define BODY_MAX ((size_t)64 << 10)

static err_t password_next(struct au_client *au, bool *did)
{
	if (au->pw.is_over || au->pw.tries >= au->env.password_prompts)
		return OK;
	TRY(au_client_ask(au,
		(struct au_event){
			.type = AU_EV_ASK_PASSWORD, .id = UINT32_MAX, .attempt = au->pw.tries}));
	*did = true;
	return OK;
}

static err_t password_send(struct au_client *au, const struct ssh_auth_password *m)
{
	struct buf body;
	buf_init(&body, BODY_MAX);
	size_t n = ssh_size_auth_password(m);
	uint8_t *p = buf_room(&body, n);
	err_t e = buf_err(&body);
	if (p != NULL) {
		struct wr w = wr_of((struct slice){p, n});
		ssh_put_auth_password(&w, m);
		e = wr_end(&w);
	}
	if (e == OK)
		e = au_client_request(au, AU_PASSWORD, buf_bytes(&body), AU_OUT_PASSWORD);
	buf_done(&body);
	return e;
}

static err_t password_message(struct au_client *au, struct cslice body)
{
	struct ssh_passwd_changereq m;
	TRY(ssh_get_passwd_changereq(body, &m));
	au->outstanding = AU_OUT_NOTHING;
	buf_clear(&au->question);
	buf_put(&au->question, m.prompt.p, m.prompt.n);
	TRY(buf_err(&au->question));
	return au_client_ask(au, (struct au_event){.type = AU_EV_ASK_NEW_PASSWORD,
					 .id = UINT32_MAX,
					 .data = buf_bytes(&au->question)});
}

static err_t password_answer(struct au_client *au, err_t verdict, struct cslice data)
{
	if (verdict != OK) {
		au->pw.is_over = true;
		return au_client_next(au);
	}
	if (au->ask_type == AU_EV_ASK_PASSWORD) {
		au->pw.tries++;
		return password_send(au, &(struct ssh_auth_password){.password = data});
	}
	/* string old, string new: the second is what follows on the wire as it is */
	struct rd r = rd_of(data);
	struct cslice old = rd_str(&r);
	struct cslice more = {r.p, r.n};
	(void)rd_str(&r);
	if (rd_end(&r) != OK)
		return E_USAGE;
	return password_send(
		au, &(struct ssh_auth_password){.change = true, .password = old, .more = more});
}

static void password_refused(struct au_client *au)
{
	(void)au; /* counted when it was sent */
}

const struct au_client_method au_client_password = {
	AU_PASSWORD, password_next, password_message, password_answer, password_refused};
