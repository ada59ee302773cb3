/* SPDX-License-Identifier: ISC */
/*
 * file_ppk - PuTTY's private key files, versions 2 and 3
 *
 * Text lines: the public blob in clear, the private numbers encrypted (AES-256-CBC) or not, and a
 * MAC over both and the comment.  Version 2 makes its keys with SHA-1, version 3 with Argon2.
 * Between the file and a key stand the private fields of openssh-key-v1: they hold the same numbers
 * in another order.
 */
#include "base/text.h"
#include "key/ops.h"

#define TAG        "PuTTY-User-Key-File-"
#define CIPHER     "aes256-cbc"
#define MAC_SALT   "putty-private-key-file-mac-key"
#define BLOCK      16
#define COLUMNS    64
#define LINES_MAX  4096
#define SALT_BYTES 16
#define MEMORY_KIB 8192
#define PASSES     21
#define DERIVED    80 /* version 3: key 32, IV 16, MAC key 32 */

struct ppk {
	uint32_t version;
	struct cslice type, comment; /* borrowed from the text */
	bool is_locked;
	struct argon2_cost cost;
	uint8_t salt[ARGON2_SALT_MOST];
	size_t salt_n;
	struct buf pub, private; /* private: as in the file, then in clear */
	uint8_t mac[HASH_MAX];
	size_t mac_n;
};

static void ppk_init(struct ppk *f)
{
	*f = (struct ppk){.version = 0};
	buf_init(&f->pub, KEY_FILE_MAX);
	buf_init(&f->private, KEY_FILE_MAX);
}

static void ppk_done(struct ppk *f)
{
	buf_done(&f->private);
	buf_done(&f->pub);
}

/* ---- the text ---- */
/* "Name: value": the next line must have this name. */
static err_t header(struct cslice *text, const char *name, struct cslice *value)
{
	struct cslice line = {NULL, 0};
	size_t n = strlen(name);
	if (!key_next_line(text, &line))
		return E_KEY_TRUNCATED;
	bool is_it = line.n > n && memcmp(line.p, name, n) == 0 && line.p[n] == ':';
	if (!is_it) /* a cut inside the name is a cut; else it is another line */
		return text->n == 0 && line.n <= n ? E_KEY_TRUNCATED : E_KEY_FORMAT;
	line = cslice_of(line.p + n + 1, line.n - n - 1);
	if (line.n > 0 && line.p[0] == ' ')
		line = cslice_of(line.p + 1, line.n - 1);
	*value = line;
	return OK;
}

static err_t header_u32(struct cslice *text, const char *name, uint32_t *out)
{
	struct cslice v;
	TRY(header(text, name, &v));
	return text_u32(key_trim(v), out) == OK ? OK : E_KEY_FORMAT;
}

static err_t hex_digit(uint8_t c, uint8_t *out)
{
	if (c >= '0' && c <= '9')
		*out = (uint8_t)(c - '0');
	else if (c >= 'a' && c <= 'f')
		*out = (uint8_t)(c - 'a' + 10);
	else if (c >= 'A' && c <= 'F')
		*out = (uint8_t)(c - 'A' + 10);
	else
		return E_KEY_FORMAT;
	return OK;
}

static err_t header_hex(struct cslice *text, const char *name, struct slice room, size_t *n)
{
	struct cslice v;
	TRY(header(text, name, &v));
	v = key_trim(v);
	if (v.n == 0)
		return E_KEY_TRUNCATED;
	if (v.n % 2 != 0 || v.n / 2 > room.n)
		return E_KEY_FORMAT;
	for (size_t i = 0; i < v.n; i += 2) {
		uint8_t high = 0, low = 0;
		TRY(hex_digit(v.p[i], &high));
		TRY(hex_digit(v.p[i + 1], &low));
		room.p[i / 2] = (uint8_t)(high << 4 | low);
	}
	*n = v.n / 2;
	return OK;
}

/* "Name-Lines: N" and N lines of base64. */
static err_t blob_read(struct cslice *text, const char *name, struct buf *out)
{
	uint32_t lines;
	struct cslice line = {NULL, 0};
	struct buf joined;
	TRY(header_u32(text, name, &lines));
	if (lines > LINES_MAX)
		return E_KEY_FORMAT;
	buf_init(&joined, KEY_FILE_MAX);
	err_t e = OK;
	for (uint32_t i = 0; e == OK && i < lines; i++) {
		if (!key_next_line(text, &line))
			e = E_KEY_TRUNCATED;
		else
			buf_put(&joined, line.p, line.n);
	}
	if (e == OK)
		e = base64_decode(out, buf_bytes(&joined), true);
	if (e == E_FORMAT)
		e = text->n == 0 ? E_KEY_TRUNCATED : E_KEY_FORMAT;
	buf_done(&joined);
	return e;
}

