/* SPDX-License-Identifier: ISC */
/* query - ssh -Q: lists of algorithms, from the tables; ssh -V */
#include <stdio.h>
#include <strings.h>

#include "app/ssh/ssh.h"
#include "build_config.h"
#include "key/cert.h"

static void names_of(enum alg_kind kind, struct buf *out)
{
	alg_names(kind, true, out);
}

static void put_ciphers(struct buf *out)
{
	names_of(ALG_CIPHER, out);
}

static void put_aead(struct buf *out)
{
	for (size_t i = 0; i < alg_ciphers_n; i++)
		if (alg_ciphers[i].flags & AF_AEAD)
			buf_printf(out, "%s\n", alg_ciphers[i].name);
}

static void put_macs(struct buf *out)
{
	names_of(ALG_MAC, out);
}

static void put_kexes(struct buf *out)
{
	names_of(ALG_KEX, out);
}

static void put_compressions(struct buf *out)
{
	names_of(ALG_COMPRESSION, out);
}

static void put_signatures(struct buf *out)
{
	names_of(ALG_HOSTKEY, out);
}

static void put_plain_signatures(struct buf *out)
{
	names_of(ALG_SIGNATURE, out);
}

static void put_key_types(struct buf *out)
{
	for (int t = 0; t < KEY_TYPE_N; t++)
		buf_printf(out, "%s\n%s\n", key_type_name((enum key_type)t),
			key_type_cert_name((enum key_type)t));
}

static void put_plain_types(struct buf *out)
{
	for (int t = 0; t < KEY_TYPE_N; t++)
		buf_printf(out, "%s\n", key_type_name((enum key_type)t));
}

static void put_cert_types(struct buf *out)
{
	for (int t = 0; t < KEY_TYPE_N; t++)
		buf_printf(out, "%s\n", key_type_cert_name((enum key_type)t));
}

static void put_protocol(struct buf *out)
{
	buf_printf(out, "2\n");
}

static void put_help(struct buf *out);

/* clang-format off */
static const struct { const char *term; void (*put)(struct buf *out); bool is_listed; } terms[] = {
	{"help",             put_help,         false},
	{"cipher",           put_ciphers,      true},
	{"cipher-auth",      put_aead,         true},
	{"compression",      put_compressions, true},
	{"kex",              put_kexes,        true},
	{"key",              put_key_types,    true},
	{"key-cert",         put_cert_types,   true},
	{"key-plain",        put_plain_types,  true},
	{"key-sig",          put_signatures,   true},
	{"mac",              put_macs,         true},
	{"protocol-version", put_protocol,     true},
	{"sig",              put_plain_signatures, true},
	{"key-ca-sign",      put_plain_signatures, false},
	{"Ciphers",          put_ciphers,      false},
	{"MACs",             put_macs,         false},
	{"KexAlgorithms",    put_kexes,        false},
	{"HostKeyAlgorithms", put_signatures,  false},
	{"PubkeyAcceptedAlgorithms", put_signatures, false},
	{"PubkeyAcceptedKeyTypes", put_signatures, false},
	{"HostbasedAcceptedAlgorithms", put_signatures, false},
	{"HostbasedAcceptedKeyTypes", put_signatures, false},
	{"HostbasedKeyTypes", put_signatures,  false},
	{"CASignatureAlgorithms", put_signatures, false},
};
/* clang-format on */

static void put_help(struct buf *out)
{
	for (size_t i = 0; i < ARRAY_N(terms); i++)
		if (terms[i].is_listed)
			buf_printf(out, "%s\n", terms[i].term);
}

int query_print(const char *term)
{
	for (size_t i = 0; i < ARRAY_N(terms); i++) {
		if (strcasecmp(term, terms[i].term) != 0)
			continue;
		struct buf out;
		buf_init(&out, 65536);
		terms[i].put(&out);
		bool is_fine = buf_err(&out) == OK && fwrite(out.p, 1, out.n, stdout) == out.n &&
			       fflush(stdout) == 0;
		buf_done(&out);
		return is_fine ? 0 : SSH_EXIT_ERROR;
	}
	fprintf(stderr, "Unsupported query \"%s\"\r\n", term);
	return SSH_EXIT_ERROR;
}

void version_print(void)
{
	fprintf(stderr, "%s, %s\n", BOWLINE_RELEASE, crypto_version());
}
