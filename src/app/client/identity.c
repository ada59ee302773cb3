/* SPDX-License-Identifier: ISC */
/*
 * identity - the keys that may be offered, in OpenSSH's order (compat 8.8): certificates that are
 * configured, keys of the agent that are also configured, other keys of the agent, key files
 */
#include <stdlib.h>
#include <string.h>

#include "app/common/keyfile.h"
#include "app/client/client.h"
#include "key/cert.h"
#include "os/file.h"
#include "os/random.h"

struct collect {
	struct ssh *s;
	struct identity files[IDENTITIES_MAX], agent[IDENTITIES_MAX], certs[IDENTITIES_MAX];
	size_t files_n, agent_n, certs_n;
};
#define IDENTITY_RANK_LAST 3u

static void identity_done(struct identity *id)
{
	free(id->name);
	free(id->shown);
	free(id->comment);
	key_free(id->pub);
	key_free(id->priv);
	*id = (struct identity){0};
}

static void no_comment(struct buf *comment)
{
	buf_done(comment);
}

/* The public half alone: for keys whose private half the agent has, or that need a passphrase. */
static struct key *public_half(const char *path)
{
	struct key *k = NULL;
	struct buf comment;
	buf_init(&comment, 65536);
	if (keyfile_load_public(&k, path, &comment) != OK)
		k = NULL;
	no_comment(&comment);
	return k;
}

/* A .pub file may be open to all; its private half is in the agent or nowhere. */
static bool is_public_file(const char *path)
{
	struct buf text;
	struct key *k = NULL;
	buf_init(&text, KEYFILE_MAX);
	err_t e = os_file_read(path, &text, NULL);
	if (e == OK)
		e = key_read_private(&k, buf_bytes(&text), cslice_of(NULL, 0), NULL);
	key_free(k);
	buf_done(&text);
	return e == E_KEY_PUBLIC;
}

/* Takes k.  name: of the file with the private half, or of the certificate itself. */
static void add_cert(struct identity *list, size_t *n, const char *name, struct key *k)
{
	struct identity id = {.pub = k, .name = strdup(name)};
	if (k == NULL || id.name == NULL || *n == IDENTITIES_MAX) {
		identity_done(&id);
		return;
	}
	log_debug1("certificate for %s type %s", name, key_shown(k));
	list[(*n)++] = id;
}

/* FILE-cert.pub, or a certificate in the place of FILE.pub, where no certificate is configured. */
static void add_cert_beside(struct collect *c, const char *path)
{
	static const char *const ends[] = {"-cert.pub", ".pub"};
	for (size_t i = 0; i < ARRAY_N(ends) && !c->s->cfg.certificate_files_set; i++) {
		struct buf name;
		buf_init(&name, 65536);
		buf_printf(&name, "%s%s", path, ends[i]);
		buf_put_u8(&name, 0);
		if (buf_err(&name) == OK)
			add_cert(c->files, &c->files_n, path,
				identity_cert_read((const char *)name.p));
		buf_done(&name);
	}
}

static void add_certs(struct collect *c)
{
	const struct cfg_list *list = &c->s->cfg.certificate_file;
	for (size_t i = 0; i < list->n; i++) {
		char *path = NULL;
		if (value_is_none(list->v[i]) ||
			setup_expand(c->s, list->v[i], TOKENS_ALL, &path) != OK)
			continue;
		add_cert(c->certs, &c->certs_n, path, identity_cert_read(path));
		free(path);
	}
}

