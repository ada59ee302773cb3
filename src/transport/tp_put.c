/* SPDX-License-Identifier: ISC */
/* tp_put - one function a message, from the rows of wire/ssh.def */
#include "transport/tp_int.h"

#define M(name, no, phase, to)                                                                     \
	err_t tp_put_##name(struct tp *tp, const struct ssh_##name *msg)                           \
	{                                                                                          \
		size_t n = ssh_size_##name(msg);                                                   \
		struct slice body;                                                                 \
		TRY(tp_reserve(tp, SSH_MSG_##name, n, &body));                                     \
		struct wr w = wr_of(body);                                                         \
		ssh_put_##name(&w, msg);                                                           \
		err_t e = wr_end(&w);                                                              \
		if (e != OK) {                                                                     \
			tp_cancel(tp);                                                             \
			return e;                                                                  \
		}                                                                                  \
		return tp_commit(tp, n);                                                           \
	}
#include "wire/ssh.def"
#undef M
