/* SPDX-License-Identifier: ISC */
/*
 * refused - what is said when the server let nobody in
 *
 * The last lines name the cause: what this side left out, or what to look at on the server.  The
 * server is only named where it was the one that said no.
 */
#include <string.h>

#include "app/client/client.h"
#include "key/cert.h"

/* ---- keys ---------------------------------------------------------------------------------------
 */
static const char *fate_text(const struct ssh *s, size_t i)
{
	if (s->ids[i].fate != NULL)
		return s->ids[i].fate;
	switch (au_client_fate(s->au, i)) {
	case AU_KEY_REFUSED:
		return "the server does not take it for this user";
	case AU_KEY_SIG_REFUSED:
		return "the server refused its signature";
	case AU_KEY_NO_ALG:
		return "no signature algorithm that both sides allow (PubkeyAcceptedAlgorithms)";
	case AU_KEY_SIGN_FAILED:
		return "it could not sign";
	case AU_KEY_TAKEN:
		return "the server took it and wants more";
	default:
		return "not tried";
	}
}

static bool is_refused_there(const struct ssh *s)
{
	for (size_t i = 0; i < s->ids_n; i++) {
		enum au_key_fate fate = au_client_fate(s->au, i);
		if (s->ids[i].fate == NULL &&
			(fate == AU_KEY_REFUSED || fate == AU_KEY_SIG_REFUSED))
			return true;
	}
	return false;
}

static bool is_any_tried(const struct ssh *s)
{
	for (size_t i = 0; i < s->ids_n; i++)
		if (s->ids[i].fate != NULL || au_client_fate(s->au, i) != AU_KEY_NOT_TRIED)
			return true;
	return false;
}

static void say_keys(const struct ssh *s)
{
	ssh_say(LOG_L_INFO, "Keys for %s at %s:", s->user, s->known_name);
	for (size_t i = 0; i < s->ids_n; i++) {
		struct buf fp;
		buf_init(&fp, 4096);
		if (key_fingerprint(s->ids[i].pub, (enum hash_id)s->cfg.fingerprint_hash, &fp) ==
			OK)
			ssh_say(LOG_L_INFO, "  %s %s%s (%.*s): %s", key_shown(s->ids[i].pub),
				s->ids[i].is_agent ? "agent: " : "", s->ids[i].name, (int)fp.n,
				(const char *)fp.p, fate_text(s, i));
		buf_done(&fp);
	}
}

/* Why the agent gave no key. */
static void put_agent(const struct ssh *s, struct buf *out)
{
	const struct keys_found *k = &s->found;
	switch (k->agent) {
	case AGENT_OFF:
		buf_printf(out, "IdentityAgent none leaves the agent out");
		break;
	case AGENT_UNSET:
		buf_printf(out, "there is no agent (SSH_AUTH_SOCK is not set)");
		break;
	case AGENT_FAILED:
		buf_printf(out, "the agent cannot be reached");
		break;
	default:
		if (k->agent_n == 0)
			buf_printf(out, "the agent holds no key");
		else
			buf_printf(out,
				"IdentitiesOnly is on, and none of the agent's %u keys is the key "
				"of a configured file",
				k->agent_n);
	}
}

static void say_no_key(const struct ssh *s)
{
	struct buf agent;
	buf_init(&agent, 4096);
	put_agent(s, &agent);
	if (buf_err(&agent) == OK)
		ssh_say(LOG_L_INFO,
			"No key was offered: none of the configured files can be used, and %.*s.",
			(int)agent.n, (const char *)agent.p);
	if (s->found.public_only == NULL && s->found.agent_n == 0)
		ssh_say(LOG_L_INFO, "Name one with -i, or make one with ssh-keygen and copy it "
				    "with ssh-copy-id.");
	buf_done(&agent);
}

static void say_about_keys(const struct ssh *s)
{
	if (s->cfg.pubkey_auth == CFG_PUBKEY_NO) {
		ssh_say(LOG_L_INFO, "No key was offered: PubkeyAuthentication is off.");
		return;
	}
	if (!list_has(cslice_str((const char *)s->methods.p), cslice_str("publickey"))) {
		ssh_say(LOG_L_INFO,
			"No key was offered: PreferredAuthentications is \"%s\", without "
			"publickey.",
			s->cfg.preferred_auth);
		return;
	}
	if (s->found.public_only != NULL)
		ssh_say(LOG_L_INFO,
			"%s is a public key, and its private key is in no agent that can be asked.",
			s->found.public_only);
	if (s->ids_n == 0)
		say_no_key(s);
	else if (is_refused_there(s))
		ssh_say(LOG_L_INFO,
			"Check on the server: the key's line in authorized_keys of \"%s\", the "
			"owner and mode of that file and of the directories above it, and the "
			"server's log.",
			s->user);
	else if (is_any_tried(s))
		ssh_say(LOG_L_INFO,
			"The server refused none of these keys: the cause is on this side.");
}

/* ---- passwords ----------------------------------------------------------------------------------
 */
static void say_about_passwords(const struct ssh *s, struct cslice methods)
{
	static const char *const names[] = {"password", "keyboard-interactive"};
	struct cslice tried = cslice_str((const char *)s->methods.p);
	bool is_taken = false, is_tried = false, is_on = false;
	for (size_t i = 0; i < ARRAY_N(names); i++) {
		if (!list_has(methods, cslice_str(names[i])))
			continue;
		is_taken = true;
		is_tried = is_tried || list_has(tried, cslice_str(names[i]));
		is_on = is_on || (i == 0 ? s->cfg.password_auth : s->cfg.kbdint_auth);
	}
	if (!is_taken || is_tried)
		return;
	if (!is_on)
		ssh_say(LOG_L_INFO, "A password would be taken, but PasswordAuthentication and "
				    "KbdInteractiveAuthentication are off for it.");
	else if (s->cfg.batch_mode)
		ssh_say(LOG_L_INFO, "A password would be taken, but BatchMode is on.");
	else if (s->cfg.preferred_auth != NULL)
		ssh_say(LOG_L_INFO,
			"A password would be taken, but PreferredAuthentications is \"%s\".",
			s->cfg.preferred_auth);
}

#define TOO_MANY "Too many authentication failures"

void login_say_cut(struct ssh *s, struct cslice text)
{
	if (s->au == NULL || !is_any_tried(s))
		return;
	say_keys(s);
	if (text.n >= strlen(TOO_MANY) && memcmp(text.p, TOO_MANY, strlen(TOO_MANY)) == 0)
		ssh_say(LOG_L_INFO,
			"The server counts each key. Name the right one with -i (IdentityFile), "
			"which goes first; IdentitiesOnly yes leaves the others out.");
}

void login_say_refused(struct ssh *s, struct cslice methods)
{
	bool takes_keys = list_has(methods, cslice_str("publickey"));
	if (s->au != NULL && is_any_tried(s))
		say_keys(s);
	if (s->au != NULL && takes_keys)
		say_about_keys(s);
	else if (s->au != NULL && methods.n > 0 && s->ids_n > 0 && !is_any_tried(s))
		ssh_say(LOG_L_INFO, "The server takes no keys for this login.");
	if (s->au != NULL)
		say_about_passwords(s, methods);
	ssh_say(LOG_L_FATAL, "%s@%s: Permission denied (%.*s).", s->user, s->host, (int)methods.n,
		(const char *)methods.p);
}
