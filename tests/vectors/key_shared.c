/* SPDX-License-Identifier: ISC */
/*
 * key_shared - the key files, public lines, fingerprints and known_hosts of OpenSSH's own unit
 * tests
 *
 * Every file of the two folders is looked at; a file whose kind is not known to this program is a
 * failure.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "key/cert.h"
#include "key/known_hosts.h"
#include "vec.h"

#define KEYS  "openssh/sshkey/"
#define HOSTS "openssh/hostkeys/"

struct text {
	char *p;
	size_t n;
};

/* Without the last line end. */
static struct text load(const char *folder, const char *name, const char *suffix)
{
	char path[256];
	struct text t = {NULL, 0};
	(void)snprintf(path, sizeof(path), "%s%s%s", folder, name, suffix);
	t.p = vec_file(path, &t.n);
	while (t.p != NULL && t.n > 0 && (t.p[t.n - 1] == '\n' || t.p[t.n - 1] == '\r'))
		t.p[--t.n] = '\0';
	return t;
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);
	return n >= m && strcmp(s + n - m, end) == 0;
}

static struct key *public_of(const char *folder, const char *name, const char *suffix)
{
	struct text t = load(folder, name, suffix);
	struct key *k = NULL;
	if (t.p == NULL || key_parse_line_any(&k, cslice_of(t.p, t.n), NULL) != OK)
		vec_check(false, name, 1);
	free(t.p);
	return k;
}

/* name: "rsa_1.fp" or "rsa_1.fp.bb" */
static void check_fingerprint(const char *name, bool babble)
{
	char base[64];
	struct buf got;
	(void)snprintf(base, sizeof(base), "%.*s", (int)(strchr(name, '.') - name), name);
	struct text want = load(KEYS, name, "");
	struct key *k = public_of(KEYS, base, ".pub");
	buf_init(&got, 256);
	err_t e = k == NULL ? E_NOT_FOUND
		  : babble  ? key_fingerprint_babble(k, HASH_SHA1, &got)
			    : key_fingerprint(k, HASH_SHA256, &got);
	if (e == OK && babble && strncmp(want.p, (const char *)got.p, got.n) != 0) {
		buf_clear(&got); /* the vectors do not say which hash it is */
		e = key_fingerprint_babble(k, HASH_SHA512, &got);
	}
	vec_check(e == OK && cslice_eq(buf_bytes(&got), cslice_of(want.p, want.n)), name, e);
	buf_done(&got);
	key_free(k);
	free(want.p);
}

/* "rsa_1_pw" and "rsa_n" are other forms of rsa_1; "rsa_1_sha512" has a public file of its own. */
static void check_private(const char *name)
{
	struct text t = load(KEYS, name, ""), pass = load(KEYS, "pw", "");
	struct key *k = NULL, *pub = NULL, *no = NULL, *half = NULL;
	char base[64];
	bool is_locked = ends_with(name, "_pw");
	(void)snprintf(base, sizeof(base), "%s", name);
	if (is_locked)
		base[strlen(base) - 3] = '\0';
	if (ends_with(base, "_n"))
		base[strlen(base) - 1] = '1';
	pub = public_of(KEYS, base, ".pub");
	struct cslice file = {(const uint8_t *)t.p, t.n};
	struct cslice words = is_locked ? cslice_of(pass.p, pass.n) : cslice_of(NULL, 0);
	err_t e = key_read_private(&k, file, words, NULL);
	vec_check(e == OK && pub != NULL && key_equal_public(k, pub), name, e);
	if (is_locked) {
		vec_check(key_read_private(&no, file, cslice_of(NULL, 0), NULL) == E_PASSPHRASE,
			name, -1);
		vec_check(key_read_private(&no, file, cslice_str("wrong"), NULL) == E_PASSPHRASE,
			name, -2);
	}
	e = key_read_private_public(&half, file, NULL);
	vec_check(e == OK ? key_equal_public(half, pub) : is_locked && e == E_PASSPHRASE, name, -3);
	key_free(half);
	key_free(pub);
	key_free(k);
	free(pass.p);
	free(t.p);
}

