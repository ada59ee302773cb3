/* SPDX-License-Identifier: ISC */
/* codec - readers and writers of the SFTP messages, generated from the rows */
#include "sftp/sftp.h"
#include "wire/fields.h"

#define GET_attrs(f)  out_.f = sf_rd_attr(&r);
#define SIZE_attrs(f) n += sf_attr_size(&in->f);
#define PUT_attrs(f)  sf_wr_attr(w, &in->f);

struct sf_attr sf_rd_attr(struct rd *r)
{
	struct sf_attr a = {.flags = rd_u32(r)};
	if ((a.flags & SF_A_SIZE) != 0)
		a.size = rd_u64(r);
	if ((a.flags & SF_A_OWNER) != 0) {
		a.uid = rd_u32(r);
		a.gid = rd_u32(r);
	}
	if ((a.flags & SF_A_MODE) != 0)
		a.mode = rd_u32(r);
	if ((a.flags & SF_A_TIMES) != 0) {
		a.atime = rd_u32(r);
		a.mtime = rd_u32(r);
	}
	if ((a.flags & SF_A_EXTENDED) != 0) {
		a.extended_n = rd_u32(r);
		struct rd pairs = *r;
		for (uint32_t i = 0; i < a.extended_n && !r->bad; i++) {
			(void)rd_str(r);
			(void)rd_str(r);
		}
		if (!r->bad)
			a.extended = cslice_of(pairs.p, pairs.n - r->n);
	}
	if (r->bad)
		memset(&a, 0, sizeof(a));
	return a;
}

void sf_wr_attr(struct wr *w, const struct sf_attr *a)
{
	wr_u32(w, a->flags);
	if ((a->flags & SF_A_SIZE) != 0)
		wr_u64(w, a->size);
	if ((a->flags & SF_A_OWNER) != 0) {
		wr_u32(w, a->uid);
		wr_u32(w, a->gid);
	}
	if ((a->flags & SF_A_MODE) != 0)
		wr_u32(w, a->mode);
	if ((a->flags & SF_A_TIMES) != 0) {
		wr_u32(w, a->atime);
		wr_u32(w, a->mtime);
	}
	if ((a->flags & SF_A_EXTENDED) != 0) {
		wr_u32(w, a->extended_n);
		wr_raw(w, a->extended);
	}
}

size_t sf_attr_size(const struct sf_attr *a)
{
	size_t n = 4;
	n += (a->flags & SF_A_SIZE) != 0 ? 8 : 0;
	n += (a->flags & SF_A_OWNER) != 0 ? 8 : 0;
	n += (a->flags & SF_A_MODE) != 0 ? 4 : 0;
	n += (a->flags & SF_A_TIMES) != 0 ? 8 : 0;
	n += (a->flags & SF_A_EXTENDED) != 0 ? 4 + a->extended.n : 0;
	return n;
}

/* The next one of several in a row. */
#define TAKE(name)                                                                                 \
	static err_t take_##name(struct cslice *rest, struct sf_##name *out)                       \
	{                                                                                          \
		struct rd r = rd_of(*rest);                                                        \
		struct sf_##name out_ = {0};                                                       \
		FIELDS_##name(GET) if (r.bad) return E_FORMAT;                                     \
		*out = out_;                                                                       \
		*rest = cslice_of(r.p, r.n);                                                       \
		return OK;                                                                         \
	}

#define DEFINE(name)                                                                               \
	TAKE(name)                                                                                 \
	err_t sf_get_##name(struct cslice body, struct sf_##name *out)                             \
	{                                                                                          \
		return take_##name(&body, out);                                                    \
	}                                                                                          \
	size_t sf_size_##name(const struct sf_##name *in)                                          \
	{                                                                                          \
		size_t n = 0;                                                                      \
		(void)in;                                                                          \
		FIELDS_##name(SIZE) return n;                                                      \
	}                                                                                          \
	void sf_put_##name(struct wr *w, const struct sf_##name *in)                               \
	{                                                                                          \
		(void)w;                                                                           \
		(void)in;                                                                          \
		FIELDS_##name(PUT)                                                                 \
	}

#define Q(name, no, changes)                  DEFINE(name)
#define R(name, no)                           DEFINE(name)
#define X(name, policy, wire, value, changes) DEFINE(name)
#include "sftp/sftp.def"
SF_BODIES(DEFINE)

err_t sf_next_entry(struct cslice *rest, struct sf_entry *out)
{
	return take_entry(rest, out);
}

err_t sf_next_pair(struct cslice *rest, struct sf_pair *out)
{
	return take_pair(rest, out);
}

static const struct {
	const char *wire, *value;
} exts[SF_EXT_N] = {
#define X(name, policy, wire, value, changes) [SF_EXT_##name] = {wire, value},
#include "sftp/sftp.def"
};

const char *sf_ext_wire(enum sf_ext x)
{
	return exts[x].wire;
}

const char *sf_ext_value(enum sf_ext x)
{
	return exts[x].value;
}

err_t sf_ext_find(struct cslice wire, enum sf_ext *out)
{
	for (size_t i = 0; i < SF_EXT_N; i++) {
		if (cslice_eq_str(wire, exts[i].wire)) {
			*out = (enum sf_ext)i;
			return OK;
		}
	}
	return E_NAME;
}

const char *sf_status_text(uint32_t code)
{
	static const char *const texts[] = {
#define S(name, code, text) [code] = text,
#include "sftp/sftp.def"
	};
	return code < ARRAY_N(texts) && texts[code] != NULL ? texts[code] : "Unknown status";
}
