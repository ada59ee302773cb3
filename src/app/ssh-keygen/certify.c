/* SPDX-License-Identifier: ISC */
/* certify - -s: public keys are signed by an authority, FILE.pub into FILE-cert.pub */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/common/agent_client.h"
#include "app/ssh-keygen/certify.h"

#define FILE_MODE 0644

/* ---- the authority's key: a private file, or in the agent
 * ------------------------------------------------------
 */
struct authority {
	struct signer *signer; /* points to itself where the agent signs */
	struct signer by_agent;
	struct agent_client agent;
	struct key *pub; /* of by_agent */
	struct cslice alg;
	bool is_in_agent;
};

static void agent_signs(struct signer *s, struct sign_req *req)
{
	struct authority *a =
		(struct authority *)((char *)s - offsetof(struct authority, by_agent));
	req->done(req, agent_sign(&a->agent, a->pub, req->alg, req->tbs, req->sig));
}

static void agent_signer_free(struct signer *s)
{
	(void)s; /* part of struct authority */
}

static const struct signer_ops agent_ops = {agent_signs, agent_signer_free};

static void compare(void *arg, struct key *k, struct cslice comment)
{
	struct authority *a = arg;
	(void)comment;
	a->is_in_agent = a->is_in_agent || key_equal_public(k, a->pub);
	key_free(k);
}

static int authority_in_agent(struct authority *a, const char *path)
{
	const char *socket_path = getenv("SSH_AUTH_SOCK");
	err_t e = keyfile_load_public(&a->pub, path, NULL);
	if (e != OK)
		return kg_say(
			KG_FATAL, "Cannot load CA public key %s: %s", path, keyfile_reason(e));
	if (socket_path == NULL || socket_path[0] == '\0' ||
		agent_connect(&a->agent, socket_path) != OK)
		return kg_say(
			KG_FATAL, "Cannot use public key for CA signature: agent not present");
	e = agent_list(&a->agent, compare, a);
	if (e != OK)
		return kg_say(KG_FATAL,
			"Cannot use public key for CA signature: retrieving agent key list: %s",
			err_text(e));
	if (!a->is_in_agent)
		return kg_say(KG_FATAL, "CA key %s not found in agent", path);
	a->by_agent = (struct signer){&agent_ops, a->pub};
	a->signer = &a->by_agent;
	return KG_OK;
}

static int authority_in_file(struct authority *a, const struct kg_options *o)
{
	struct kg_old old = {o->old_phrase, "Enter passphrase for %s: "};
	struct keyfile_ask ask = {kg_ask_old, &old, 1, NULL, NULL};
	struct key *k = NULL;
	struct buf why;
	buf_init(&why, KG_LINE_MAX);
	err_t e = keyfile_load_private(&k, o->sig_file, &ask, NULL, &why);
	kg_say_why(&why);
	buf_done(&why);
	if (e != OK)
		return KG_FATAL;
	key_set_rng(k, os_rng());
	if (signer_from_key(&a->signer, k) == OK)
		return KG_OK;
	key_free(k);
	return kg_say(KG_FATAL, "%s cannot sign", o->sig_file);
}

/* -t: the signature algorithm, which must be one of the key. */
static int authority_alg(struct authority *a, const char *type)
{
	enum key_type t = key_type_of(a->signer->pub);
	if (type == NULL)
		return KG_OK;
	a->alg = cslice_str(type);
	if (!key_alg_fits(t, a->alg))
		return kg_say(KG_FATAL, "CA key type %s doesn't match specified %s",
			key_type_name(t), type);
	return KG_OK;
}

static void authority_done(struct authority *a)
{
	if (a->signer != NULL)
		a->signer->ops->free(a->signer);
	if (a->agent.fd >= 0)
		agent_close(&a->agent);
	key_free(a->pub);
}

/* ---- one file
 * ----------------------------------------------------------------------------------------------
 */
static void say_signed(const struct kg_options *o, const struct kg_terms *t, const char *path)
{
	struct buf line;
	buf_init(&line, KEYFILE_MAX);
	buf_printf(&line, "Signed %s key %s: id \"", o->for_host ? "host" : "user", path);
	vis_put(&line, cslice_str(o->identity));
	buf_printf(&line, "\" serial %llu", (unsigned long long)t->serial);
	if (o->names != NULL) {
		buf_printf(&line, " for ");
		vis_put(&line, cslice_str(o->names));
	}
	buf_printf(&line, " valid ");
	kg_put_validity(&line, t->after, t->before);
	buf_put_u8(&line, 0);
	if (buf_err(&line) == OK)
		(void)kg_say(0, "%s", (const char *)line.p);
	buf_done(&line);
}

