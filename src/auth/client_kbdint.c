/* SPDX-License-Identifier: ISC */
/* client_kbdint - RFC 4256: the server's questions, as many rounds as it likes */
#include "auth/au_client.h"

static err_t kbdint_next(struct au_client *au, bool *did)
{
	static const uint8_t body[8] = {0}; /* no language, no devices */
	if (au->ki.is_over || au->ki.tries >= au->env.password_prompts)
		return OK;
	TRY(au_client_request(au, AU_KBDINT, cslice_of(body, sizeof(body)), AU_OUT_KBDINT));
	au->ki.tries++;
	au->ki.info_seen = au->ki.is_answered = false;
	*did = true;
	return OK;
}

static err_t prompts_check(struct cslice prompts, uint32_t n)
{
	struct rd r = rd_of(prompts);
	for (uint32_t i = 0; i < n && !r.bad; i++) {
		(void)rd_str(&r);
		(void)rd_bool(&r);
	}
	return rd_end(&r);
}

static err_t kbdint_message(struct au_client *au, struct cslice body)
{
	struct ssh_info_request m;
	buf_clear(&au->question);
	buf_put(&au->question, body.p, body.n);
	TRY(buf_err(&au->question));
	TRY(ssh_get_info_request(buf_bytes(&au->question), &m));
	TRY(prompts_check(m.prompts, m.count));
	au->outstanding = AU_OUT_NOTHING;
	au->ki.info_seen = true;
	au->ki.prompts_n = m.count;
	return au_client_ask(au, (struct au_event){.type = AU_EV_ASK_INFO,
					 .id = UINT32_MAX,
					 .attempt = au->ki.tries - 1,
					 .info = {m.name, m.instruction, m.count, m.prompts}});
}

static err_t kbdint_answer(struct au_client *au, err_t verdict, struct cslice data)
{
	if (verdict != OK) { /* RFC4252 5.1: the next request gives this one up */
		au->ki.is_over = true;
		return au_client_next(au);
	}
	struct rd r = rd_of(data);
	for (uint32_t i = 0; i < au->ki.prompts_n && !r.bad; i++)
		(void)rd_str(&r);
	if (rd_end(&r) != OK)
		return E_USAGE;
	TRY(tq_put(&au->out, TQ_PADDED, userauth_info_response, .count = au->ki.prompts_n,
		.responses = data));
	au->ki.is_answered = au->ki.is_answered || au->ki.prompts_n > 0;
	au->outstanding = AU_OUT_KBDINT;
	return OK;
}

static void kbdint_refused(struct au_client *au)
{
	if (!au->ki.info_seen) /* no device behind the method: asking again would bring the same */
		au->ki.is_over = true;
}

const struct au_client_method au_client_kbdint = {
	AU_KBDINT, kbdint_next, kbdint_message, kbdint_answer, kbdint_refused};
