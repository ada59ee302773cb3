/* SPDX-License-Identifier: ISC */
/* owners - the names of user and group numbers, each asked for once */
#ifndef APP_SFTP_OWNERS_H
#define APP_SFTP_OWNERS_H

#include "transfer/remote.h"

struct owner_set {
	uint32_t *ids; /* sorted after owners_ask */
	char **names;
	size_t n, cap;
};

struct owners {
	struct owner_set users, groups;
};

MUST err_t owners_want(struct owners *o, uint32_t uid, uint32_t gid);
/* Without an answer there are no names. */
MUST err_t owners_ask(struct owners *o, struct remote *r);
/* NULL: it has no name. */
const char *owners_user(const struct owners *o, uint32_t uid);
const char *owners_group(const struct owners *o, uint32_t gid);
void owners_done(struct owners *o);

#endif
