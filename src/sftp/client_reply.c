/* SPDX-License-Identifier: ISC */
/*
 * client_reply - what the server says, matched to what was asked
 *
 * Nothing is believed that was not asked for: a number that is not under way, or a kind of answer
 * that its request cannot have, ends the connection.
 */
#include "sftp/client_int.h"

/* clang-format off */
static const uint8_t reply_is[256] = { /* which wish a kind of reply fulfils */
	[SF_MSG_handle]         = SF_WANTS_HANDLE,
	[SF_MSG_data]           = SF_WANTS_DATA,
	[SF_MSG_name]           = SF_WANTS_NAME,
	[SF_MSG_attrs]          = SF_WANTS_ATTRS,
	[SF_MSG_extended_reply] = SF_WANTS_EXTENDED,
};
/* clang-format on */

static void tell(struct sf_client *c, struct sf_ask *a, const struct sf_reply *r)
{
	if (a->expects == SF_WANTS_STATUS && r->code == SF_ok)
		c->moved += a->want; /* of a WRITE, else 0 */
	sf_pending_remove(&c->pending, a);
	a->on(a, r);
}

/* ---- VERSION and LIMITS -----------------------------------------------------------------------
 */
/* What the server calls 0 it does not limit: then what every server takes. */
static uint64_t data_cap(uint64_t said, uint64_t packet)
{
	uint64_t n = said == 0 ? SF_DATA_SAFE : num_min(said, SF_DATA_MAX);
	uint64_t room = packet > 1024 ? packet - 1024 : 1;
	return packet == 0 || n <= room ? n : room;
}

static void on_limits(struct sf_ask *a, const struct sf_reply *r)
{
	struct sf_client *c = a->arg;
	struct sf_limit_values v;
	if (r->err != OK)
		return;
	c->is_ready = true;
	if (r->type != SF_MSG_extended_reply || sf_get_limit_values(r->body, &v) != OK)
		return;
	c->caps = (struct sf_caps){.packet = v.packet == 0 ? c->caps.packet : v.packet,
		.read = data_cap(v.read, v.packet),
		.write = data_cap(v.write, v.packet),
		.handles = v.handles};
}

static err_t on_version(struct sf_client *c, struct cslice body)
{
	struct sf_version m;
	struct sf_pair pair;
	enum sf_ext x;
	TRY(sf_get_version(body, &m));
	if (m.version > SF_VERSION) /* section 4: the lower one of both */
		return E_VERSION;
	while (m.extensions.n > 0) {
		TRY(sf_next_pair(&m.extensions, &pair));
		if (sf_ext_find(pair.name, &x) == OK && cslice_eq_str(pair.value, sf_ext_value(x)))
			c->exts |= 1u << x;
	}
	c->has_version = true;
	c->first_n = 0;
	c->version = m.version;
	c->limits = (struct sf_ask){.on = on_limits, .arg = c};
	if (sf_client_has(c, SF_EXT_limits))
		return sf_client_ask_limits(c);
	c->is_ready = true;
	return OK;
}

/* ---- replies ----------------------------------------------------------------------------------
 */
static err_t take_status(const struct sf_ask *a, struct cslice body, struct sf_reply *r)
{
	/* Text and language were added by version 3; not every server sends them. */
	struct rd in = rd_of(body);
	(void)rd_u32(&in);
	r->code = rd_u32(&in);
	if (in.bad)
		return E_FORMAT;
	if (in.n > 0)
		r->message = rd_str(&in);
	if (in.bad)
		return E_FORMAT;
	if (r->code == SF_ok && a->expects != SF_WANTS_STATUS)
		r->code = SF_failure;
	return OK;
}

static err_t take_body(const struct sf_ask *a, struct cslice body, struct sf_reply *r)
{
	struct sf_handle handle;
	struct sf_attrs attrs;
	struct sf_extended_reply extended;
	switch (r->type) {
	case SF_MSG_status:
		return take_status(a, body, r);
	case SF_MSG_handle:
		TRY(sf_get_handle(body, &handle));
		r->handle = handle.handle;
		return handle.handle.n <= SF_HANDLE_MAX ? OK : E_FORMAT;
	case SF_MSG_name:
		return sf_get_name(body, &r->name);
	case SF_MSG_attrs:
		TRY(sf_get_attrs(body, &attrs));
		r->attr = attrs.a;
		return OK;
	case SF_MSG_extended_reply:
		TRY(sf_get_extended_reply(body, &extended));
		r->body = extended.body;
		return OK;
	default:
		return E_UNEXPECTED;
	}
}

static err_t find(struct sf_client *c, uint8_t no, uint32_t id, struct sf_ask **out)
{
	struct sf_ask *a = sf_pending_find(&c->pending, id);
	if (a == NULL)
		return E_UNEXPECTED;
	if (no != SF_MSG_status && (reply_is[no] == 0 || reply_is[no] != a->expects))
		return E_UNEXPECTED;
	*out = a;
	return OK;
}

err_t sf_client_frame(struct sf_client *c, struct cslice frame)
{
	struct cslice body = {frame.p + 1, frame.n - 1};
	struct sf_ask *a;
	if (!c->has_version)
		return frame.p[0] == SF_MSG_version ? on_version(c, body) : E_UNEXPECTED;
	struct rd in = rd_of(body);
	uint32_t id = rd_u32(&in);
	if (in.bad)
		return E_FORMAT;
	TRY(find(c, frame.p[0], id, &a));
	struct sf_reply r = {.type = (enum sf_msg)frame.p[0]};
	TRY(take_body(a, body, &r));
	tell(c, a, &r);
	return c->err;
}

/* ---- DATA -------------------------------------------------------------------------------------
 */
err_t sf_client_data_begin(struct sf_client *c, const uint8_t head[SF_DATA_HEAD], size_t frame_n)
{
	struct sf_ask *a;
	uint32_t n = be32_get(head + 5);
	TRY(find(c, SF_MSG_data, be32_get(head + 1), &a));
	if (n > frame_n - SF_DATA_HEAD)
		return E_FORMAT;
	if (n > a->want)
		return E_LENGTH;
	c->data = a;
	c->data_left = n;
	return OK;
}

void sf_client_data_end(struct sf_client *c)
{
	struct sf_ask *a = c->data;
	c->data = NULL;
	if (a == NULL) /* ended meanwhile */
		return;
	struct sf_reply r = {.type = SF_MSG_data, .data_n = a->got};
	if (a->got == 0)
		r = (struct sf_reply){.type = SF_MSG_status, .code = SF_eof};
	tell(c, a, &r);
}
