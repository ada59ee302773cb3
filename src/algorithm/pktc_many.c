/* SPDX-License-Identifier: ISC */
/* pktc_many - HMAC over several packets at once */
#include "algorithm/pktc_many.h"

#define NUMBER 4 /* bytes of the sequence number */
_Static_assert(PKTC_MANY <= PICK_HMACS_MAX, "a batch fits one call");

typedef uint8_t tags_t[PKTC_MANY][HASH_MAX];

static enum hash_id hash_of(enum mac_id id)
{
	switch (id) {
	case MACI_HMAC_SHA1:
	case MACI_HMAC_SHA1_96:
		return HASH_SHA1;
	case MACI_HMAC_SHA256:
		return HASH_SHA256;
	case MACI_HMAC_SHA512:
		return HASH_SHA512;
	default:
		return HASH_N;
	}
}

err_t pktc_many_make(struct pktc_many *m, enum pick_impl impl, enum mac_id id, struct cslice key)
{
	struct pktc_many made = {.impl = pick_hmacs(impl)};
	if (made.impl == NULL || hash_of(id) == HASH_N)
		return OK;
	TRY(made.impl->make(&made.hmacs, hash_of(id), key));
	*m = made;
	return OK;
}

void pktc_many_done(struct pktc_many *m)
{
	if (m->hmacs != NULL)
		m->impl->free(m->hmacs);
	*m = (struct pktc_many){0};
}

/* E_AGAIN: not this way. */
static err_t tags_together(struct pktc_many *m, const struct pktc_one *v, size_t n, tags_t tags)
{
	struct pick_hmac_one jobs[PKTC_MANY];
	uint8_t lent[PKTC_MANY][NUMBER];
	if (m->hmacs == NULL || n == 0)
		return E_AGAIN;
	for (size_t i = 0; i < n; i++) {
		uint8_t *front = v[i].pkt - NUMBER;
		memcpy(lent[i], front, NUMBER);
		be32_put(front, v[i].at.seq);
		jobs[i] = (struct pick_hmac_one){{front, NUMBER + v[i].n}, tags[i]};
	}
	err_t e = m->impl->tags(m->hmacs, jobs, n);
	for (size_t i = 0; i < n; i++)
		memcpy(v[i].pkt - NUMBER, lent[i], NUMBER);
	return e;
}

static err_t tags_of(
	struct pktc_many *m, struct pktc_mac *mac, const struct pktc_one *v, size_t n, tags_t tags)
{
	if (n > PKTC_MANY)
		return E_BUG;
	err_t e = tags_together(m, v, n, tags);
	if (e != E_AGAIN)
		return e;
	for (size_t i = 0; i < n; i++)
		TRY(pktc_mac_tag(mac, v[i].at.seq, v[i].pkt, v[i].n, tags[i]));
	return OK;
}

err_t pktc_many_tag(struct pktc_many *m, struct pktc_mac *mac, const struct pktc_one *v, size_t n)
{
	tags_t tags;
	err_t e = tags_of(m, mac, v, n, tags);
	for (size_t i = 0; e == OK && i < n; i++)
		memcpy(v[i].pkt + v[i].n, tags[i], mac->size);
	return e;
}

size_t pktc_many_check(
	struct pktc_many *m, struct pktc_mac *mac, const struct pktc_one *v, size_t n)
{
	tags_t tags;
	size_t right = 0;
	if (tags_of(m, mac, v, n, tags) == OK)
		while (right < n && ct_eq(tags[right], v[right].pkt + v[right].n, mac->size))
			right++;
	wipe(tags, sizeof(tags));
	return right;
}
