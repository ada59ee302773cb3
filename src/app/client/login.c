/* SPDX-License-Identifier: ISC */
/* login - the authentication engine's questions answered, and what is said when the answer was no
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/client/client.h"
#include "os/random.h"
#include "wire/codec.h"

#define METHODS_DEFAULT "publickey,keyboard-interactive,password"
#define ANSWER_MAX      65536
#define PROMPTS_MAX     64

/* ---- starting -----------------------------------------------------------------------------------
 */
static bool wants_method(const struct ssh *s, struct cslice name)
{
	const struct client_config *c = &s->cfg;
	if (cslice_eq_str(name, "publickey"))
		return c->pubkey_auth != CFG_PUBKEY_NO;
	if (cslice_eq_str(name, "keyboard-interactive"))
		return c->kbdint_auth && !c->batch_mode;
	if (cslice_eq_str(name, "password"))
		return c->password_auth && !c->batch_mode;
	return false; /* hostbased and GSSAPI are not built */
}

static err_t choose_methods(struct ssh *s)
{
	const char *wish = s->cfg.preferred_auth != NULL ? s->cfg.preferred_auth : METHODS_DEFAULT;
	struct cslice rest = cslice_str(wish), name;
	buf_init(&s->methods, 4096);
	while (list_next(&rest, &name)) {
		if (!wants_method(s, name))
			continue;
		if (s->methods.n > 0)
			buf_put_u8(&s->methods, ',');
		buf_put(&s->methods, name.p, name.n);
	}
	buf_put_u8(&s->methods, 0);
	return buf_err(&s->methods);
}

err_t login_start(struct ssh *s)
{
	s->is_login_started = true;
	identities_bind(s);
	TRY(choose_methods(s));
	s->au_env = (struct au_client_env){
		.tp = s->tp,
		.user = s->user,
		.methods = (const char *)s->methods.p,
		.ids = s->au_ids,
		.ids_n = s->ids_n,
		.pubkey_algs = s->cfg.pubkey_algorithms,
		.password_prompts = s->cfg.password_prompts,
		.hostbound = s->cfg.pubkey_auth != CFG_PUBKEY_UNBOUND,
		.rng = os_rng(),
	};
	TRY(au_client_new(&s->au, &s->au_env));
	return au_client_start(s->au);
}

/* ---- questions ----------------------------------------------------------------------------------
 */
/* Asks for a secret; the question is ended and given back here. */
static err_t ask_secret(struct ssh *s, struct buf *question, struct buf *answer)
{
	buf_put_u8(question, 0);
	err_t e = buf_err(question);
	if (e == OK)
		e = ask(s, ASK_SECRET, (const char *)question->p, answer);
	buf_done(question);
	return e;
}

static err_t on_password(struct ssh *s, const struct au_event *e, struct buf *answer)
{
	struct buf question;
	if (e->attempt > 0)
		ssh_say(LOG_L_ERROR, "Permission denied, please try again.");
	buf_init(&question, 4096);
	buf_printf(&question, "%s@%s's password: ", s->user, s->known_name);
	return ask_secret(s, &question, answer);
}

static err_t ask_about(struct ssh *s, const char *what, struct buf *answer)
{
	struct buf question;
	buf_init(&question, 4096);
	buf_printf(&question,
		"%s %s@%s's %s password: ", strcmp(what, "Retype") == 0 ? "Retype" : "Enter",
		s->user, s->known_name, strcmp(what, "old") == 0 ? "old" : "new");
	return ask_secret(s, &question, answer);
}

/* The server wants another password: old one, new one twice. */
static err_t on_new_password(struct ssh *s, const struct au_event *e, struct buf *answer)
{
	struct buf old, new, again;
	buf_init(&old, 4096);
	buf_init(&new, 4096);
	buf_init(&again, 4096);
	if (e->data.n > 0)
		ssh_say(LOG_L_INFO, "%.*s", (int)num_min(e->data.n, 4096), (const char *)e->data.p);
	err_t r = ask_about(s, "old", &old);
	for (bool is_same = false; r == OK && !is_same;) {
		buf_clear(&new);
		buf_clear(&again);
		r = ask_about(s, "new", &new);
		if (r == OK && new.n == 0)
			r = E_CANCELLED;
		if (r == OK)
			r = ask_about(s, "Retype", &again);
		is_same = r == OK && new.n == again.n &&ct_eq(new.p, again.p, new.n);
		if (r == OK && !is_same)
			ssh_say(LOG_L_INFO, "Mismatch; try again.");
	}
	buf_put_string(answer, buf_bytes(&old));
	buf_put_string(answer, buf_bytes(&new));
	buf_done(&old);
	buf_done(&new);
	buf_done(&again);
	return r != OK ? r : buf_err(answer);
}

