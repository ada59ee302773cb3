/* SPDX-License-Identifier: ISC */
/* link - what is the same for each kind of link */
#include "transfer/link.h"

err_t link_put(struct link *l, struct cslice data)
{
	struct iovec iov[TP_BULK_MAX];
	size_t niov = 0, room = 0;
	if (data.n == 0)
		return OK;
	TRY(l->ops->reserve(l, data.n, iov, &niov));
	for (size_t i = 0; i < niov; i++)
		room += iov[i].iov_len;
	if (room < data.n) {
		TRY(l->ops->commit(l, 0));
		return E_AGAIN;
	}
	size_t at = 0;
	for (size_t i = 0; i < niov && at < data.n; i++) {
		size_t n = num_min(iov[i].iov_len, data.n - at);
		memcpy(iov[i].iov_base, data.p + at, n);
		at += n;
	}
	return l->ops->commit(l, data.n);
}
