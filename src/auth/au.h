/* SPDX-License-Identifier: ISC */
/*
 * au - the authentication engines (RFC 4252, RFC 4256), client and server
 *
 * They write through a transport engine and are fed its messages 5, 6, 50..79.  Every question to
 * the outside is an event with a number, answered now or later.  On success they call tp_set_open;
 * nothing else does.
 *
 * After every call poll until AU_EV_NONE: poll also sends what had to wait for a key exchange.
 * Slices of an event live until the next call into the engine, or the next tp_poll; those of a
 * question until it is answered.
 */
#ifndef AUTH_AU_H
#define AUTH_AU_H

#include "transport/tp.h"

/* ---- client
 * -------------------------------------------------------------------------------------------------------
 */
struct au_identity {      /* a key that may be offered, in order */
	const char *name; /* how it is shown in messages: name, type, fingerprint */
	const struct key *pub;
	bool is_sure; /* private half at hand without a question: sign at once instead of asking
			 first */
};

struct au_client_env { /* borrowed for the engine's life */
	struct tp *tp;
	const char *user;
	const char *methods; /* PreferredAuthentications, e.g.
				"publickey,keyboard-interactive,password" */
	const struct au_identity *ids;
	size_t ids_n;
	const char *pubkey_algs;   /* PubkeyAcceptedAlgorithms, resolved */
	uint32_t password_prompts; /* NumberOfPasswordPrompts, for password and for
				      keyboard-interactive */
	bool hostbound;            /* use publickey-hostbound-v00 where the server announces it */
	bool no_pipeline; /* second try: wait for SERVICE_ACCEPT before the first request */
	struct rng *rng;  /* not used: the transport draws the padding of password packets */
};

enum au_ev_type {
	AU_EV_NONE,
	AU_EV_ASK_SIGN,     /* id = index in ids, alg, data = bytes to sign.  Answer OK + signature
			       blob, or an error: next key */
	AU_EV_ASK_PASSWORD, /* first try: attempt = 0.  Answer OK + password, E_CANCELLED = skip the
			       method */
	AU_EV_ASK_NEW_PASSWORD, /* server wants it changed: data = prompt.  Answer OK + string old,
				   string new */
	AU_EV_ASK_INFO,         /* keyboard-interactive: info.  Answer OK + string response ... */
	AU_EV_BANNER,           /* data = text, as sent */
	AU_EV_SUCCESS, /* data = method name; id = index of the key (publickey), else UINT32_MAX */
	AU_EV_PARTIAL, /* data = methods that can continue */
	AU_EV_FAILED,  /* nothing left to try: data = methods the server would take.  au_client_fate
			  tells what was done */
	/* server: E_PARTIAL + methods that can continue, as an answer to NONE, VERIFY,
	   PASSWORD_CHECK or KBDINT, means that the proof is good and more is needed.  Every other
	   error is a no. */
	AU_EV_ASK_USER,   /* user, service: once.  Answer OK always (valid or not is told by later
			     answers) */
	AU_EV_ASK_NONE,   /* may the user in without a proof?  Answer OK or E_DENIED */
	AU_EV_ASK_KEY,    /* alg, blob: would this key do?  Answer OK or E_DENIED */
	AU_EV_ASK_VERIFY, /* alg, blob, data = signature, hostbound: is it proved?  Answer OK or
			     E_DENIED */
	AU_EV_ASK_PASSWORD_CHECK, /* data = password (secret).  Answer OK, E_DENIED */
	AU_EV_ASK_KBDINT, /* attempt 0 = start, data = devices; else data = string response ... (may
			     be empty).  Answer OK (in), E_DENIED, or E_AGAIN + an info_request body
			     (prompts to send) */
	AU_EV_LOGGED_IN,  /* server: SUCCESS has been committed; data = method; publickey: alg, blob
			     of the key that proved it */
	AU_EV_KBDINT_STOPPED, /* server: the client went on to something else in the middle of a
				 conversation */
	AU_EV_REFUSED /* server: FAILURE was sent, for the log: method, alg and blob; attempt =
			 failures so far */
};

struct au_info {
	struct cslice name, instruction;
	uint32_t prompts_n;
	struct cslice prompts; /* (string prompt, flag echo)... */
};