/* The bytes of the private key as we would write it, to look for its numbers. */
static err_t private_bytes(const char *base, struct buf *body)
{
	static const char begin[] = "-----BEGIN OPENSSH PRIVATE KEY-----",
			  end[] = "-----END OPENSSH PRIVATE KEY-----\n";
	struct rng_seeded rng;
	struct key_write_opts opts = {.rng = &rng.rng};
	struct text t = load(KEYS, base, "");
	struct key *k = NULL;
	struct buf text;
	rng_seeded_init(&rng, 1);
	buf_init(&text, 65536);
	err_t e = key_read_private(&k, cslice_of(t.p, t.n), cslice_of(NULL, 0), NULL);
	if (e == OK)
		e = key_write_private(k, &opts, &text);
	if (e == OK)
		e = base64_decode(body,
			cslice_of(text.p + sizeof(begin) - 1,
				text.n - sizeof(begin) - sizeof(end) + 2),
			true);
	buf_done(&text);
	key_free(k);
	free(t.p);
	return e;
}

/* rsa_1.param.p: the number in hex is part of the key; ecdsa_1.param.curve: OpenSSL's name of the
 * curve. */
static void check_param(const char *name)
{
	char base[64];
	struct text want = load(KEYS, name, "");
	struct buf body;
	uint8_t number[512];
	(void)snprintf(base, sizeof(base), "%.*s", (int)(strchr(name, '.') - name), name);
	buf_init(&body, 65536);
	if (ends_with(name, ".curve")) {
		struct key *k = public_of(KEYS, base, ".pub");
		bool is_256 = k != NULL && key_type_of(k) == KEY_ECDSA_P256;
		vec_check(cslice_eq_str(
				  cslice_of(want.p, want.n), is_256 ? "prime256v1" : "secp521r1"),
			name, 0);
		key_free(k);
	} else {
		size_t n = want.n / 2;
		err_t e = private_bytes(base, &body);
		vec_hex(number, n, want.p);
		vec_check(e == OK && memmem(body.p, body.n, number, n) != NULL, name, e);
	}
	buf_done(&body);
	free(want.p);
}

static void check_public(const char *name)
{
	struct key *k = public_of(KEYS, name, "");
	bool is_cert = strstr(name, "-cert") != NULL;
	vec_check(k != NULL && (key_cert(k) != NULL) == is_cert, name, 0);
	key_free(k);
}

static void check_key_file(const char *name)
{
	if (strcmp(name, "pw") == 0)
		return;
	if (strstr(name, ".param.") != NULL)
		check_param(name);
	else if (ends_with(name, ".fp") || ends_with(name, ".fp.bb"))
		check_fingerprint(name, ends_with(name, ".bb"));
	else if (ends_with(name, ".pub"))
		check_public(name);
	else if (strchr(name, '.') == NULL)
		check_private(name);
	else
		vec_check(false, name, 0);
}

static void each_file(const char *folder, void (*check)(const char *name))
{
	char *path = vec_path(folder);
	DIR *dir = opendir(path);
	vec_check(dir != NULL, folder, 0);
	for (struct dirent *d = dir != NULL ? readdir(dir) : NULL; d != NULL; d = readdir(dir))
		if (d->d_name[0] != '.')
			check(d->d_name);
	if (dir != NULL)
		(void)closedir(dir);
	free(path);
}

/* Protocol 1 keys are no keys. */
static void check_host_file(const char *name)
{
	struct text t = load(HOSTS, name, "");
	struct key *k = NULL;
	if (ends_with(name, ".pub")) {
		err_t e = key_parse_public_line(&k, cslice_of(t.p, t.n), NULL);
		vec_check(strncmp(name, "rsa1_", 5) == 0 ? e == E_KEY_FORMAT : e == OK, name, e);
	}
	key_free(k);
	free(t.p);
}

