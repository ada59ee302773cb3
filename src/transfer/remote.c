/* SPDX-License-Identifier: ISC */
/*
 * remote - an SFTP client on a link: bytes in, requests out, waiting
 *
 * Everything happens in the loop's call backs; a function that waits runs the loop, and whatever
 * ends its wait stops it.
 */
#include <stdio.h>

#include "base/text.h"
#include "transfer/remote_int.h"

/* ---- words ------------------------------------------------------------------------------------
 */
static void set_why(struct remote *r, const char *before, struct cslice words)
{
	struct buf safe;
	buf_init(&safe, 8 * sizeof(r->why));
	vis_put(&safe, cslice_of(words.p, num_min(words.n, sizeof(r->why))));
	(void)snprintf(r->why, sizeof(r->why), "%s%.*s", before, (int)safe.n,
		safe.n > 0 ? (const char *)safe.p : "");
	buf_done(&safe);
}

/* Scripts know these words. */
static const char *status_words(uint32_t code)
{
	return code == SF_no_such_file ? "No such file or directory" : sf_status_text(code);
}

err_t remote_status(struct remote *r, const struct sf_reply *reply)
{
	if (reply->code == SF_ok)
		return OK;
	r->code = reply->code;
	/* A plain failure says nothing: what the server adds to it does. */
	bool is_vague = reply->code == SF_failure || reply->code > SF_op_unsupported;
	const char *words = status_words(reply->code);
	if (is_vague && reply->message.n > 0 &&
		!cslice_eq_str(reply->message, sf_status_text(SF_failure)))
		set_why(r, "", reply->message);
	else
		(void)snprintf(r->why, sizeof(r->why), "%s", words);
	return E_STATUS;
}

const char *remote_words(const struct remote *r, err_t e)
{
	if (e == E_STATUS || (e == r->end && e != OK))
		return r->why;
	return e == E_UNSUPPORTED ? "the server does not support this" : err_text(e);
}

/* ---- the end ----------------------------------------------------------------------------------
 */
/* What a login script prints comes before the first frame, and looks like a huge length. */
static bool is_text(struct cslice s)
{
	for (size_t i = 0; i < 4 && i < s.n; i++)
		if ((s.p[i] < 0x20 && strchr("\n\r\t\033", s.p[i]) == NULL) || s.p[i] == 0 ||
			s.p[i] == 0x7f)
			return false;
	return s.n >= 4;
}

/* It may end where the protocol begins. */
static struct cslice first_line(struct cslice s)
{
	size_t n = 0;
	while (s.n > 0 && (s.p[0] == '\n' || s.p[0] == '\r'))
		s = cslice_of(s.p + 1, s.n - 1);
	while (n < s.n && s.p[n] != '\n' && s.p[n] != '\r' && s.p[n] != 0)
		n++;
	return cslice_of(s.p, n);
}

static void say_end(struct remote *r, err_t why)
{
	struct cslice first = sf_client_first(r->sf);
	bool is_protocol = why == E_LENGTH || why == E_FORMAT || why == E_UNEXPECTED;
	if (is_text(first)) {
		char before[128];
		(void)snprintf(before, sizeof(before),
			"Received message too long %u: the login scripts of the account print "
			"text, beginning with: ",
			(unsigned)be32_get(first.p));
		set_why(r, before, first_line(first));
	} else if (why == E_VERSION) {
		(void)snprintf(
			r->why, sizeof(r->why), "the server speaks another version of SFTP than 3");
	} else if (why == E_CLOSED) {
		(void)snprintf(r->why, sizeof(r->why), "Connection closed");
	} else if (is_protocol) {
		(void)snprintf(r->why, sizeof(r->why), "the server broke the SFTP protocol: %s",
			why == E_LENGTH ? "bad message length" : err_text(why));
	} else {
		(void)snprintf(r->why, sizeof(r->why), "%s", err_text(why));
	}
}

void remote_wake(struct remote *r)
{
	if (r->waits_for != NULL && (*r->waits_for || r->end != OK || r->is_interrupted))
		ev_stop(r->ev);
}

void remote_lost(struct remote *r, err_t why)
{
	if (r->end != OK)
		return;
	say_end(r, why);
	r->end = why;
	sf_client_end(r->sf, why);
	r->link->ops->finish(r->link);
	if (r->on_turn != NULL)
		r->on_turn(r->arg);
	remote_wake(r);
}

/* ---- the link's call backs --------------------------------------------------------------------
 */
/* LIMITS are the first question, and the server has nothing else to do: a round trip. */
static void time_limits(struct remote *r)
{
	if (r->is_started || sf_client_version(r->sf) == 0)
		return;
	if (sf_client_is_ready(r->sf)) {
		if (r->asked_us != 0)
			remote_rate_sample(r, os_monotonic_us() - r->asked_us);
		r->is_started = true;
	} else if (r->asked_us == 0) {
		r->asked_us = os_monotonic_us();
		remote_push(r);
	}
}