struct au_event {
	enum au_ev_type type;
	uint32_t ask, id, attempt;
	struct cslice user, service, method, alg, blob, data;
	struct au_info info;
	bool is_hostbound;
	bool is_trivial; /* SUCCESS: the server let us in without asking for any proof
			    (CVE-2021-36368) */
};

/* Why a key was not taken, for the message when all failed. */
enum au_key_fate {
	AU_KEY_NOT_TRIED,
	AU_KEY_REFUSED,
	AU_KEY_SIG_REFUSED,
	AU_KEY_NO_ALG,
	AU_KEY_SIGN_FAILED,
	AU_KEY_TAKEN /* the server took it, and wants more (partial) or let us in */
};

struct au_client;
MUST err_t au_client_new(struct au_client **out, const struct au_client_env *env);
void au_client_free(struct au_client *au);
/*
 * After TP_EV_KEYS (first), best once tp_poll has nothing more: an EXT_INFO that is already here
 * says how an RSA key signs. Sends SERVICE_REQUEST and the first request right behind it: the first
 * key when publickey is preferred, else `none`.
 */
MUST err_t au_client_start(struct au_client *au);
/* A message 5..79 from the transport.  Faults of the peer are errors (then tp_fail). */
MUST err_t au_client_msg(struct au_client *au, uint8_t msg, struct cslice body);
MUST err_t au_client_poll(
	struct au_client *au, struct au_event *ev); /* slices until the next poll */
MUST err_t au_client_answer(struct au_client *au, uint32_t ask, err_t verdict, struct cslice data);
enum au_key_fate au_client_fate(const struct au_client *au, size_t id);
struct cslice au_client_methods(
	const struct au_client *au); /* "methods that can continue" of the last failure */

/* ---- server
 * -------------------------------------------------------------------------------------------------------
 */
/* Borrowed for the engine's life and read when used, not copied: the caller may change methods,
 * pubkey_algs, max_tries, banner and fail_delay_us until it answers AU_EV_ASK_USER (only then the
 * Match blocks of the user are known). */
struct au_server_env {
	struct tp *tp;
	const char *methods; /* offered, e.g. "publickey,password,keyboard-interactive" */
	const char
		*pubkey_algs; /* accepted, resolved; told to clients that take a second EXT_INFO */
	uint32_t max_tries;   /* MaxAuthTries */
	struct cslice banner; /* sent before the first answer; may be empty */
	uint64_t fail_delay_us; /* least time that a failed request takes (compat 7.3); kept by the
				   engine through au_server_deadline */
};
struct au_server;
MUST err_t au_server_new(struct au_server **out, const struct au_server_env *env);
void au_server_free(struct au_server *au);
/*
 * A question is open, or a failure waits for its time: do not poll the transport.  au_server_msg
 * then takes nothing and gives E_AGAIN.
 */
bool au_server_busy(const struct au_server *au);
/* now_us: for the minimum time of a failure.  E_AUTH_TRIES (here or in tick) after max_tries
 * failures. */
/* Poll until NONE before the next call: what an event lends lasts no longer. */
MUST err_t au_server_msg(struct au_server *au, uint8_t msg, struct cslice body, uint64_t now_us);
MUST err_t au_server_poll(struct au_server *au, struct au_event *ev);
MUST err_t au_server_answer(struct au_server *au, uint32_t ask, err_t verdict, struct cslice data);
uint64_t au_server_deadline(const struct au_server *au); /* UINT64_MAX = none */
MUST err_t au_server_tick(struct au_server *au, uint64_t now_us);
uint32_t au_server_failures(const struct au_server *au);

/*
 * The bytes that a publickey signature covers (RFC 4252 7; hostbound: compat 7.3).  Shared with the
 * monitor, which builds them itself.  hostkey empty = plain publickey.
 */
struct au_tbs {
	struct cslice session_id, user, service, alg, blob, hostkey;
};
MUST err_t au_tbs_put(const struct au_tbs *tbs, struct buf *out);

static inline MUST err_t au_pubkey_tbs(struct cslice session_id, struct cslice user,
	struct cslice service, struct cslice alg, struct cslice blob, struct cslice hostkey,
	struct buf *out)
{
	return au_tbs_put(&(struct au_tbs){session_id, user, service, alg, blob, hostkey}, out);
}

#endif
