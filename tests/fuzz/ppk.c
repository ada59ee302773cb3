/* SPDX-License-Identifier: ISC */
/*
 * ppk - PuTTY's files behind a MAC that is right: the numbers of a file that somebody made on
 * purpose
 *
 * Input: flags (bit 0 = version 3, bit 1 = the comment may hold anything, bits 2-4 = type), lengths
 * of comment (u8) and public blob (u16), comment, public blob, private numbers.
 */
#include "base/rng.h"
#include "base/text.h"
#include "fuzz.h"
#include "key/key.h"

#define ROOM 65536

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return crypto_init() == OK ? 0 : -1;
}

struct parts {
	bool is_v3;
	const char *type;
	struct cslice comment, pub, private;
};

static const char *const types[] = {
	"ssh-ed25519",
	"ssh-rsa",
	"ecdsa-sha2-nistp256",
	"ecdsa-sha2-nistp384",
	"ecdsa-sha2-nistp521",
	"ssh-dss",
	"ssh-ed448",
	"ssh-mldsa44-ed25519@openssh.com",
};

static void mac_put(const struct parts *f, struct buf *out)
{
	struct hmac *h = NULL;
	struct buf m;
	uint8_t key[HASH_MAX], mac[HASH_MAX];
	enum hash_id id = f->is_v3 ? HASH_SHA256 : HASH_SHA1;
	struct cslice salt = cslice_str("putty-private-key-file-mac-key");
	PROMISE(hash_parts(HASH_SHA1, &salt, 1, key) == OK);
	buf_init(&m, 4 * ROOM);
	buf_put_cstring(&m, f->type);
	buf_put_cstring(&m, "none");
	buf_put_string(&m, f->comment);
	buf_put_string(&m, f->pub);
	buf_put_string(&m, f->private);
	struct cslice all = buf_bytes(&m);
	PROMISE(hmac_new(&h, id, cslice_of(key, f->is_v3 ? 0 : 20)) == OK);
	PROMISE(hmac_tag(h, &all, 1, mac) == OK);
	hmac_free(h);
	buf_done(&m);
	buf_printf(out, "Private-MAC: ");
	for (size_t i = 0; i < hash_size(id); i++)
		buf_printf(out, "%02x", mac[i]);
	buf_put_u8(out, '\n');
}

static void blob_put(struct buf *out, const char *name, struct cslice blob)
{
	struct buf text;
	buf_init(&text, 2 * ROOM);
	base64_encode(&text, blob);
	buf_printf(out, "%s: %zu\n", name, (text.n + 63) / 64);
	for (size_t at = 0; at < text.n; at += 64) {
		buf_put(out, text.p + at, num_min(64, text.n - at));
		buf_put_u8(out, '\n');
	}
	buf_done(&text);
}

static void file_put(const struct parts *f, struct buf *out)
{
	buf_printf(out, "PuTTY-User-Key-File-%d: %s\nEncryption: none\nComment: ", f->is_v3 ? 3 : 2,
		f->type);
	buf_put(out, f->comment.p, f->comment.n);
	buf_put_u8(out, '\n');
	blob_put(out, "Public-Lines", f->pub);
	blob_put(out, "Private-Lines", f->private);
	mac_put(f, out);
	PROMISE(buf_err(out) == OK);
}

/* A key that was read signs by the public key that stands before it, and is the same when written.
 */
static void holds(const struct key *k, struct cslice pub, bool is_v3)
{
	struct rng_seeded rng;
	struct key *back = NULL;
	struct buf blob, text, comment;
	rng_seeded_init(&rng, 1);
	buf_init(&blob, ROOM);
	buf_init(&text, 4 * ROOM);
	buf_init(&comment, ROOM);
	PROMISE(key_is_private(k) && key_blob(k, &blob) == OK);
	PROMISE(cslice_eq(buf_bytes(&blob), pub));
	struct key_write_opts o = {.rng = &rng.rng, .form = is_v3 ? KEY_FORM_PPK : KEY_FORM_PPK2};
	PROMISE(key_write_private(k, &o, &text) == OK);
	PROMISE(key_read_private(&back, buf_bytes(&text), cslice_of(NULL, 0), &comment) == OK);
	PROMISE(key_equal_public(k, back));
	key_free(back);
	buf_done(&comment);
	buf_done(&text);
	buf_done(&blob);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct cslice in = {data, n};
	struct key *k = NULL;
	struct buf text, comment;
	if (n > ROOM)
		return 0;
	uint8_t flags = fuzz_u8(&in), comment_n = fuzz_u8(&in);
	uint16_t pub_n = fuzz_u16(&in);
	struct parts f = {.is_v3 = (flags & 1) != 0, .type = types[flags >> 2 & 7]};
	f.comment = fuzz_take(&in, comment_n);
	f.pub = fuzz_take(&in, pub_n);
	f.private = in;
	if ((flags & 2) == 0)
		f.comment = cslice_str("a word");
	buf_init(&text, 8 * ROOM);
	buf_init(&comment, ROOM);
	file_put(&f, &text);
	if (key_read_private(&k, buf_bytes(&text), cslice_of(NULL, 0), &comment) == OK) {
		holds(k, f.pub, f.is_v3);
		key_free(k);
	} else {
		PROMISE(k == NULL);
	}
	buf_done(&comment);
	buf_done(&text);
	return 0;
}
