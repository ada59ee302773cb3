/* SPDX-License-Identifier: ISC */
/*
 * ext_info - what the peers tell each other right after the first NEWKEYS (RFC 8308, compat 7.1)
 *
 * The peer's items are kept as it sent them; a client may hear twice (once more during
 * authentication), later items of one name win, but only the first message may name the extensions
 * that change the protocol.
 */
#include "base/log.h"
#include "transport/tp_int.h"

#define ITEMS_MAX 65536u

static err_t put_own(struct tp *tp, struct buf *b)
{
	if (!tp->is_server) {
		buf_put_u32(b, 1);
		buf_put_cstring(b, "ext-info-in-auth@openssh.com");
		buf_put_cstring(b, "0");
		return buf_err(b);
	}
	buf_put_u32(b, 3);
	buf_put_cstring(b, "server-sig-algs");
	struct buf algs;
	buf_init(&algs, ITEMS_MAX);
	if (tp->env->sig_algs != NULL)
		alg_plain_names(tp->env->sig_algs, &algs);
	else
		alg_default(ALG_SIGNATURE, true, &algs);
	err_t e = buf_err(&algs);
	buf_put_string(b, buf_bytes(&algs));
	buf_done(&algs);
	TRY(e);
	static const char *const names[] = {"publickey-hostbound@openssh.com", "ping@openssh.com"};
	for (size_t i = 0; i < ARRAY_N(names); i++) {
		buf_put_cstring(b, names[i]);
		buf_put_cstring(b, "0");
	}
	return buf_err(b);
}

err_t tp_ext_info_send(struct tp *tp)
{
	struct buf b;
	buf_init(&b, ITEMS_MAX);
	err_t e = put_own(tp, &b);
	if (e == OK)
		e = tp_out_msg(tp, SSH_MSG_ext_info, buf_bytes(&b));
	buf_done(&b);
	return e;
}

static bool changes_protocol(struct cslice name)
{
	return cslice_eq_str(name, "publickey-hostbound@openssh.com") ||
	       cslice_eq_str(name, "ping@openssh.com") || cslice_eq_str(name, "agent-forward");
}

err_t tp_ext_info_got(struct tp *tp, struct cslice body)
{
	if (tp->ext_infos >= (tp->is_server ? 1u : 2u))
		return E_UNEXPECTED;
	struct ssh_ext_info m;
	TRY(ssh_get_ext_info(body, &m));
	if (m.count >= TP_EXT_MAX)
		return E_FORMAT;
	struct rd r = rd_of(m.items);
	for (uint32_t i = 0; i < m.count && !r.bad; i++) {
		struct cslice name = rd_text(&r);
		struct cslice value = rd_text(&r);
		if (r.bad || (tp->ext_infos > 0 && changes_protocol(name)))
			continue;
		log_debug1("kex_ext_info: %.*s (%.*s)", (int)name.n, (const char *)name.p,
			(int)value.n, (const char *)value.p);
		buf_put_string(&tp->ext, name);
		buf_put_string(&tp->ext, value);
	}
	TRY(rd_end(&r));
	TRY(buf_err(&tp->ext));
	tp->ext_infos++;
	tp_event_add(tp, &(struct tp_event){.type = TP_EV_EXT_INFO});
	return OK;
}

bool tp_peer_ext(const struct tp *tp, const char *name, struct cslice *value)
{
	struct rd r = rd_of(buf_bytes(&tp->ext));
	bool found = false;
	while (r.n > 0 && !r.bad) {
		struct cslice n = rd_str(&r);
		struct cslice v = rd_str(&r);
		if (!r.bad && cslice_eq_str(n, name)) {
			*value = v;
			found = true;
		}
	}
	return found;
}

struct cslice tp_peer_sig_algs(const struct tp *tp)
{
	struct cslice value = {NULL, 0};
	(void)tp_peer_ext(tp, "server-sig-algs", &value);
	return value;
}