static err_t kind_from_name(struct cslice name, enum argon2_kind *out)
{
	static const char *const names[] = {[ARGON2_KIND_D] = "Argon2d",
		[ARGON2_KIND_I] = "Argon2i",
		[ARGON2_KIND_ID] = "Argon2id"};
	for (size_t i = 0; i < ARRAY_N(names); i++)
		if (cslice_eq_str(name, names[i])) {
			*out = (enum argon2_kind)i;
			return OK;
		}
	return E_UNSUPPORTED;
}

static err_t cost_read(struct cslice *text, struct ppk *f)
{
	struct cslice v;
	TRY(header(text, "Key-Derivation", &v));
	TRY(kind_from_name(key_trim(v), &f->cost.kind));
	TRY(header_u32(text, "Argon2-Memory", &f->cost.memory_kib));
	TRY(header_u32(text, "Argon2-Passes", &f->cost.passes));
	TRY(header_u32(text, "Argon2-Parallelism", &f->cost.lanes));
	return header_hex(
		text, "Argon2-Salt", (struct slice){f->salt, sizeof(f->salt)}, &f->salt_n);
}

/* Everything in front of the private lines. */
static err_t front_read(struct cslice *text, struct ppk *f)
{
	struct cslice v;
	for (f->version = 3; f->version >= 2; f->version--) {
		const char *name = f->version == 3 ? TAG "3" : TAG "2";
		if (text->n > strlen(name) && memcmp(text->p, name, strlen(name)) == 0) {
			TRY(header(text, name, &v));
			break;
		}
	}
	if (f->version < 2)
		return text->n > strlen(TAG) + 1 ? E_UNSUPPORTED : E_KEY_TRUNCATED;
	f->type = key_trim(v);
	TRY(header(text, "Encryption", &v));
	v = key_trim(v);
	f->is_locked = cslice_eq_str(v, CIPHER);
	if (!f->is_locked && !cslice_eq_str(v, "none"))
		return text->n == 0 ? E_KEY_TRUNCATED : E_UNSUPPORTED;
	TRY(header(text, "Comment", &f->comment));
	TRY(blob_read(text, "Public-Lines", &f->pub));
	return cslice_eq(key_blob_type(buf_bytes(&f->pub)), f->type) ? OK : E_KEY_FORMAT;
}

static err_t text_read(struct cslice text, struct ppk *f)
{
	TRY(front_read(&text, f));
	if (f->is_locked && f->version == 3)
		TRY(cost_read(&text, f));
	TRY(blob_read(&text, "Private-Lines", &f->private));
	TRY(header_hex(&text, "Private-MAC", (struct slice){f->mac, sizeof(f->mac)}, &f->mac_n));
	size_t want = hash_size(f->version == 3 ? HASH_SHA256 : HASH_SHA1);
	if (f->mac_n != want)
		return f->mac_n < want ? E_KEY_TRUNCATED : E_KEY_FORMAT;
	return f->private.n % BLOCK == 0 || !f->is_locked ? OK : E_KEY_FORMAT;
}

/* ---- keys, cipher, MAC ---- */
struct keys {
	uint8_t cipher_iv[2 * 32]; /* key 32, IV 16 */
	uint8_t mac[32];
	size_t mac_n;
};

/* Version 2: the key is SHA-1 of a counter and the passphrase, twice; the IV is zero. */
static err_t keys_of_v2(struct cslice passphrase, struct keys *k)
{
	uint8_t counter[4] = {0}, half[20];
	struct cslice parts[2] = {{counter, sizeof(counter)}, passphrase};
	struct wr w = wr_of((struct slice){k->cipher_iv, sizeof(k->cipher_iv)});
	err_t e = OK;
	for (uint8_t i = 0; e == OK && i < 2; i++) {
		counter[3] = i;
		e = hash_parts(HASH_SHA1, parts, ARRAY_N(parts), half);
		if (e == OK)
			wr_raw(&w, cslice_of(half, i == 0 ? 20 : 12));
	}
	wipe(half, sizeof(half));
	parts[0] = cslice_str(MAC_SALT);
	if (e == OK)
		e = hash_parts(HASH_SHA1, parts, ARRAY_N(parts), k->mac);
	k->mac_n = 20;
	return e;
}

