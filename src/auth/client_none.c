/* SPDX-License-Identifier: ISC */
/*
 * client_none - the request that proves nothing (RFC 4252 5.2)
 *
 * Sent when there is no key to begin with, since its failure brings the list of methods, and as the
 * last resort after keys: some devices take nothing else.
 */
#include "auth/au_client.h"

static err_t none_next(struct au_client *au, bool *did)
{
	if (au->none_tried)
		return OK;
	TRY(au_client_request(au, AU_NONE, cslice_of(NULL, 0), AU_OUT_NONE));
	au->none_tried = true;
	*did = true;
	return OK;
}

static void none_refused(struct au_client *au)
{
	(void)au;
}

static err_t none_answer(struct au_client *au, err_t verdict, struct cslice data)
{
	(void)au;
	(void)verdict;
	(void)data;
	return E_BUG; /* it asks nothing */
}

const struct au_client_method au_client_none = {
	AU_NONE, none_next, NULL, none_answer, none_refused};