static err_t ask_one(struct ssh *s, struct cslice prompt, bool is_echoed, struct buf *answer)
{
	struct buf question, one;
	buf_init(&question, ANSWER_MAX);
	buf_init(&one, ANSWER_MAX);
	buf_printf(&question, "(%s@%s) ", s->user, s->known_name);
	vis_put(&question, prompt);
	buf_put_u8(&question, 0);
	err_t r = buf_err(&question);
	if (r == OK)
		r = ask(s, is_echoed ? ASK_ECHOED : ASK_SECRET, (const char *)question.p, &one);
	if (r == OK)
		buf_put_string(answer, buf_bytes(&one));
	buf_done(&question);
	buf_done(&one);
	return r != OK ? r : buf_err(answer);
}

static err_t on_info(struct ssh *s, const struct au_event *e, struct buf *answer)
{
	if (e->info.name.n > 0)
		ssh_say(LOG_L_INFO, "%.*s", (int)num_min(e->info.name.n, 4096),
			(const char *)e->info.name.p);
	if (e->info.instruction.n > 0)
		ssh_say(LOG_L_INFO, "%.*s", (int)num_min(e->info.instruction.n, 4096),
			(const char *)e->info.instruction.p);
	struct rd r = rd_of(e->info.prompts);
	if (e->info.prompts_n > PROMPTS_MAX)
		return E_LIMIT;
	for (uint32_t i = 0; i < e->info.prompts_n; i++) {
		struct cslice prompt = rd_str(&r);
		bool is_echoed = rd_bool(&r);
		if (r.bad)
			return E_FORMAT;
		TRY(ask_one(s, prompt, is_echoed, answer));
	}
	return OK;
}

/* The text as it came, except what would control the terminal. */
static void show_banner(const struct ssh *s, struct cslice text)
{
	if (log_level() < LOG_L_INFO || s->logins > 0)
		return;
	struct buf safe;
	buf_init(&safe, 4 * text.n + 16);
	vis_put_lines(&safe, text);
	(void)!write(STDERR_FILENO, safe.p, safe.n);
	buf_done(&safe);
}

/* ---- events -------------------------------------------------------------------------------------
 */
static err_t on_success(struct ssh *s, const struct au_event *e)
{
	s->is_logged_in = true;
	last_key_save(s);
	if (s->is_proxied)
		ssh_say(LOG_L_VERBOSE, "Authenticated to %s (via proxy) using \"%.*s\".", s->host,
			(int)e->data.n, (const char *)e->data.p);
	else
		ssh_say(LOG_L_VERBOSE, "Authenticated to %s ([%s]:%u) using \"%.*s\".", s->host,
			s->ends.peer, s->ends.peer_port, (int)e->data.n, (const char *)e->data.p);
	/* What then looks like a question of the login comes from the session. */
	if (e->is_trivial && s->logins == 0)
		ssh_say(LOG_L_INFO,
			"Warning: %s let you in without asking for a key or a password. If a "
			"password or a "
			"touch is asked for from here on, it is not for this login.",
			s->host);
	return s->hooks->logged_in(s);
}

static err_t answer_question(struct ssh *s, const struct au_event *e)
{
	struct buf answer;
	err_t r;
	buf_init(&answer, (size_t)1 << 20);
	switch (e->type) {
	case AU_EV_ASK_SIGN:
		r = identity_sign(s, e->id, e->alg, e->data, &answer);
		break;
	case AU_EV_ASK_PASSWORD:
		r = on_password(s, e, &answer);
		break;
	case AU_EV_ASK_NEW_PASSWORD:
		r = on_new_password(s, e, &answer);
		break;
	default:
		r = on_info(s, e, &answer);
		break;
	}
	r = au_client_answer(s->au, e->ask, r, buf_bytes(&answer));
	buf_done(&answer);
	return r;
}

static err_t on_event(struct ssh *s, const struct au_event *e)
{
	switch (e->type) {
	case AU_EV_ASK_SIGN:
	case AU_EV_ASK_PASSWORD:
	case AU_EV_ASK_NEW_PASSWORD:
	case AU_EV_ASK_INFO:
		return answer_question(s, e);
	case AU_EV_BANNER:
		show_banner(s, e->data);
		return OK;
	case AU_EV_PARTIAL:
		ssh_say(LOG_L_VERBOSE, "Authenticated using \"%.*s\" with partial success.",
			(int)e->method.n, (const char *)e->method.p);
		return OK;
	case AU_EV_SUCCESS:
		return on_success(s, e);
	case AU_EV_FAILED:
		s->is_refused = true;
		login_say_refused(s, e->data);
		ssh_finish(s, SSH_EXIT_ERROR, NULL);
		return OK;
	default:
		return OK;
	}
}

err_t login_poll(struct ssh *s)
{
	while (s->au != NULL && !s->is_done) {
		struct au_event e = {0};
		TRY(au_client_poll(s->au, &e));
		if (e.type == AU_EV_NONE)
			break;
		TRY(on_event(s, &e));
	}
	return OK;
}

err_t login_message(struct ssh *s, uint8_t msg, struct cslice body)
{
	if (s->au == NULL)
		return E_UNEXPECTED;
	TRY(au_client_msg(s->au, msg, body));
	return login_poll(s);
}