static err_t keys_of_v3(const struct ppk *f, struct cslice passphrase, struct keys *k)
{
	uint8_t all[DERIVED] = {0};
	TRY(argon2_derive(&f->cost, passphrase, cslice_of(f->salt, f->salt_n),
		(struct slice){all, sizeof(all)}));
	memcpy(k->cipher_iv, all, 48);
	memcpy(k->mac, all + 48, 32);
	k->mac_n = 32;
	wipe(all, sizeof(all));
	return OK;
}

static err_t keys_make(const struct ppk *f, struct cslice passphrase, struct keys *k)
{
	*k = (struct keys){.mac_n = 0};
	if (f->version == 2)
		return keys_of_v2(f->is_locked ? passphrase : cslice_of(NULL, 0), k);
	return f->is_locked ? keys_of_v3(f, passphrase, k) : OK;
}

static err_t private_crypt(struct ppk *f, const struct keys *k, bool encrypt)
{
	struct cipher *c = NULL;
	if (!f->is_locked || f->private.n == 0)
		return OK;
	TRY(cipher_new(&c, CIPHER_AES256_CBC, cslice_of(k->cipher_iv, 32),
		cslice_of(k->cipher_iv + 32, 16), encrypt));
	err_t e = cipher_crypt(c, f->private.p, f->private.p, f->private.n);
	cipher_free(c);
	return e;
}

/* f->private is in clear. */
static err_t mac_make(const struct ppk *f, const struct keys *k, uint8_t mac[HASH_MAX])
{
	struct hmac *h = NULL;
	struct buf m;
	buf_init(&m, 4 * KEY_FILE_MAX);
	buf_put_string(&m, f->type);
	buf_put_cstring(&m, f->is_locked ? CIPHER : "none");
	buf_put_string(&m, f->comment);
	buf_put_string(&m, buf_bytes(&f->pub));
	buf_put_string(&m, buf_bytes(&f->private));
	err_t e = buf_err(&m);
	if (e == OK)
		e = hmac_new(
			&h, f->version == 3 ? HASH_SHA256 : HASH_SHA1, cslice_of(k->mac, k->mac_n));
	struct cslice all = buf_bytes(&m);
	if (e == OK)
		e = hmac_tag(h, &all, 1, mac);
	hmac_free(h);
	buf_done(&m);
	return e;
}

static err_t private_open(struct ppk *f, struct cslice passphrase)
{
	struct keys k;
	uint8_t mac[HASH_MAX];
	if (f->is_locked && passphrase.n == 0)
		return E_PASSPHRASE;
	err_t e = keys_make(f, passphrase, &k);
	if (e == OK)
		e = private_crypt(f, &k, false);
	if (e == OK)
		e = mac_make(f, &k, mac);
	if (e == OK && !ct_eq(mac, f->mac, f->mac_n))
		e = f->is_locked ? E_PASSPHRASE : E_KEY_DAMAGED;
	wipe(&k, sizeof(k));
	return e;
}

/* ---- PuTTY's private numbers and the fields of openssh-key-v1 ---- */
static err_t rsa_fields(struct rd *pub, struct rd *private, struct buf *out)
{
	struct cslice e = rd_mpint(pub), n = rd_mpint(pub);
	struct cslice d = rd_mpint(private), p = rd_mpint(private), q = rd_mpint(private),
		      iqmp = rd_mpint(private);
	const struct cslice order[] = {n, e, d, iqmp, p, q};
	for (size_t i = 0; i < ARRAY_N(order); i++)
		buf_put_mpint(out, order[i]);
	return buf_err(out);
}

static err_t ecdsa_fields(struct rd *pub, struct rd *private, struct buf *out)
{
	struct cslice curve = rd_str(pub), point = rd_str(pub), d = rd_mpint(private);
	buf_put_string(out, curve);
	buf_put_string(out, point);
	buf_put_mpint(out, d);
	return buf_err(out);
}

/* The seed is a number there, least byte first: zeros at its end may be missing. */
static err_t ed25519_fields(struct rd *pub, struct rd *private, struct buf *out)
{
	struct cslice point = rd_str(pub), seed = rd_str(private);
	if (seed.n > KEY_ED25519_BYTES)
		return E_KEY_FORMAT;
	buf_put_string(out, point);
	buf_put_u32(out, (uint32_t)(KEY_ED25519_BYTES + point.n));
	buf_put(out, seed.p, seed.n);
	for (size_t i = seed.n; i < KEY_ED25519_BYTES; i++)
		buf_put_u8(out, 0);
	buf_put(out, point.p, point.n);
	return buf_err(out);
}

