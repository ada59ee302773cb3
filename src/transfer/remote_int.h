/* SPDX-License-Identifier: ISC */
/* remote_int - what the files of remote share */
#ifndef TRANSFER_REMOTE_INT_H
#define TRANSFER_REMOTE_INT_H

#include "transfer/remote.h"

/* Notes code and words of a status; E_STATUS, or OK for SF_ok. */
MUST err_t remote_status(struct remote *r, const struct sf_reply *reply);
/* The connection is over: every request under way is told. */
void remote_lost(struct remote *r, err_t why);
/* What the function under way waits for may have come. */
void remote_wake(struct remote *r);

#endif
