/* SPDX-License-Identifier: ISC */
/*
 * auth_stage - an authentication engine over a stage, either role, with a model of what it may do
 *
 * The model knows only the questions and the answers that were given: a server is open when, and
 * only when, a question about a proof was answered with OK; a client when SUCCESS came while a
 * request was out.
 */
#ifndef FUZZ_AUTH_STAGE_H
#define FUZZ_AUTH_STAGE_H

#include "auth/au.h"
#include "stage.h"

struct auth {
	struct stage s;
	struct au_server_env server_env;
	struct au_client_env client_env;
	struct au_server *server;
	struct au_client *client;
	bool is_started; /* client */
	bool is_late;    /* questions wait for auth_answer */
	err_t verdict;   /* of questions that are answered at once */
	bool is_asked;
	struct au_event ask;
	err_t err;
	/* the model */
	bool is_admitted, is_logged_in, is_failed, may_succeed;
	uint8_t proof[32]; /* hash of the blob that was verified */
	bool is_key_proof;
	uint32_t asks, passwords;
};

void auth_global(void);
/* On a stage that has been started: s is a->s. */
void auth_start(struct auth *a);
void auth_done(struct auth *a);
void auth_answer(struct auth *a, err_t verdict, struct cslice data);
/* A step of a script, the transport's ones included. */
void auth_step(struct auth *a, const struct script_step *step);
void auth_check_end(struct auth *a);

#endif
