/* SPDX-License-Identifier: ISC */
/*
 * known_hosts_update - the keys that a host says it has, against what the files say about it
 *
 * Three questions in this order, each over all files of the user: kh_survey, kh_old_elsewhere,
 * kh_without_old.  New lines are kh_line's.  Only plain lines of this one host are ever touched:
 * where a line of it does more (a marker, a pattern, several names), the survey says so and the
 * files stay as they are.
 */
#ifndef KEY_KNOWN_HOSTS_UPDATE_H
#define KEY_KNOWN_HOSTS_UPDATE_H

#include "key/known_hosts.h"

#define KH_OFFER_MAX 64 /* keys; no host has so many */

struct kh_offer {
	const char *host; /* as for kh_check */
	uint16_t port;
	const struct cslice *blobs; /* of the keys, no two the same; at most KH_OFFER_MAX */
	size_t n;
};

/* Zeroed before the first file. */
struct kh_survey {
	bool is_known[KH_OFFER_MAX]; /* on a plain line of the host */
	/* Blobs of keys on plain lines of the host that are not offered any more. */
	struct buf old[KH_OFFER_MAX];
	size_t old_n;
	bool is_complex;   /* a line of the host is not one for this host alone */
	bool is_elsewhere; /* one of the offer stands on a line that does not name the host */
};

MUST err_t kh_survey(struct cslice file, const struct kh_offer *o, struct kh_survey *sv);
void kh_survey_done(struct kh_survey *sv);
/* Does an old key stand on a line that does not name the host?  *is is set only then. */
MUST err_t kh_old_elsewhere(
	struct cslice file, const struct kh_offer *o, const struct kh_survey *sv, bool *is);
/* Appends the file, byte by byte, without the lines of old keys.  removed: how many. */
MUST err_t kh_without_old(struct cslice file, const struct kh_offer *o, const struct kh_survey *sv,
	struct buf *out, size_t *removed);

#endif
