/* SPDX-License-Identifier: ISC */
/*
 * unlock - the private half of a key file, and where it is remembered
 *
 * The keychain is asked before the person (UseKeychain); what the person typed goes into it once it
 * has opened the key.  A key that is about to sign is given to the agent (AddKeysToAgent), so that
 * nobody is asked again.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "app/client/client.h"
#include "app/common/keychain.h"
#include "app/common/keyfile.h"

struct unlocking {
	struct ssh *s;
	bool has_tried_keychain, is_typed;
	uint32_t asked;
	struct buf tried; /* the last answer */
};

/* The first answer may be the keychain's; then the person is asked as often as configured. */
static err_t answer(struct unlocking *u, const char *path, struct buf *passphrase)
{
	struct ssh *s = u->s;
	if (s->cfg.use_keychain && !u->has_tried_keychain) {
		struct buf why;
		u->has_tried_keychain = true;
		buf_init(&why, 4096);
		err_t e = keychain_get(path, passphrase, &why);
		if (e != OK && why.n > 0)
			log_debug1("UseKeychain: %.*s", (int)why.n, (const char *)why.p);
		buf_done(&why);
		if (e == OK && passphrase->n > 0)
			return OK;
		buf_clear(passphrase);
	}
	if (s->cfg.batch_mode || u->asked == s->cfg.password_prompts)
		return E_CANCELLED;
	u->is_typed = true;
	return ask_passphrase(s, path, u->asked++, passphrase);
}

static err_t on_question(void *arg, const char *path, uint32_t try, struct buf *passphrase)
{
	struct unlocking *u = arg;
	(void)try;
	TRY(answer(u, path, passphrase));
	buf_clear(&u->tried);
	buf_put(&u->tried, passphrase->p, passphrase->n);
	return buf_err(&u->tried);
}

static void remember(struct unlocking *u, const char *path)
{
	struct buf why;
	if (!u->s->cfg.use_keychain || !u->is_typed || u->tried.n == 0)
		return;
	buf_init(&why, 4096);
	if (keychain_put(path, buf_bytes(&u->tried), &why) == OK)
		log_debug1("the passphrase of %s is remembered (%s)", path, keychain_name());
	else
		ssh_say(LOG_L_INFO, "The passphrase of %s is not remembered: %.*s", path,
			(int)why.n, (const char *)why.p);
	buf_done(&why);
}

void identity_unlock(struct ssh *s, struct identity *id)
{
	struct unlocking u = {.s = s};
	const struct keyfile_ask asking = {
		.fn = on_question, .arg = &u, .tries = s->cfg.password_prompts + 1};
	struct buf why, comment;
	buf_init(&why, 65536);
	buf_init(&comment, 65536);
	buf_init(&u.tried, 8192);
	if (keyfile_load_private(&id->priv, id->name, &asking, &comment, &why) == OK) {
		remember(&u, id->name);
		if (comment.n > 0 && text_dup(buf_bytes(&comment), &id->comment) != OK)
			id->comment = NULL;
	} else {
		id->priv = NULL;
		ssh_say_lines(LOG_L_ERROR, buf_bytes(&why));
	}
	buf_done(&u.tried);
	buf_done(&comment);
	buf_done(&why);
}

/* ---- AddKeysToAgent -----------------------------------------------------------------------------
 */
/* The comment that the agent shows: the file's, or its name. */
static err_t comment_of(const struct identity *id, struct buf *out)
{
	struct key *k = NULL;
	if (id->comment != NULL)
		buf_put(out, id->comment, strlen(id->comment));
	else if (keyfile_load_public(&k, id->name, out) != OK)
		buf_clear(out);
	key_free(k);
	if (out->n == 0)
		buf_put(out, id->name, strlen(id->name));
	return buf_err(out);
}

static bool may_add(struct ssh *s, const struct identity *id, struct cslice comment)
{
	struct buf question, reply;
	if (s->cfg.add_keys.how != CFG_ADD_ASK)
		return true;
	buf_init(&question, 65536);
	buf_init(&reply, 4096);
	buf_printf(&question, "Add key %s (", id->name);
	vis_put(&question, comment);
	buf_printf(&question, ") to agent? ");
	buf_put_u8(&question, 0);
	err_t e = buf_err(&question);
	if (e == OK)
		e = ask(s, ASK_PERMISSION, (const char *)question.p, &reply);
	buf_put_u8(&reply, 0);
	bool is_yes = e == OK && buf_err(&reply) == OK &&
		      (reply.n == 1 || strcasecmp((const char *)reply.p, "yes") == 0);
	buf_done(&reply);
	buf_done(&question);
	return is_yes;
}

void identity_to_agent(struct ssh *s, struct identity *id)
{
	const struct cfg_addkeys *wish = &s->cfg.add_keys;
	struct buf comment;
	if (wish->how == CFG_ADD_NO || id->is_in_agent || s->agent.fd < 0)
		return;
	const struct ag_limits limits = {.lifetime_s = wish->lifetime_s,
		.confirm = wish->how == CFG_ADD_CONFIRM,
		.sk_provider = agent_sk_provider()};
	id->is_in_agent = true; /* one try */
	buf_init(&comment, 65536);
	err_t e = comment_of(id, &comment);
	if (e == OK && !may_add(s, id, buf_bytes(&comment)))
		e = E_CANCELLED;
	if (e == OK)
		e = agent_add(&s->agent, id->priv, buf_bytes(&comment), &limits);
	if (e == OK)
		log_debug1("identity added to agent: %s", id->name);
	else
		log_debug1("could not add identity to agent: %s (%s)", id->name, err_text(e));
	buf_done(&comment);
}