static err_t fields_make(const struct ppk *f, enum key_type t, struct buf *out)
{
	struct rd pub = rd_of(buf_bytes(&f->pub)), private = rd_of(buf_bytes(&f->private));
	struct cslice name = rd_str(&pub);
	buf_put_string(out, name);
	err_t e = E_KEY_TYPE;
	if (t == KEY_RSA)
		e = rsa_fields(&pub, &private, out);
	else if (t == KEY_ED25519)
		e = ed25519_fields(&pub, &private, out);
	else if (t == KEY_ECDSA_P256 || t == KEY_ECDSA_P384 || t == KEY_ECDSA_P521)
		e = ecdsa_fields(&pub, &private, out);
	/* behind the numbers stands padding, at most a block of it */
	if (e == OK && (rd_end(&pub) != OK || private.bad || private.n >= BLOCK))
		e = E_KEY_FORMAT;
	return e;
}

static err_t key_make(struct key **out, const struct ppk *f)
{
	enum key_type t;
	struct buf fields;
	struct key *k = NULL;
	if (!key_type_from_name(f->type, &t))
		return E_KEY_TYPE;
	buf_init(&fields, KEY_FILE_MAX);
	err_t e = fields_make(f, t, &fields);
	struct rd r = rd_of(buf_bytes(&fields));
	if (e == OK)
		e = key_read_private_fields(&k, &r);
	if (e == OK && rd_end(&r) != OK)
		e = E_KEY_FORMAT;
	buf_done(&fields);
	if (e != OK) {
		key_free(k);
		return e;
	}
	*out = k;
	return OK;
}

static err_t give_comment(const struct ppk *f, struct buf *comment)
{
	if (comment == NULL)
		return OK;
	if (f->comment.n > 0 && memchr(f->comment.p, '\0', f->comment.n) != NULL)
		return E_KEY_FORMAT;
	buf_put(comment, f->comment.p, f->comment.n);
	return buf_err(comment);
}

bool key_ppk_is(struct cslice text)
{
	return text.n >= strlen(TAG) && memcmp(text.p, TAG, strlen(TAG)) == 0;
}

err_t key_ppk_read(
	struct key **out, struct cslice text, struct cslice passphrase, struct buf *comment)
{
	struct ppk f;
	struct key *k = NULL;
	ppk_init(&f);
	err_t e = text_read(text, &f);
	if (e == OK)
		e = private_open(&f, passphrase);
	if (e == OK)
		e = key_make(&k, &f);
	if (e == OK)
		e = give_comment(&f, comment);
	ppk_done(&f);
	if (e != OK) {
		key_free(k);
		return e;
	}
	*out = k;
	return OK;
}

err_t key_ppk_read_public(struct key **out, struct cslice text, struct buf *comment)
{
	struct ppk f;
	struct key *k = NULL;
	ppk_init(&f);
	err_t e = text_read(text, &f);
	if (e == OK)
		e = key_parse_blob(&k, buf_bytes(&f.pub));
	if (e == OK)
		e = give_comment(&f, comment);
	ppk_done(&f);
	if (e != OK) {
		key_free(k);
		return e;
	}
	*out = k;
	return OK;
}

/* ---- writing ---- */
static err_t rsa_numbers(struct rd *r, struct buf *out)
{
	(void)rd_mpint(r); /* n, e: public */
	(void)rd_mpint(r);
	struct cslice d = rd_mpint(r), iqmp = rd_mpint(r), p = rd_mpint(r), q = rd_mpint(r);
	const struct cslice order[] = {d, p, q, iqmp};
	for (size_t i = 0; i < ARRAY_N(order); i++)
		buf_put_mpint(out, order[i]);
	return buf_err(out);
}

static err_t private_numbers(const struct key *k, struct buf *out)
{
	struct buf fields;
	buf_init(&fields, KEY_FILE_MAX);
	err_t e = key_put_private_fields(k, &fields);
	struct rd r = rd_of(buf_bytes(&fields));
	(void)rd_str(&r); /* type */
	if (e == OK && k->type == KEY_RSA) {
		e = rsa_numbers(&r, out);
	} else if (e == OK && k->type == KEY_ED25519) {
		size_t n = sizeof(k->seed);
		while (n > 0 && k->seed[n - 1] == 0)
			n--;
		buf_put_string(out, cslice_of(k->seed, n));
		(void)rd_rest(&r);
	} else if (e == OK) {
		(void)rd_str(&r); /* curve, point */
		(void)rd_str(&r);
		buf_put_mpint(out, rd_mpint(&r));
	}
	if (e == OK && rd_end(&r) != OK)
		e = E_KEY_FORMAT;
	buf_done(&fields);
	return e == OK ? buf_err(out) : e;
}

