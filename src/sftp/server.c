/* SPDX-License-Identifier: ISC */
/*
 * server - frames in, a function for each request, and when to stop
 *
 * Nothing that came in is ever moved: a read may go past SF_IN_BATCH bytes only to the end of the
 * request that is under way there, so the buffer empties at that end and starts anew.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "sftp/server_int.h"

void sf_say(const struct sf_server *s, enum log_level level, const char *fmt, ...)
{
	char text[2 * SF_PATH_MAX + 256];
	va_list ap;
	if (s->env.say == NULL || level > s->env.level)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	s->env.say(s->env.say_arg, level, text);
}

const char *sf_path(struct sf_server *s, size_t which, struct cslice path)
{
	assert(path.n < SF_PATH_MAX);
	if (path.n > 0)
		memcpy(s->path[which], path.p, path.n);
	s->path[which][path.n] = '\0';
	return s->path[which];
}

struct sf_held *sf_find(
	struct sf_server *s, uint32_t id, struct cslice wire, enum sf_kind kind, enum sf_code code)
{
	struct sf_held *h = sf_handles_find(&s->handles, wire, kind);
	if (h == NULL)
		sf_reply_status(s, id, code);
	return h;
}

/* ---- one request ------------------------------------------------------------------------------
 */

bool sf_is_permitted(struct sf_server *s, enum sf_req r)
{
	static const char *const why[] = {
		[SF_DENY] = "Refusing %s request",
		[SF_DENY_READ_ONLY] = "Refusing %s request in read-only mode",
		[SF_DENY_LISTED] = "Refusing denylisted %s request",
		[SF_DENY_UNLISTED] = "Refusing non-allowlisted %s request",
	};
	enum sf_verdict v = sf_policy_verdict(&s->env.policy, r);
	if (v == SF_ALLOW)
		return true;
	char text[128];
	(void)snprintf(text, sizeof(text), why[v], sf_req_name(r));
	sf_say(s, LOG_L_VERBOSE, "%s", text);
	return false;
}

/* A path that no file can have never comes near the file system. */
#define FITS_u32(f)
#define FITS_u64(f)
#define FITS_str(f)
#define FITS_attrs(f)
#define FITS_text(f)     fits = fits && m.f.n < SF_PATH_MAX;
#define FITS(kind, name) FITS_##kind(name)

