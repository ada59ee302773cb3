/* SPDX-License-Identifier: ISC */
/*
 * exchange - may a host key sign this key exchange?  (exchange.h)
 *
 * A user who is logged in can have exchanges signed that he makes up.  What he wants is a signature
 * under an exchange with somebody else's client, to stand in for this host.  The hash of a later
 * exchange names no session, but a client's first KEXINIT can be told from its later ones: it holds
 * the pseudo names by which it offers extensions.
 */
#include "app/sshd/exchange.h"
#include "base/log.h"
#include "wire/ssh.h"
#include "transport/peer.h"

struct parts {
	struct cslice client_version, server_version, hostkey, values;
	struct ssh_kexinit client, server;
};

/* ---- form ---- */

static struct cslice rd_version(struct rd *r)
{
	struct cslice v = rd_str(r);
	if (v.n < 4 || v.n > EXCHANGE_VERSION_MAX || memcmp(v.p, "SSH-", 4) != 0 ||
		memchr(v.p, 0, v.n) != NULL || memchr(v.p, '\r', v.n) != NULL ||
		memchr(v.p, '\n', v.n) != NULL)
		r->bad = true;
	return v;
}

static void rd_kexinit(struct rd *r, struct ssh_kexinit *out)
{
	struct rd payload = rd_of(rd_str(r));
	if (payload.n > EXCHANGE_KEXINIT_MAX || rd_u8(&payload) != SSH_MSG_kexinit ||
		ssh_get_kexinit(rd_rest(&payload), out) != OK)
		r->bad = true;
}

static err_t split(struct cslice transcript, struct parts *out)
{
	struct rd r = rd_of(transcript);
	out->client_version = rd_version(&r);
	out->server_version = rd_version(&r);
	rd_kexinit(&r, &out->client);
	rd_kexinit(&r, &out->server);
	out->hostkey = rd_str(&r);
	out->values = rd_rest(&r);
	return rd_end(&r);
}

static err_t mpints(struct rd *r, size_t n)
{
	for (size_t i = 0; i < n; i++)
		(void)rd_mpint(r);
	return rd_end(r);
}

/* RFC4419 3, 5: [min] n [max] p g e f K; the old request has n alone. */
static err_t gex_values(struct cslice values)
{
	struct rd r = rd_of(values), old = r;
	(void)rd_take(&r, 3 * sizeof(uint32_t));
	(void)rd_take(&old, sizeof(uint32_t));
	err_t e = mpints(&r, 5);
	return mpints(&old, 5) == OK ? OK : e;
}

/* What stands behind K_S: the two public values and K, which each family encodes in its way. */
static err_t check_values(const struct alg_kex *kex, struct cslice values)
{
	struct rd r = rd_of(values);
	switch (kex->family) {
	case KEX_DH:
		return mpints(&r, 3);
	case KEX_DHGEX:
		return gex_values(values);
	case KEX_ECDH:
	case KEX_X25519:
		(void)rd_str(&r);
		(void)rd_str(&r);
		return mpints(&r, 1);
	case KEX_MLKEM_X25519:
	case KEX_MLKEM_P256:
	case KEX_SNTRUP_X25519:
		(void)rd_str(&r);
		(void)rd_str(&r);
		if (rd_str(&r).n != hash_size(kex->hash))
			r.bad = true;
		return rd_end(&r);
	default:
		return E_BUG;
	}
}

/* ---- content ---- */

/* RFC4253 7.1: the first name of the client's list that the server has too. */
static bool agreed(struct cslice client, struct cslice server, struct cslice *out)
{
	struct cslice name;
	while (list_next(&client, &name)) {
		if (list_has(server, name)) {
			*out = name;
			return true;
		}
	}
	return false;
}

/* Is the client of a kind whose first KEXINIT has the pseudo name and whose later ones never do?
 * All that call themselves OpenSSH have kept to it since it exists, in 7.2. */
static bool tells_first(struct cslice version)
{
	return peer_is(version, "OpenSSH_*");
}

static bool is_first_of_somebody(const struct parts *p)
{
	static const char strict[] = "kex-strict-s-v00@openssh.com";
	if (list_has(p->server.kex, cslice_str("ext-info-s")) ||
		list_has(p->server.kex, cslice_str(strict)))
		return true;
	return tells_first(p->client_version) && list_has(p->client.kex, cslice_str("ext-info-c"));
}

static const char *fault(const struct parts *p, const struct exchange_rule *rule)
{
	struct cslice alg;
	bool is_first = rule->client_version.n == 0;
	if (!is_first && !cslice_eq(p->client_version, rule->client_version))
		return "another client version";
	if (!cslice_eq(p->server_version, rule->server_version))
		return "another server version";
	if (!cslice_eq(p->hostkey, rule->hostkey))
		return "another host key";
	if (!agreed(p->client.hostkey, p->server.hostkey, &alg) ||
		!cslice_eq(alg, rule->hostkey_alg))
		return "another host key algorithm";
	if (!is_first && is_first_of_somebody(p))
		return "the first exchange of another connection";
	return NULL;
}

err_t exchange_check(
	struct cslice transcript, const struct exchange_rule *rule, struct exchange *out)
{
	struct parts p;
	struct cslice name = {NULL, 0};
	if (transcript.n > EXCHANGE_MAX)
		return E_LENGTH;
	TRY(split(transcript, &p));
	const char *why = fault(&p, rule);
	const struct alg_kex *kex = NULL;
	if (agreed(p.client.kex, p.server.kex, &name) && list_has(rule->kex_algs, name))
		kex = alg_kex_find(name);
	if (why == NULL && kex == NULL)
		why = "a method that is not offered";
	if (why != NULL) {
		log_put(LOG_L_ERROR, "exchange not signed: it has %s", why);
		return E_DENIED;
	}
	TRY(check_values(kex, p.values));
	struct exchange x = {.client_version = p.client_version, .hash_n = hash_size(kex->hash)};
	TRY(hash_once(kex->hash, transcript, x.hash));
	*out = x;
	return OK;
}
