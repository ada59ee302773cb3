/* SPDX-License-Identifier: ISC */
/* sshfp - DNS records of public keys (RFC 4255): -r, -g in the form of unknown record types (RFC
 * 3597) */
#include <stdio.h>
#include <stdlib.h>

#include "app/ssh-keygen/kg.h"

#define RECORD_TYPE 44

/* RFC4255 3.1, RFC6594, RFC7479 */
static const uint8_t algorithm_numbers[KEY_TYPE_N] = {[KEY_RSA] = 1,
	[KEY_ECDSA_P256] = 3,
	[KEY_ECDSA_P384] = 3,
	[KEY_ECDSA_P521] = 3,
	[KEY_ED25519] = 4};

static const struct {
	enum hash_id hash;
	uint8_t number;
} hashes[] = {{HASH_SHA1, 1}, {HASH_SHA256, 2}};

/* -O hashalg=: only this one; HASH_N: all. */
static int wanted_hash(const struct kg_options *o, enum hash_id *out)
{
	static const char name[] = "hashalg=";
	*out = HASH_N;
	for (size_t i = 0; i < o->options_n; i++) {
		if (strncmp(o->options[i], name, sizeof(name) - 1) != 0)
			return kg_say(KG_FATAL, "Unsupported option %s", o->options[i]);
		const char *value = o->options[i] + sizeof(name) - 1;
		enum hash_id found = HASH_N;
		for (size_t h = 0; h < ARRAY_N(hashes); h++)
			if (ascii_eq_nocase(cslice_str(value), hash_name(hashes[h].hash)))
				found = hashes[h].hash;
		if (found == HASH_N)
			return kg_say(KG_FATAL, "Unsupported hash algorithm \"%s\"", value);
		*out = found;
	}
	return KG_OK;
}

static err_t put_records(
	const struct kg_options *o, const struct key *k, enum hash_id only, struct buf *out)
{
	struct buf blob;
	uint8_t digest[HASH_MAX], algorithm = algorithm_numbers[key_type_of(k)];
	if (algorithm == 0)
		return E_UNSUPPORTED;
	buf_init(&blob, KEYFILE_MAX);
	err_t e = key_blob(k, &blob);
	for (size_t i = 0; e == OK && i < ARRAY_N(hashes); i++) {
		size_t n = hash_size(hashes[i].hash);
		if (only != HASH_N && only != hashes[i].hash)
			continue;
		e = hash_once(hashes[i].hash, buf_bytes(&blob), digest);
		if (o->generic)
			buf_printf(out, "%s IN TYPE%d \\# %zu %02x %02x ", o->sshfp_host,
				RECORD_TYPE, n + 2, algorithm, hashes[i].number);
		else
			buf_printf(out, "%s IN SSHFP %d %d ", o->sshfp_host, algorithm,
				hashes[i].number);
		for (size_t at = 0; at < n; at++)
			buf_printf(out, "%02x", digest[at]);
		buf_put_u8(out, '\n');
	}
	buf_done(&blob);
	return e == OK ? buf_err(out) : e;
}

static int print_records(const struct kg_options *o, const char *path, bool must_exist)
{
	enum hash_id only;
	struct key *k = NULL;
	struct buf out;
	if (wanted_hash(o, &only) != KG_OK)
		return KG_FATAL;
	err_t e = keyfile_load_public(&k, path, NULL);
	if (e == E_NOT_FOUND && !must_exist)
		return KG_OK;
	buf_init(&out, KEYFILE_MAX);
	if (e == OK)
		e = put_records(o, k, only, &out);
	int state = KG_OK;
	if (e == OK)
		(void)fwrite(out.p, 1, out.n, stdout);
	else if (e == E_UNSUPPORTED)
		state = kg_say(KG_FATAL, "%s: no SSHFP number is assigned to keys of type %s.",
			path, key_type_shown(key_type_of(k)));
	else
		state = kg_say(KG_FATAL, "Failed to read v2 public key from \"%s\": %s.", path,
			keyfile_reason(e));
	buf_done(&out);
	key_free(k);
	return state;
}

int kg_print_sshfp(struct kg_options *o)
{
	static const char *const host_keys[] = {"/etc/ssh/ssh_host_rsa_key.pub",
		"/etc/ssh/ssh_host_ecdsa_key.pub", "/etc/ssh/ssh_host_ed25519_key.pub"};
	if (o->file != NULL)
		return print_records(o, o->file, true);
	int state = KG_OK;
	for (size_t i = 0; i < ARRAY_N(host_keys) && state == KG_OK; i++)
		state = print_records(o, host_keys[i], false);
	return state;
}