/* To whole blocks, by bytes of a hash of what is there. */
static err_t pad(struct buf *private)
{
	uint8_t hash[20];
	TRY(hash_once(HASH_SHA1, buf_bytes(private), hash));
	for (size_t i = 0; private->err == OK && private->n % BLOCK != 0; i++)
		buf_put_u8(private, hash[i]);
	wipe(hash, sizeof(hash));
	return buf_err(private);
}

static void put_hex(struct buf *out, const char *name, struct cslice bytes)
{
	buf_printf(out, "%s: ", name);
	for (size_t i = 0; i < bytes.n; i++)
		buf_printf(out, "%02x", bytes.p[i]);
	buf_put_u8(out, '\n');
}

static err_t put_blob(struct buf *out, const char *name, struct cslice blob)
{
	struct buf text;
	buf_init(&text, KEY_FILE_MAX);
	base64_encode(&text, blob);
	buf_printf(out, "%s: %zu\n", name, (text.n + COLUMNS - 1) / COLUMNS);
	for (size_t at = 0; at < text.n; at += COLUMNS) {
		buf_put(out, text.p + at, num_min(COLUMNS, text.n - at));
		buf_put_u8(out, '\n');
	}
	err_t e = buf_err(&text);
	buf_done(&text);
	return e == OK ? buf_err(out) : e;
}

static err_t text_write(const struct ppk *f, struct buf *out)
{
	buf_printf(out, TAG "%u: %.*s\n", f->version, (int)f->type.n, (const char *)f->type.p);
	buf_printf(out, "Encryption: %s\nComment: ", f->is_locked ? CIPHER : "none");
	buf_put(out, f->comment.p, f->comment.n);
	buf_put_u8(out, '\n');
	TRY(put_blob(out, "Public-Lines", buf_bytes(&f->pub)));
	if (f->is_locked && f->version == 3) {
		buf_printf(
			out, "Key-Derivation: Argon2id\nArgon2-Memory: %u\n", f->cost.memory_kib);
		buf_printf(out, "Argon2-Passes: %u\nArgon2-Parallelism: %u\n", f->cost.passes,
			f->cost.lanes);
		put_hex(out, "Argon2-Salt", cslice_of(f->salt, f->salt_n));
	}
	TRY(put_blob(out, "Private-Lines", buf_bytes(&f->private)));
	put_hex(out, "Private-MAC", cslice_of(f->mac, f->mac_n));
	return buf_err(out);
}

static err_t ppk_fill(struct ppk *f, const struct key *k, const struct key_write_opts *o)
{
	f->type = cslice_str(key_type_name(k->type));
	f->comment = cslice_str(o->comment != NULL ? o->comment : "");
	for (size_t i = 0; i < f->comment.n; i++) /* the file has one line for it */
		if (f->comment.p[i] == '\n' || f->comment.p[i] == '\r')
			f->comment.n = i;
	f->is_locked = o->passphrase.n > 0;
	f->cost = (struct argon2_cost){
		ARGON2_KIND_ID, MEMORY_KIB, o->rounds != 0 ? o->rounds : PASSES, 1};
	f->salt_n = SALT_BYTES;
	rng_fill(o->rng, f->salt, f->salt_n);
	f->mac_n = hash_size(f->version == 3 ? HASH_SHA256 : HASH_SHA1);
	TRY(key_blob(k, &f->pub));
	TRY(private_numbers(k, &f->private));
	return f->is_locked ? pad(&f->private) : OK;
}

err_t key_ppk_write(const struct key *k, const struct key_write_opts *opts, struct buf *out)
{
	struct ppk f;
	struct keys keys = {.mac_n = 0};
	size_t start = out->n;
	if (!k->is_private)
		return E_KEY_PUBLIC;
	if (k->type == KEY_MLDSA || key_type_is_sk(k->type))
		return E_KEY_TYPE;
	ppk_init(&f);
	f.version = opts->form == KEY_FORM_PPK2 ? 2 : 3;
	err_t e = ppk_fill(&f, k, opts);
	if (e == OK)
		e = keys_make(&f, opts->passphrase, &keys);
	if (e == OK)
		e = mac_make(&f, &keys, f.mac);
	if (e == OK)
		e = private_crypt(&f, &keys, true);
	if (e == OK)
		e = text_write(&f, out);
	wipe(&keys, sizeof(keys));
	ppk_done(&f);
	if (e != OK)
		out->n = start;
	return e;
}