static void add_file(struct collect *c, const char *path)
{
	struct ssh *s = c->s;
	struct identity id = {.name = strdup(path)};
	struct buf why;
	if (id.name == NULL || c->files_n == IDENTITIES_MAX) {
		identity_done(&id);
		return;
	}
	buf_init(&why, 65536);
	err_t e = keyfile_load_private(&id.priv, path, NULL, NULL, &why);
	if (e == OK) {
		if (key_public_copy(&id.pub, id.priv) != OK)
			id.pub = NULL;
	} else {
		id.priv = NULL;
		id.pub = public_half(path);
		if (e == E_PERMISSION && is_public_file(path))
			e = E_KEY_PUBLIC;
		if (e == E_PASSPHRASE && id.pub == NULL) {
			identity_unlock(s, &id); /* formats that hide the public half */
			if (id.priv != NULL && key_public_copy(&id.pub, id.priv) != OK)
				id.pub = NULL;
		} else if (e == E_PASSPHRASE) {
			log_debug1("identity file %s needs a passphrase", path);
		} else if (e != E_NOT_FOUND && e != E_KEY_PUBLIC) {
			ssh_say_lines(LOG_L_ERROR, buf_bytes(&why));
			id.fate = err_text(e);
		}
	}
	buf_done(&why);
	log_debug1("identity file %s type %s", path,
		id.pub != NULL ? key_type_shown(key_type_of(id.pub)) : "-1");
	if (id.pub == NULL ||
		(e != OK && e != E_PASSPHRASE && e != E_NOT_FOUND && e != E_KEY_PUBLIC)) {
		identity_done(&id);
		return;
	}
	id.is_listed = c->s->cfg.identity_files_set;
	c->files[c->files_n++] = id;
}

static void add_files(struct collect *c)
{
	const struct cfg_list *list = &c->s->cfg.identity_file;
	for (size_t i = 0; i < list->n; i++) {
		char *path = NULL;
		if (value_is_none(list->v[i]) ||
			setup_expand(c->s, list->v[i], TOKENS_ALL, &path) != OK)
			continue;
		add_file(c, path);
		add_cert_beside(c, path);
		free(path);
	}
}

static void on_agent_key(void *arg, struct cslice blob, struct cslice comment)
{
	struct collect *c = arg;
	struct identity id = {.is_agent = true};
	if (key_parse_any(&id.pub, blob) != OK)
		return;
	struct buf name;
	buf_init(&name, 65536);
	vis_put(&name, comment);
	buf_put_u8(&name, 0);
	if (buf_err(&name) == OK)
		id.name = strdup((const char *)name.p);
	buf_done(&name);
	if (id.name == NULL || c->agent_n == IDENTITIES_MAX) {
		identity_done(&id);
		return;
	}
	c->agent[c->agent_n++] = id;
}

char *identity_agent_path_of(struct ssh *s, const char *value)
{
	char *path = NULL;
	if (value[0] == '$' && value[1] != '{') {
		const char *set = getenv(value + 1);
		return set != NULL && set[0] != '\0' ? strdup(set) : NULL;
	}
	return setup_expand(s, value, TOKENS_ALL, &path) == OK ? path : NULL;
}

char *identity_agent_path(struct ssh *s)
{
	const char *value = s->cfg.identity_agent;
	if (value == NULL || strcmp(value, "SSH_AUTH_SOCK") == 0)
		value = "$SSH_AUTH_SOCK";
	else if (value_is_none(value))
		return NULL;
	return identity_agent_path_of(s, value);
}

static void add_agent(struct collect *c)
{
	struct keys_found *found = &c->s->found;
	char *path = identity_agent_path(c->s);
	found->agent = value_is_none(c->s->cfg.identity_agent) && c->s->cfg.identity_agent != NULL
			       ? AGENT_OFF
			       : AGENT_UNSET;
	if (path == NULL)
		return;
	err_t e = agent_connect(&c->s->agent, path);
	if (e == OK)
		e = agent_list_blobs(&c->s->agent, on_agent_key, c);
	found->agent = e == OK ? AGENT_ASKED : AGENT_FAILED;
	found->agent_n = (uint32_t)c->agent_n;
	if (e != OK)
		log_debug1("the agent at %s gives no keys: %s", path, err_text(e));
	free(path);
}