#define SERVE(name)                                                                                \
	static void serve_##name(struct sf_server *s, uint32_t id, struct cslice body)             \
	{                                                                                          \
		struct sf_##name m;                                                                \
		bool fits = true;                                                                  \
		if (!sf_is_permitted(s, SF_REQ_##name)) {                                          \
			sf_reply_status(s, id, SF_permission_denied);                              \
			return;                                                                    \
		}                                                                                  \
		if (sf_get_##name(body, &m) != OK) {                                               \
			sf_say(s, LOG_L_ERROR, "malformed %s request",                             \
				sf_req_name(SF_REQ_##name));                                       \
			sf_reply_status(s, id, SF_bad_message);                                    \
			return;                                                                    \
		}                                                                                  \
		FIELDS_##name(FITS) if (!fits) sf_reply_status(s, id, SF_bad_message);             \
		else sf_on_##name(s, id, &m);                                                      \
	}
#define Q(name, no, changes)                  SERVE(name)
#define X(name, policy, wire, value, changes) SERVE(name)
#include "sftp/sftp.def"

typedef void serve_fn(struct sf_server *s, uint32_t id, struct cslice body);

static serve_fn *const requests[256] = {
#define Q(name, no, changes) [no] = serve_##name,
#include "sftp/sftp.def"
};

static serve_fn *const extended[SF_EXT_N] = {
#define X(name, policy, wire, value, changes) [SF_EXT_##name] = serve_##name,
#include "sftp/sftp.def"
};

static void on_init(struct sf_server *s, const struct sf_init *m)
{
	sf_say(s, LOG_L_VERBOSE, "received client version %u", (unsigned)m->version);
	s->has_init = true;
	struct wr w = sf_reply_begin(s, SF_MSG_version);
	wr_u32(&w, SF_VERSION);
	for (size_t i = 0; i < SF_EXT_N; i++) {
		static const enum sf_req req_of[SF_EXT_N] = {
#define X(name, policy, wire, value, changes) [SF_EXT_##name] = SF_REQ_##name,
#include "sftp/sftp.def"
		};
		struct sf_pair pair = {cslice_str(sf_ext_wire((enum sf_ext)i)),
			cslice_str(sf_ext_value((enum sf_ext)i)), 0};
		if (sf_policy_verdict(&s->env.policy, req_of[i]) == SF_ALLOW)
			sf_put_pair(&w, &pair);
	}
	sf_reply_end(s, &w);
}

static void on_extended(struct sf_server *s, uint32_t id, struct cslice body)
{
	struct sf_extended m;
	enum sf_ext x;
	if (sf_get_extended(body, &m) != OK) {
		sf_reply_status(s, id, SF_bad_message);
	} else if (sf_ext_find(m.request, &x) != OK) {
		sf_say(s, LOG_L_ERROR, "Unknown extended request \"%.*s\"",
			(int)num_min(m.request.n, 200), (const char *)m.request.p);
		sf_reply_status(s, id, SF_op_unsupported);
	} else {
		extended[x](s, id, m.body);
	}
}

/* frame: at least one byte. */
err_t sf_serve_frame(struct sf_server *s, struct cslice frame)
{
	uint8_t no = frame.p[0];
	struct cslice body = {frame.p + 1, frame.n - 1};
	struct sf_init init;
	if (no == SF_MSG_init) {
		TRY(sf_get_init(body, &init));
		on_init(s, &init);
		return OK;
	}
	if (!s->has_init)
		return E_UNEXPECTED;
	struct rd r = rd_of(body);
	uint32_t id = rd_u32(&r);
	if (r.bad)
		return E_FORMAT;
	if (no == SF_MSG_extended) {
		on_extended(s, id, body);
	} else if (requests[no] != NULL) {
		requests[no](s, id, body);
	} else {
		sf_say(s, LOG_L_ERROR, "Unknown message %u", (unsigned)no);
		sf_reply_status(s, id, SF_op_unsupported);
	}
	return s->err;
}

/* ---- bytes in and out -------------------------------------------------------------------------
 */

/* The end of the first frame as far as it is known: its own, or that of its length. */
static err_t frame_end(const struct sf_server *s, size_t *end)
{
	if (s->in_n - s->in_at < 4) {
		*end = s->in_at + 4;
		return OK;
	}
	uint32_t n = be32_get(s->in + s->in_at);
	if (n == 0 || n > SF_FRAME_MAX)
		return E_LENGTH;
	*end = s->in_at + 4 + n;
	return OK;
}

struct slice sf_server_space(struct sf_server *s)
{
	size_t end;
	if (s->in_at == s->in_n)
		s->in_at = s->in_n = 0;
	if (s->err != OK || frame_end(s, &end) != OK)
		return (struct slice){s->in, 0};
	end = num_max(end, SF_IN_BATCH);
	return (struct slice){s->in + s->in_n, end > s->in_n ? end - s->in_n : 0};
}

void sf_server_fed(struct sf_server *s, size_t n)
{
	assert(n <= SF_IN_CAP - s->in_n);
	s->in_n += n;
}

void sf_server_rewind(struct sf_server *s)
{
	if (s->out_at == s->out_n)
		s->out_at = s->out_n = 0;
}

static bool has_room(struct sf_server *s)
{
	sf_server_rewind(s);
	return SF_OUT_CAP - s->out_n >= SF_REPLY_ROOM;
}

err_t sf_server_run(struct sf_server *s)
{
	if (s->err == OK && s->copy.is_active && has_room(s))
		sf_copy_step(s);
	while (s->err == OK && !s->copy.is_active && has_room(s)) {
		size_t end;
		s->err = frame_end(s, &end);
		if (s->err != OK || end > s->in_n)
			break;
		struct cslice frame = {s->in + s->in_at + 4, end - s->in_at - 4};
		s->in_at = end;
		s->err = sf_serve_frame(s, frame);
	}
	return s->err;
}

bool sf_server_is_busy(const struct sf_server *s)
{
	return s->err == OK && s->copy.is_active;
}

struct cslice sf_server_ready(const struct sf_server *s)
{
	return cslice_of(s->out + s->out_at, s->out_n - s->out_at);
}

void sf_server_sent(struct sf_server *s, size_t n)
{
	assert(n <= s->out_n - s->out_at);
	s->out_at += n;
}

/* ---- life -------------------------------------------------------------------------------------
 */

err_t sf_server_new(struct sf_server **out, const struct sf_server_env *env)
{
	struct sf_server *s = calloc(1, sizeof(*s));
	if (s == NULL)
		return E_MEM;
	s->env = *env;
	s->in = malloc(SF_IN_CAP);
	s->out = malloc(SF_OUT_CAP);
	sf_handles_init(&s->handles, env->handles_max);
	if (s->in == NULL || s->out == NULL) {
		sf_server_free(s);
		return E_MEM;
	}
	*out = s;
	return OK;
}

void sf_server_free(struct sf_server *s)
{
	if (s == NULL)
		return;
	for (uint32_t i = 0; i < s->handles.n; i++) {
		struct sf_held *h = &s->handles.v[i];
		if (h->kind != SF_H_FREE)
			(void)sf_close(s, h, "forced ");
	}
	sf_handles_done(&s->handles);
	free(s->out);
	free(s->in);
	free(s);
}
