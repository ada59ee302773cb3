/* SPDX-License-Identifier: ISC */
/* codec - every message and body reader; what is read must be written back as it came */
#include "base/buf.h"
#include "fuzz.h"
#include "wire/agent.h"
#include "wire/ssh.h"

typedef void reader_fn(struct cslice body);

/* mpint and flag fields have several spellings of one value, so sizes may shrink: read again and
 * compare the sizes. */
#define READ(of, name)                                                                             \
	static void read_##of##_##name(struct cslice body)                                         \
	{                                                                                          \
		struct of##_##name a, b;                                                           \
		if (of##_get_##name(body, &a) != OK)                                               \
			return;                                                                    \
		size_t size = of##_size_##name(&a);                                                \
		uint8_t *room = malloc(size + 1);                                                  \
		PROMISE(room != NULL && size <= body.n);                                           \
		struct wr w = wr_of((struct slice){room, size});                                   \
		of##_put_##name(&w, &a);                                                           \
		PROMISE(wr_end(&w) == OK && w.n == size);                                          \
		PROMISE(of##_get_##name(cslice_of(room, size), &b) == OK);                         \
		PROMISE(of##_size_##name(&b) == size);                                             \
		free(room);                                                                        \
	}
#define READER(name)           READ(ssh, name)
#define M(name, no, phase, to) READER(name)
#include "wire/ssh.def"
#undef M
BODIES(READER)
#undef M
#define AGENT_READER(name)      READ(agent, name)
#define M(name, no, to, locked) AGENT_READER(name)
#include "wire/agent.def"
#undef M
AGENT_BODIES(AGENT_READER)

#define ROW(name)              read_ssh_##name,
#define AGENT_ROW(name)        read_agent_##name,
#define M(name, no, phase, to) ROW(name)
static reader_fn *const readers[] = {
#include "wire/ssh.def"
#undef M
#define M(name, no, to, locked) AGENT_ROW(name)
	BODIES(ROW)
#include "wire/agent.def"
		AGENT_BODIES(AGENT_ROW)};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct cslice in = {data, n};
	uint8_t which = fuzz_u8(&in);
	readers[which % ARRAY_N(readers)](in);
	for (unsigned phase = 1; phase <= 8; phase <<= 1)
		PROMISE(ssh_msg_verdict(which, (enum ssh_phase)phase, true) <= SSH_TAKE);
	return 0;
}
