/* SPDX-License-Identifier: ISC */
/* au_server - the inside of the server engine, shared by its methods; one file a method */
#ifndef AUTH_AU_SERVER_H
#define AUTH_AU_SERVER_H

#include "auth/au.h"
#include "auth/au_names.h"
#include "transport/tq.h"

struct au_server_method {
	const char *name;   /* in the request */
	const char *listed; /* in the list of methods; NULL = needs no listing */
	bool is_hostbound;
	/* Checks the request's form and asks, or refuses. */
	err_t (*request)(struct au_server *au, struct cslice body);
	err_t (*answer)(struct au_server *au, err_t verdict, struct cslice data);
};

/* What a request came to.  Zero is the no. */
enum au_outcome { AU_REFUSED = 0, AU_PARTLY, AU_ADMITTED };

#define AU_SERVER_EVENTS 4

struct au_server {
	const struct au_server_env *env; /* read when used: it changes while ASK_USER waits */
	struct tq out;
	err_t err; /* sticky */
	bool is_service_ok, is_user_known, is_user_barred, is_none_seen, is_admitted, is_open;
	uint32_t requests, failures;
	struct buf user, service;
	struct buf methods;     /* that can continue */
	struct buf method_name; /* of the request at hand */
	struct buf body;        /* of the request at hand, wiped */
	const struct au_server_method *method;
	bool is_counted;         /* would its failure count */
	struct cslice alg, blob; /* in body: the key that the request is about */
	/* the question that is open: 0 = none */
	uint32_t ask, ask_last;
	enum au_ev_type ask_type;
	struct au_event events[AU_SERVER_EVENTS];
	size_t events_n;
	/* a failure that waits for its time */
	bool is_failing, is_fail_timed;
	uint64_t request_us, fail_us;
	struct { /* keyboard-interactive: the client owes us responses */
		bool is_open;
		uint32_t prompts_n, round;
	} ki;
};

extern const struct au_server_method au_server_none, au_server_publickey, au_server_hostbound,
	au_server_password, au_server_kbdint;

MUST err_t au_server_ask(struct au_server *au, struct au_event ev);
/* Ends the request at hand.  methods: for AU_PARTLY. */
MUST err_t au_server_end(struct au_server *au, enum au_outcome outcome, struct cslice methods);
/* The same from a verdict of the outside, where OK is the only yes and E_PARTIAL the only half. */
MUST err_t au_server_judge(struct au_server *au, err_t verdict, struct cslice methods);
/* From KBDINT: a round of responses has come. */
MUST err_t au_server_kbdint_responses(struct au_server *au, struct cslice body);

#endif
