/* SPDX-License-Identifier: ISC */
/*
 * sess_hostkeys - all host keys are told to the client, which may ask for a proof of those that it
 * learns (compat 7.4: hostkeys-00@openssh.com, hostkeys-prove-00@openssh.com)
 *
 * The proofs are the monitor's; here is only which keys were asked about.
 */
#include "app/sshd/sess.h"
#include "transport/peer.h"

#define TELL  "hostkeys-00@openssh.com"
#define PROVE "hostkeys-prove-00@openssh.com"

/* These end the connection, or worse, at a global request of that name (compat 7.2). */
static const char bears_no_hostkeys[] =
	"Cisco-1.*,TTSSH/1.*,TTSSH/2.1*,TTSSH/2.2*,TTSSH/2.3*,TTSSH/2.4*,TTSSH/2.5*,TTSSH/2.6*,"
	"TTSSH/2.70*,TTSSH/2.71*,TTSSH/2.72*";

/* A certificate is no host key that could be learnt. */
static bool is_plain(struct cslice blob)
{
	enum key_type type;
	return key_type_from_name(key_blob_type(blob), &type);
}

err_t sess_tell_hostkeys(struct server *sv)
{
	const struct session_start *st = sv->start;
	struct buf body;
	if (peer_is(tp_peer_version(sv->tp), bears_no_hostkeys))
		return OK;
	buf_init(&body, 256 * 1024);
	for (size_t i = 0; i < st->hostkeys_n; i++)
		if (is_plain(st->hostkeys[i]))
			buf_put_string(&body, st->hostkeys[i]);
	err_t e = buf_err(&body);
	if (e == OK)
		e = cn_global(sv->cn, TELL, false, buf_bytes(&body));
	buf_done(&body);
	return e;
}

static bool find(const struct session_start *st, struct cslice blob, uint32_t *index)
{
	for (uint32_t i = 0; i < st->hostkeys_n; i++) {
		if (is_plain(blob) && cslice_eq(blob, st->hostkeys[i])) {
			*index = i;
			return true;
		}
	}
	return false;
}

/* Signatures in the order of the question; each key once.  A key that is none of ours, or one that
 * cannot be proved: no answer at all. */
static bool prove(struct server *sv, struct cslice question, struct buf *out)
{
	struct rd r = rd_of(question);
	uint32_t seen = 0, index;
	while (r.n > 0 && !r.bad) {
		struct ps_rep_prove_host rep;
		if (!find(sv->start, rd_str(&r), &index) || (seen & (uint32_t)1 << index) != 0)
			return false;
		seen |= (uint32_t)1 << index;
		if (ps_ask_prove_host(&sv->ps, &(struct ps_req_prove_host){.index = index}, &rep) !=
				OK ||
			!rep.ok)
			return false;
		buf_put_string(out, rep.sig);
	}
	return seen != 0 && !r.bad && buf_err(out) == OK;
}

bool sess_is_prove(struct cslice name)
{
	return cslice_eq_str(name, PROVE);
}

err_t sess_prove_hostkeys(struct server *sv, struct cslice question)
{
	struct buf proofs;
	buf_init(&proofs, 256 * 1024);
	bool ok = prove(sv, question, &proofs);
	err_t e = cn_global_reply(sv->cn, ok, ok ? buf_bytes(&proofs) : cslice_of(NULL, 0));
	buf_done(&proofs);
	return e;
}
