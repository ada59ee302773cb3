/* SPDX-License-Identifier: ISC */
/*
 * bcrypt_shared - encrypted key files that OpenSSH wrote open with what bcrypt_pbkdf derives
 *
 * The file (PROTOCOL.key): magic, cipher, kdf "bcrypt", options (salt, rounds), a count, a public
 * key, the encrypted part.  Decrypted, that begins with the same number twice and ends with the
 * bytes 1, 2, 3 ...
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "crypto/crypto.h"
#include "vec.h"

static const char *const files[] = {"ecdsa_n_pw", "ecdsa_sk1_pw", "ed25519_1_pw", "ed25519_sk1_pw",
	"mldsa44_ed25519_1_pw", "rsa_n_pw"};
static const char magic[] = "openssh-key-v1"; /* with its NUL */

static uint32_t take_u32(struct cslice *in)
{
	if (in->n < 4)
		return 0;
	uint32_t v = be32_get(in->p);
	*in = cslice_of(in->p + 4, in->n - 4);
	return v;
}

static struct cslice take_string(struct cslice *in)
{
	uint32_t n = take_u32(in);
	struct cslice s = {in->p, num_min(n, in->n)};

	*in = cslice_of(in->p + s.n, in->n - s.n);
	return s;
}

static bool body(const char *text, struct buf *out)
{
	static const char begin[] = "-----BEGIN OPENSSH PRIVATE KEY-----",
			  end[] = "-----END OPENSSH PRIVATE KEY-----";
	const char *from = strstr(text, begin), *to = strstr(text, end);

	if (from == NULL || to == NULL || to < from)
		return false;
	from += sizeof(begin) - 1;
	return base64_decode(out, cslice_of(from, (size_t)(to - from)), true) == OK;
}

static bool is_plain(const uint8_t *p, size_t n)
{
	if (n < 16 || memcmp(p, p + 4, 4) != 0)
		return false;
	/* padding of up to a block; the last byte tells how many there are */
	size_t pad = p[n - 1] <= 16 ? p[n - 1] : 0;
	for (size_t i = 0; i < pad; i++)
		if (p[n - 1 - i] != pad - i)
			return false;
	return be32_get(p + 8) < n && p[12] != 0;
}

static bool opens(struct cslice file, struct cslice pass)
{
	uint8_t key[48], plain[4096];
	struct cipher *c;

	if (file.n < sizeof(magic) || memcmp(file.p, magic, sizeof(magic)) != 0)
		return false;
	file = cslice_of(file.p + sizeof(magic), file.n - sizeof(magic));
	enum cipher_id id = cslice_eq_str(take_string(&file), "aes256-ctr") ? CIPHER_AES256_CTR
									    : CIPHER_AES256_CBC;
	if (!cslice_eq_str(take_string(&file), "bcrypt"))
		return false;
	struct cslice options = take_string(&file), salt = take_string(&options);
	uint32_t rounds = take_u32(&options);
	if (take_u32(&file) != 1)
		return false;
	(void)take_string(&file);
	struct cslice secret = take_string(&file);
	if (secret.n > sizeof(plain) || bcrypt_pbkdf(pass, salt, rounds, key, sizeof(key)) != OK ||
		cipher_new(&c, id, cslice_of(key, 32), cslice_of(key + 32, 16), false) != OK)
		return false;
	bool ok = cipher_crypt(c, secret.p, plain, secret.n) == OK && is_plain(plain, secret.n);
	cipher_free(c);
	return ok;
}

int main(void)
{
	char name[64];
	size_t pw_n;

	vec_need_shared();
	if (crypto_init() != OK)
		return 1;
	char *pw = vec_file("openssh/sshkey/pw", &pw_n);
	if (pw == NULL)
		return vec_done();
	struct cslice pass = {(const uint8_t *)pw, strcspn(pw, "\n")};
	for (size_t i = 0; i < ARRAY_N(files); i++) {
		size_t n;
		struct buf b;
		(void)snprintf(name, sizeof(name), "openssh/sshkey/%s", files[i]);
		char *text = vec_file(name, &n);
		if (text == NULL)
			continue;
		buf_init(&b, 1 << 16);
		vec_check(body(text, &b) && opens(buf_bytes(&b), pass), files[i], 0);
		/* one letter less, and it does not open */
		vec_check(!opens(buf_bytes(&b), cslice_of(pw, pass.n - 1)), files[i], 1);
		buf_done(&b);
		free(text);
	}
	free(pw);
	return vec_done();
}
