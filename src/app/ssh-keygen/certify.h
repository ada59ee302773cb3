/* SPDX-License-Identifier: ISC */
/* certify - what -s and -L share */
#ifndef APP_SSH_KEYGEN_CERTIFY_H
#define APP_SSH_KEYGEN_CERTIFY_H

#include "app/ssh-keygen/kg.h"
#include "key/cert.h"

struct kg_terms {
	uint64_t serial, after, before;
	bool is_counting; /* one more for each certificate */
	struct cslice principals[CERT_PRINCIPALS_MAX];
	size_t principals_n;
	struct buf critical, extensions; /* packed */
};

/* Of -V, -O, -z and -n; says what is wrong.  Ended with kg_terms_done in any case. */
int kg_terms_read(const struct kg_options *o, struct kg_terms *t);
void kg_terms_done(struct kg_terms *t);

/* "forever", "from 2020-01-01T00:00:00 to ...", "after ...", "before ..."; appended. */
void kg_put_validity(struct buf *out, uint64_t after, uint64_t before);

#endif
