/* SPDX-License-Identifier: ISC */
/*
 * hostkey_agent - HostKeyAgent: the private halves of host keys are in an agent, and only the
 * monitor asks it
 *
 * The socket is opened for each signature: an agent that is started anew is found again.  What it
 * gives is checked against the key before it leaves.
 */
#include <errno.h>
#include <stdlib.h>
#include <strings.h>

#include "app/common/agent_client.h"
#include "app/common/keyfile.h"
#include "app/sshd/sshd.h"
#include "key/cert.h"

char *host_agent_path(const struct server_config *c)
{
	const char *value = c->host_key_agent;
	struct agent_client a = {-1};
	if (strcmp(value, "SSH_AUTH_SOCK") == 0)
		value = getenv("SSH_AUTH_SOCK");
	if (value == NULL || value[0] == '\0' || strcasecmp(value, "none") == 0)
		return NULL;
	errno = 0;
	err_t e = agent_connect(&a, value);
	if (e != OK) {
		log_put(LOG_L_ERROR, "Could not connect to agent \"%s\": %s", value,
			errno != 0 ? strerror(errno) : err_text(e));
		return NULL;
	}
	agent_close(&a);
	return strdup(value);
}

/* The public line of the key is all that is handed on. */
err_t host_agent_read(struct host_key *h, const char *path, const char *agent)
{
	TRY(keyfile_load_public(&h->k, path, NULL));
	if (key_cert(h->k) != NULL)
		return E_KEY_TYPE;
	buf_clear(&h->text);
	TRY(key_public_line(h->k, NULL, &h->text));
	return text_dup(cslice_str(agent), &h->agent);
}

static err_t ask(const struct host_key *h, struct cslice alg, struct cslice tbs, struct buf *sig)
{
	struct agent_client a = {-1};
	struct key *plain = NULL;
	TRY(key_public_copy(&plain, h->k));
	key_drop_cert(plain); /* it is the plain key that the agent has */
	err_t e = agent_connect(&a, h->agent);
	if (e == OK)
		e = agent_sign(&a, plain, alg, tbs, sig);
	if (e == OK)
		e = key_verify(plain, alg, tbs, buf_bytes(sig));
	agent_close(&a);
	key_free(plain);
	return e;
}

err_t host_key_sign(const struct host_key *h, struct cslice alg, struct cslice tbs, struct buf *sig)
{
	struct buf made;
	if (h->agent == NULL)
		return key_sign(h->k, alg, tbs, sig);
	buf_init(&made, 64 << 10);
	err_t e = ask(h, alg, tbs, &made);
	if (e == OK) {
		buf_put(sig, made.p, made.n);
		e = buf_err(sig);
	} else {
		log_put(LOG_L_ERROR, "agent %s does not sign with host key %s: %s", h->agent,
			h->path, err_text(e));
	}
	buf_done(&made);
	return e;
}
