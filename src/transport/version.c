/* SPDX-License-Identifier: ISC */
/*
 * version - the identification lines (RFC 4253 4.2, compat 7.1)
 *
 * Our line goes out at once, the peer's is read line by line from the same chunk that packets come
 * in later: what stands behind the line feed is the first packet.
 */
#include <stdlib.h>

#include "base/log.h"
#include "transport/peer.h"
#include "transport/tp_int.h"

#define NOISE_MAX 256u

#define PEER(patterns, flags) {patterns, flags},
static const struct {
	const char *patterns;
	uint32_t flags;
} peers[] = {
#include "transport/peer.def"
};
#undef PEER

uint32_t tp_peer_flags_of(struct cslice version)
{
	for (size_t i = 0; i < ARRAY_N(peers); i++)
		if (peer_is(version, peers[i].patterns))
			return peers[i].flags;
	return 0;
}

err_t tp_version_send(struct tp *tp)
{
	TRY(tp_out_raw(tp, cslice_str(tp->my_version)));
	TRY(tp_out_raw(tp, cslice_str("\r\n")));
	log_debug1("Local version string %s", tp->my_version);
	return OK;
}

void tp_version_refuse(struct tp *tp, err_t e)
{
	static const struct {
		err_t e;
		const char *line;
	} lines[] = {
		{E_NOT_SSH, "Invalid SSH identification string.\r\n"},
		{E_VERSION, "Protocol major versions differ.\r\n"},
		{E_TIMEOUT, "Timed out waiting for SSH identification string.\r\n"},
	};
	if (!tp->is_server)
		return;
	for (size_t i = 0; i < ARRAY_N(lines); i++)
		if (lines[i].e == e && tp_out_raw(tp, cslice_str(lines[i].line)) != OK)
			return; /* no memory: then it goes without words */
}

static void keep_noise(struct tp *tp, struct cslice line)
{
	if (tp->noise.n == 0)
		buf_put(&tp->noise, line.p, num_min(line.n, NOISE_MAX));
}

/* Cuts the CRs off the end; false when a NUL or a CR stands inside. */
static bool line_is_clean(struct cslice *line)
{
	while (line->n > 0 && line->p[line->n - 1] == '\r')
		line->n--;
	return line->n == 0 ||
	       (memchr(line->p, 0, line->n) == NULL && memchr(line->p, '\r', line->n) == NULL);
}

/* A number of one to four digits followed by `end`, taken off the front. */
static bool take_number(struct cslice *s, uint8_t end, uint32_t *out)
{
	size_t i = 0;
	uint32_t v = 0;
	while (i < s->n && i < 5 && s->p[i] >= '0' && s->p[i] <= '9')
		v = v * 10 + (uint32_t)(s->p[i++] - '0');
	if (i == 0 || i == 5 || i == s->n || s->p[i] != end)
		return false;
	s->p += i + 1;
	s->n -= i + 1;
	*out = v;
	return true;
}

static err_t line_check(struct cslice line)
{
	struct cslice rest = {line.p + 4, line.n - 4};
	uint32_t major, minor;
	if (!take_number(&rest, '.', &major) || !take_number(&rest, '-', &minor) || rest.n == 0)
		return E_NOT_SSH;
	bool is_two = major == 2 || (major == 1 && minor == 99); /* RFC4253 5.1 */
	return is_two ? OK : E_VERSION;
}

static err_t take_version(struct tp *tp, struct cslice line, struct tp_event *ev)
{
	err_t e = line_check(line);
	if (e != OK) {
		keep_noise(tp, line);
		return e;
	}
	buf_put(&tp->peer_version, line.p, line.n);
	TRY(buf_err(&tp->peer_version));
	tp->peer_flags = tp_peer_flags_of(line);
	if (tp->is_server && (tp->peer_flags & TP_PEER_PROBE) != 0)
		return E_NOT_SSH;
	tp->has_peer_version = true;
	log_debug1("Remote version string %.*s", (int)line.n, (const char *)line.p);
	if (!tp->kex.is_sent)
		TRY(tp_kexinit_send(tp));
	ev->type = TP_EV_VERSION;
	return OK;
}

static err_t take_line(struct tp *tp, struct cslice line, struct tp_event *ev)
{
	if (!line_is_clean(&line)) {
		keep_noise(tp, line);
		return E_NOT_SSH;
	}
	if (line.n >= 4 && memcmp(line.p, "SSH-", 4) == 0)
		return take_version(tp, line, ev);
	keep_noise(tp, line);
	/* RFC4253 4.2: lines before the version are the server's right only */
	if (tp->is_server || ++tp->lines > TP_LINES_MAX)
		return E_NOT_SSH;
	tp_lend(tp, ev, line);
	ev->type = TP_EV_PRE_VERSION;
	return OK;
}

err_t tp_version_step(struct tp *tp, struct tp_event *ev, bool *progress)
{
	struct tp_in *in = &tp->in;
	size_t n = in->end - in->at;
	if (n == 0)
		return OK;
	const uint8_t *start = in->c->p + in->at;
	const uint8_t *lf = memchr(start, '\n', num_min(n, TP_LINE_MAX));
	if (lf == NULL) {
		if (n < TP_LINE_MAX)
			return OK;
		keep_noise(tp, cslice_of(start, n));
		return E_NOT_SSH;
	}
	in->at += (size_t)(lf - start) + 1;
	in->from = in->c;
	*progress = true;
	return take_line(tp, cslice_of(start, (size_t)(lf - start)), ev);
}