/* clang-format off */
static const struct {
	const char *host, *key;
	enum kh_verdict want;
	uint32_t line;
} hosts[] = {
	/* host                    key          verdict      line */
	{"sisyphus.example.com",   "ecdsa_1",   KH_OK,       2},
	{"sisyphus.example.com",   "ecdsa_2",   KH_OTHER,    2},
	{"sisyphus.example.com",   "ecdsa_3",   KH_OK,       12},
	{"sisyphus.example.com",   "ecdsa_4",   KH_CHANGED,  12},
	{"sisyphus.example.com",   "ecdsa_5",   KH_OK,       17},
	{"sisyphus.example.com",   "ecdsa_6",   KH_CHANGED,  12},
	{"sisyphus.example.com",   "ed25519_1", KH_OK,       3},
	{"sisyphus.example.com",   "ed25519_2", KH_CHANGED,  3},
	{"sisyphus.example.com",   "ed25519_3", KH_OK,       13},
	{"sisyphus.example.com",   "ed25519_4", KH_REVOKED,  33},
	{"sisyphus.example.com",   "ed25519_5", KH_OK,       18},
	{"sisyphus.example.com",   "rsa_1",     KH_OK,       4},
	{"sisyphus.example.com",   "rsa_4",     KH_CHANGED,  4},
	{"sisyphus.example.com",   "rsa_5",     KH_OK,       19},
	{"SISYPHUS.example.com",   "rsa_5",     KH_OK,       19},
	{"prometheus.example.com", "ecdsa_1",   KH_OTHER,    7},
	{"prometheus.example.com", "ecdsa_2",   KH_OK,       7},
	{"prometheus.example.com", "ecdsa_4",   KH_CHANGED,  12},
	{"prometheus.example.com", "ecdsa_5",   KH_CHANGED,  12},
	{"prometheus.example.com", "ecdsa_6",   KH_OK,       21},
	{"192.0.2.1",              "ecdsa_6",   KH_OK,       22},
	{"2001:db8::1",            "ecdsa_6",   KH_OK,       23},
	{"prometheus.example.com", "ed25519_4", KH_CHANGED,  8},
	{"prometheus.example.com", "ed25519_6", KH_OK,       24},
	{"192.0.2.1",              "ed25519_6", KH_OK,       25},
	{"2001:db8::1",            "ed25519_6", KH_OK,       26},
	{"prometheus.example.com", "rsa_6",     KH_OK,       27},
	{"192.0.2.1",              "rsa_6",     KH_OK,       28},
	{"2001:db8::1",            "rsa_6",     KH_OK,       29},
	{"192.0.2.1",              "ed25519_2", KH_OK,       8},
	{"2001:db8::1",            "rsa_2",     KH_OK,       9},
	{"192.0.2.77",             "rsa_3",     KH_OK,       14},
	{"192.0.2.77",             "rsa_2",     KH_CHANGED,  14},
	{"other.example.org",      "rsa_1",     KH_NEW,      0},
	{"other.example.org",      "ed25519_4", KH_NEW,      0},
};
/* clang-format on */

static void check_known_hosts(void)
{
	struct text t = load(HOSTS, "known_hosts", "");
	struct kh_entry e = {0};
	struct cslice rest = {(const uint8_t *)t.p, t.n};
	size_t kinds[4] = {0};
	for (size_t i = 0; i < ARRAY_N(hosts); i++) {
		struct key *k = public_of(HOSTS, hosts[i].key, ".pub");
		struct kh_found f = {0};
		err_t err = k != NULL ? kh_check(cslice_of(t.p, t.n), hosts[i].host, 22, k, &f)
				      : E_NOT_FOUND;
		vec_check(err == OK && f.verdict == hosts[i].want && f.line == hosts[i].line,
			"known_hosts", (int64_t)i);
		key_free(k);
	}
	while (kh_next(&rest, &e))
		kinds[e.kind]++;
	vec_check(kinds[KH_LINE_KEY] == 23 && kinds[KH_LINE_BROKEN] == 6, "known_hosts lines",
		(int64_t)kinds[KH_LINE_KEY]);
	free(t.p);
}

int main(void)
{
	vec_need_shared();
	if (crypto_init() != OK)
		return 1;
	each_file(KEYS, check_key_file);
	each_file(HOSTS, check_host_file);
	check_known_hosts();
	return vec_done();
}
