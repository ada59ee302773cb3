/* SPDX-License-Identifier: ISC */
/*
 * Key exchanges recorded from OpenSSH 10.5: the hybrid's shared secret, the exchange hash and the
 * derived keys, in both roles
 */
#include "algorithm/kex.h"
#include "kex_check.h"
#include "vec.h"

/* K = HASH(KEM secret | curve secret), as a string. */
static void check_shared(const struct json *root, const char *name)
{
	const struct alg_kex *row = alg_kex_find(cslice_str(json_text(json_get(root, "kex"))));
	struct buf parts = kex_hex(root, "concatenation_of_KEM_key_and_ECDH_shared_key");
	struct buf want = kex_hex(root, "encoded_shared_secret"), got;
	uint8_t digest[HASH_MAX];
	buf_init(&got, 4096);
	vec_check(hash_once(row->hash, buf_bytes(&parts), digest) == OK, name, 1);
	buf_put_string(&got, cslice_of(digest, hash_size(row->hash)));
	vec_check(cslice_eq(buf_bytes(&got), buf_bytes(&want)), name, 2);
	buf_done(&parts);
	buf_done(&want);
	buf_done(&got);
}

int main(void)
{
	static const char *const files[] = {
		"kex/mlkem768nistp256-sha256_ssh-ed25519.json",
		"kex/mlkem768nistp256-sha256_ssh-mldsa44-ed25519.json",
		"kex/mlkem768x25519-sha256_ssh-ed25519.json",
		"kex/mlkem768x25519-sha256_ssh-mldsa44-ed25519.json",
		"kex/sntrup761x25519-sha512_ssh-ed25519.json",
		"kex/sntrup761x25519-sha512_ssh-mldsa44-ed25519.json",
	};
	vec_need_shared();
	if (crypto_init() != OK)
		return 1;
	for (size_t i = 0; i < ARRAY_N(files); i++) {
		struct json_doc *doc = vec_load(files[i]);
		if (doc == NULL)
			continue;
		check_shared(json_root(doc), files[i]);
		kex_check_role(json_root(doc), files[i], false);
		kex_check_role(json_root(doc), files[i], true);
		json_free(doc);
	}
	return vec_done();
}