static void keep(struct ssh *s, struct identity *id)
{
	if (s->ids_n == IDENTITIES_MAX) {
		identity_done(id);
		return;
	}
	s->ids[s->ids_n++] = *id;
	*id = (struct identity){0};
}

/* Keys of the agent that are configured too come first.  Where the file needs no passphrase it
 * signs itself. */
static void keep_configured_agent_keys(struct collect *c)
{
	for (size_t i = 0; i < c->agent_n; i++) {
		for (size_t j = 0; j < c->files_n && c->agent[i].pub != NULL; j++) {
			struct identity *file = &c->files[j], *agent = &c->agent[i];
			if (file->pub == NULL || !identity_is_same(file->pub, agent->pub))
				continue;
			file->is_agent = file->priv == NULL;
			file->is_in_agent = true;
			identity_done(agent);
			keep(c->s, file);
		}
	}
}

static bool has_private_file(const struct identity *id)
{
	size_t n = strlen(id->name);
	bool is_public_name = n > 4 && strcmp(id->name + n - 4, ".pub") == 0;
	return id->priv != NULL || (!is_public_name && os_file_probe(id->name) == 0);
}

static bool may_sign(struct ssh *s, const struct identity *id)
{
	uint32_t unused;
	return has_private_file(id) || identity_plain_of(s, id->pub, &unused) != NULL;
}

static void keep_others_of_agent(struct collect *c)
{
	for (uint32_t rank = 0; rank <= IDENTITY_RANK_LAST; rank++)
		for (size_t i = 0; i < c->agent_n; i++)
			if (c->agent[i].pub != NULL && identity_rank(c->agent[i].pub) == rank &&
				!c->s->cfg.identities_only)
				keep(c->s, &c->agent[i]);
	for (size_t i = 0; i < c->agent_n; i++)
		identity_done(&c->agent[i]);
}

/* In the order in which the user named them, or else certificates first. */
static void keep_files(struct collect *c)
{
	struct ssh *s = c->s;
	bool is_ranked = !s->cfg.identity_files_set;
	for (uint32_t rank = 0; rank <= (is_ranked ? IDENTITY_RANK_LAST : 0); rank++) {
		for (size_t i = 0; i < c->files_n; i++) {
			struct identity *id = &c->files[i];
			if (id->pub == NULL || (is_ranked && identity_rank(id->pub) != rank))
				continue;
			if (may_sign(s, id))
				keep(s, id);
			else if (s->found.public_only == NULL)
				s->found.public_only = strdup(id->name);
			identity_done(id);
		}
	}
	c->files_n = 0;
}

void identities_load(struct ssh *s)
{
	s->agent.fd = -1;
	if (s->cfg.pubkey_auth == CFG_PUBKEY_NO)
		return;
	struct collect *c = calloc(1, sizeof(*c));
	if (c == NULL)
		return;
	c->s = s;
	add_certs(c);
	add_files(c);
	add_agent(c);
	for (size_t i = 0; i < c->certs_n; i++)
		keep(s, &c->certs[i]);
	keep_configured_agent_keys(c);
	/* What the user named goes before what happens to be in the agent. */
	if (s->cfg.identity_files_set)
		keep_files(c);
	for (s->ids_named = c->certs_n; s->ids_named < s->ids_n; s->ids_named++)
		if (!s->ids[s->ids_named].is_listed)
			break;
	keep_others_of_agent(c);
	keep_files(c);
	free(c);
	last_key_first(s);
	identities_show(s);
}

static void tell_engine(struct ssh *s)
{
	for (size_t i = 0; i < s->ids_n; i++) {
		const struct identity *id = &s->ids[i];
		uint32_t unused;
		const struct identity *plain = identity_plain_of(s, id->pub, &unused);
		bool is_sure = id->priv != NULL || (plain != NULL && plain->priv != NULL);
		s->au_ids[i] = (struct au_identity){
			id->shown != NULL ? id->shown : id->name, id->pub, is_sure};
	}
}

