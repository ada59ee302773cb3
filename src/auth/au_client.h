/* SPDX-License-Identifier: ISC */
/* au_client - the inside of the client engine, shared by its methods; one file a method */
#ifndef AUTH_AU_CLIENT_H
#define AUTH_AU_CLIENT_H

#include "auth/au.h"
#include "auth/au_names.h"
#include "transport/tq.h"

/* The request that the server has not answered yet: what it may say depends on it. */
enum au_outstanding {
	AU_OUT_NOTHING,
	AU_OUT_NONE,
	AU_OUT_QUERY,
	AU_OUT_SIGNED,
	AU_OUT_PASSWORD,
	AU_OUT_KBDINT
};

struct au_client_method {
	const char *name;
	/* Sends the next request or asks the next question; *did = false when nothing is left to
	 * try. */
	err_t (*next)(struct au_client *au, bool *did);
	err_t (*message)(
		struct au_client *au, struct cslice body); /* message 60; NULL = never allowed */
	err_t (*answer)(struct au_client *au, err_t verdict, struct cslice data);
	void (*refused)(struct au_client *au); /* FAILURE without partial success */
};

struct au_key_try {
	enum au_key_fate fate;
	bool is_spent;
	uint64_t refused; /* bit i: the i-th name of pubkey_algs was refused */
};

#define AU_EVENTS 4

struct au_client {
	struct au_client_env env;
	struct tq out;
	err_t err; /* sticky */
	bool is_started, service_wanted, is_done, is_exhausted, is_proved;
	uint32_t messages;
	const struct au_client_method *method;
	enum au_outstanding outstanding;
	struct buf methods; /* of the last failure */
	bool methods_known;
	/* the question that is open: 0 = none */
	uint32_t ask, ask_last;
	enum au_ev_type ask_type;
	struct buf question; /* what its slices point into */
	struct au_event events[AU_EVENTS];
	size_t events_n;
	bool none_tried, is_secret_tried; /* a password, or answers to questions */
	struct {                          /* publickey */
		struct au_key_try *tries;
		size_t at;
		struct cslice alg; /* in env.pubkey_algs */
		uint64_t alg_bit;
		bool is_hostbound, knew_algs, is_accepted; /* accepted: PK_OK has come */
		struct buf blob;
	} pk;
	struct { /* password */
		uint32_t tries;
		bool is_over;
	} pw;
	struct { /* keyboard-interactive */
		uint32_t tries, prompts_n;
		bool is_over, info_seen, is_answered;
	} ki;
};

extern const struct au_client_method au_client_none, au_client_publickey, au_client_password,
	au_client_kbdint;

/* Sends a request; body is what follows the method name. */
MUST err_t au_client_request(
	struct au_client *au, const char *method, struct cslice body, enum au_outstanding out);
MUST err_t au_client_ask(struct au_client *au, struct au_event ev);
MUST err_t au_client_event(struct au_client *au, struct au_event ev);
/* The method has nothing more to do now: go on with whatever is left. */
MUST err_t au_client_next(struct au_client *au);

#endif