static void on_bytes(void *arg, struct span in)
{
	struct remote *r = arg;
	if (r->end != OK)
		return;
	err_t e = sf_client_fed(r->sf, in);
	if (e != OK)
		remote_lost(r, e);
	else
		time_limits(r);
	remote_wake(r);
}

static void on_room(void *arg)
{
	struct remote *r = arg;
	if (r->end != OK)
		return;
	remote_rate_turn(r, ev_now(r->ev), sf_client_moved(r->sf));
	remote_push(r);
	if (r->on_turn != NULL && r->end == OK) {
		r->on_turn(r->arg);
		remote_push(r);
	}
	remote_wake(r);
}

static void on_end(void *arg, err_t why)
{
	remote_lost(arg, why != OK ? why : E_CLOSED);
}

/* ---- out --------------------------------------------------------------------------------------
 */
static void copy_out(const struct iovec *iov, size_t niov, struct cslice from)
{
	for (size_t i = 0, at = 0; i < niov && at < from.n; i++) {
		size_t n = num_min(iov[i].iov_len, from.n - at);
		memcpy(iov[i].iov_base, from.p + at, n);
		at += n;
	}
}

static err_t push_some(struct remote *r, struct cslice ready)
{
	struct iovec iov[TP_BULK_MAX];
	size_t niov = 0, room = 0;
	TRY(r->link->ops->reserve(r->link, ready.n, iov, &niov));
	for (size_t i = 0; i < niov; i++)
		room += iov[i].iov_len;
	ready.n = num_min(ready.n, room);
	copy_out(iov, niov, ready);
	TRY(r->link->ops->commit(r->link, ready.n));
	sf_client_sent(r->sf, ready.n);
	return OK;
}

void remote_push(struct remote *r)
{
	bool has_sent = false;
	while (r->end == OK && !r->is_held) {
		struct cslice ready = sf_client_ready(r->sf);
		if (ready.n == 0)
			break;
		err_t e = push_some(r, ready);
		if (e == E_AGAIN)
			break;
		if (e != OK) {
			remote_lost(r, e);
			return;
		}
		has_sent = true;
	}
	if (has_sent)
		r->link->ops->kick(r->link);
}

/* ---- waiting ----------------------------------------------------------------------------------
 */
void remote_interrupt(struct remote *r)
{
	r->is_interrupted = true;
	remote_wake(r);
}

err_t remote_run_until(struct remote *r, const bool *done)
{
	const bool *before = r->waits_for;
	err_t e = OK;
	r->waits_for = done;
	remote_push(r);
	while (e == OK && !*done && r->end == OK && !r->is_interrupted)
		e = ev_run(r->ev);
	r->waits_for = before;
	if (e != OK || *done)
		return e;
	if (r->end != OK)
		return r->end;
	r->is_interrupted = false;
	return E_INTERRUPTED;
}

/* ---- life -------------------------------------------------------------------------------------
 */
static uint32_t request_size(uint64_t cap, uint32_t wish)
{
	return (uint32_t)num_max(1, num_min(wish != 0 ? num_min(wish, cap) : cap, SF_DATA_MAX));
}

err_t remote_start(struct remote *r, struct link *link, uint32_t buffer, uint32_t requests)
{
	static const struct sf_client_env env = {NULL};
	*r = (struct remote){.ev = link->ev, .link = link, .requests_max = requests};
	TRY(sf_client_new(&r->sf, &env));
	link->arg = r;
	link->on_bytes = on_bytes;
	link->on_room = on_room;
	link->on_end = on_end;
	remote_rate_sample(r, link->ops->rtt_us(link));
	err_t e = remote_run_until(r, &r->is_started);
	if (e != OK) /* what was measured and said stays: remote_words, remote_done */
		return e;
	struct sf_caps caps = sf_client_caps(r->sf);
	/* A buffer that was wished counts also where the server said nothing, as ever. */
	bool has_limits = sf_client_has(r->sf, SF_EXT_limits);
	r->read_max = request_size(has_limits || buffer == 0 ? caps.read : SF_DATA_MAX, buffer);
	r->write_max = request_size(has_limits || buffer == 0 ? caps.write : SF_DATA_MAX, buffer);
	return OK;
}

void remote_done(struct remote *r)
{
	if (r->sf == NULL)
		return;
	r->on_turn = NULL;
	r->waits_for = NULL;
	r->link->on_bytes = NULL;
	r->link->on_room = NULL;
	r->link->on_end = NULL;
	if (r->end == OK)
		r->link->ops->finish(r->link);
	sf_client_free(r->sf);
	r->sf = NULL;
}