static void show(struct identity *id, int hash)
{
	struct buf text;
	buf_init(&text, 65536);
	buf_printf(&text, "%s %s ", id->name, key_shown(id->pub));
	if (key_fingerprint(id->pub, (enum hash_id)hash, &text) != OK)
		buf_printf(&text, "?");
	buf_printf(&text, "%s%s", id->is_listed ? " explicit" : "",
		id->is_agent || id->is_in_agent ? " agent" : "");
	buf_put_u8(&text, 0);
	if (buf_err(&text) == OK)
		id->shown = strdup((const char *)text.p);
	buf_done(&text);
}

void identities_show(struct ssh *s)
{
	for (size_t i = 0; i < s->ids_n; i++) {
		show(&s->ids[i], s->cfg.fingerprint_hash);
		log_debug1("Will attempt key: %s",
			s->ids[i].shown != NULL ? s->ids[i].shown : s->ids[i].name);
	}
	tell_engine(s);
}

void identities_hide(struct ssh *s, const bool there[IDENTITIES_MAX])
{
	size_t n = 0;
	for (size_t i = 0; i < s->ids_n; i++) {
		struct identity *id = &s->ids[i];
		bool is_file = id->is_in_agent; /* one of these is a key of the agent too */
		if (id->is_agent && !there[i]) {
			log_debug1("the agent keeps this key from the host: %s", id->name);
			id->is_agent = false;
			if (!is_file) {
				identity_done(id);
				continue;
			}
		}
		if (n != i) {
			s->ids[n] = *id;
			*id = (struct identity){0};
		}
		n++;
	}
	s->ids_n = n;
	tell_engine(s);
}

void identities_done(struct ssh *s)
{
	for (size_t i = 0; i < s->ids_n; i++)
		identity_done(&s->ids[i]);
	s->ids_n = 0;
	free(s->found.public_only);
	s->found = (struct keys_found){.public_only = NULL};
	agent_close(&s->agent);
}

static err_t sign_by(
	struct ssh *s, struct identity *id, struct cslice alg, struct cslice tbs, struct buf *sig)
{
	if (id->is_agent) {
		err_t e = agent_sign(&s->agent, id->pub, alg, tbs, sig);
		if (e != OK) {
			id->fate = "the agent refused to sign";
			ssh_say(LOG_L_ERROR,
				"sign_and_send_pubkey: signing failed for %s \"%s\" from agent: %s",
				key_shown(id->pub), id->name, err_text(e));
		}
		return e;
	}
	if (key_cert(id->pub) != NULL && !has_private_file(id)) {
		id->fate = "the private key of this certificate is not at hand";
		return E_CANCELLED;
	}
	if (id->priv == NULL)
		identity_unlock(s, id);
	if (id->priv == NULL) {
		id->fate = s->cfg.batch_mode ? "it needs a passphrase, and BatchMode is on"
					     : "its passphrase was not given";
		return E_CANCELLED;
	}
	if (!key_equal_public(id->priv, id->pub)) {
		id->fate = "the .pub file beside it belongs to another key";
		return E_KEY_FORMAT;
	}
	identity_to_agent(s, id);
	key_set_rng(id->priv, os_rng());
	return key_sign(id->priv, alg, tbs, sig);
}

err_t identity_sign(
	struct ssh *s, uint32_t n, struct cslice alg, struct cslice tbs, struct buf *sig)
{
	if (n >= s->ids_n)
		return E_BUG;
	struct identity *id = &s->ids[n];
	struct identity *plain = identity_plain_of(s, id->pub, &n);
	struct identity *signer = plain != NULL ? plain : id; /* of the certificate: its key */
	err_t e = sign_by(s, signer, key_alg_sig(alg, NULL), tbs, sig);
	id->fate = signer->fate;
	return e;
}