static int save(const struct key *k, const struct buf *comment, const char *path)
{
	struct buf text;
	char *words = NULL;
	if (text_dup(buf_bytes(comment), &words) != OK)
		return kg_say(KG_FATAL, "the comment of %s holds a NUL byte", path);
	buf_init(&text, KEYFILE_MAX);
	mode_t mask = umask(0);
	(void)umask(mask);
	err_t e = key_line_any(k, words, &text);
	buf_put_u8(&text, '\n');
	if (e == OK)
		e = buf_err(&text);
	if (e == OK)
		e = keyfile_replace(path, buf_bytes(&text), FILE_MODE & ~mask);
	int state = e == OK ? KG_OK
			    : kg_say(KG_FATAL, "Unable to save public key to %s: %s", path,
				      keyfile_reason(e));
	buf_done(&text);
	free(words);
	return state;
}

/* FILE.pub and FILE give FILE-cert.pub; owned. */
static char *cert_path(const char *path)
{
	char *out = NULL;
	size_t n = strlen(path);
	if (n > 4 && strcmp(path + n - 4, ".pub") == 0)
		n -= 4;
	return asprintf(&out, "%.*s-cert.pub", (int)n, path) < 0 ? NULL : out;
}

/* "RSA-CERT" when the file is a certificate already, else NULL. */
static const char *certificate_in(const char *path)
{
	struct buf text;
	struct key *k = NULL;
	const char *kind = NULL;
	buf_init(&text, KEYFILE_MAX);
	if (keyfile_read(path, &text) == OK &&
		key_parse_line_any(&k, buf_bytes(&text), NULL) == OK && key_cert(k) != NULL)
		kind = key_shown(k);
	key_free(k);
	buf_done(&text);
	return kind;
}

static int load_subject(struct key **k, const char *path, struct buf *comment)
{
	err_t e = keyfile_load_public(k, path, comment);
	if (e == OK)
		return KG_OK;
	const char *why = keyfile_reason(e);
	const char *kind = certificate_in(path);
	return kind != NULL ? kg_say(KG_FATAL, "key \"%s\" type %s cannot be certified", path, kind)
			    : kg_say(KG_FATAL, "load pubkey \"%s\": %s", path, why);
}

static int certify_one(
	const struct kg_options *o, struct authority *a, const struct kg_terms *t, const char *path)
{
	struct cert_draft d = {
		.kind = o->for_host ? CERT_HOST : CERT_USER,
		.serial = t->serial,
		.valid_after = t->after,
		.valid_before = t->before,
		.key_id = cslice_str(o->identity),
		.principals = t->principals,
		.principals_n = t->principals_n,
		.critical = buf_bytes(&t->critical),
		.extensions = buf_bytes(&t->extensions),
	};
	struct key *k = NULL;
	struct buf comment;
	char *out = cert_path(path);
	if (out == NULL)
		return kg_say(KG_FATAL, "%s", err_text(E_MEM));
	buf_init(&comment, KEYFILE_MAX);
	int state = load_subject(&k, path, &comment);
	if (state == KG_OK) {
		err_t e = cert_sign(k, &d, a->signer, a->alg, os_rng());
		if (e != OK)
			state = kg_say(KG_FATAL, "Couldn't certify key %s: %s", path, err_text(e));
	}
	if (state == KG_OK)
		state = save(k, &comment, out);
	if (state == KG_OK && !o->quiet)
		say_signed(o, t, out);
	key_free(k);
	buf_done(&comment);
	free(out);
	return state;
}

int kg_certify(struct kg_options *o, char **files, size_t files_n)
{
	struct authority a = {.agent = {-1}};
	struct kg_terms t;
	if (o->identity == NULL)
		return kg_say(KG_FATAL, "Must specify key id (-I) when certifying");
	int state = kg_terms_read(o, &t);
	if (state == KG_OK)
		state = o->in_agent ? authority_in_agent(&a, o->sig_file)
				    : authority_in_file(&a, o);
	if (state == KG_OK)
		state = authority_alg(&a, o->type);
	for (size_t i = 0; state == KG_OK && i < files_n; i++) {
		state = certify_one(o, &a, &t, files[i]);
		t.serial += t.is_counting ? 1 : 0;
	}
	authority_done(&a);
	kg_terms_done(&t);
	return state;
}
