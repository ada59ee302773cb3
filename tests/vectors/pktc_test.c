/* SPDX-License-Identifier: ISC */
/*
 * Packet protections against packets that a foreign implementation sealed (pktc_make.py): each
 * cipher and MAC, each implementation that runs here, sealing and opening.
 */
#include <stdio.h>
#include <stdlib.h>

#include "algorithm/alg.h"
#include "crypto/pick.h"
#include "vec.h"

#define PACKET_MAX 40000

struct subject {
	const char *cipher, *mac;
	const struct pktc *row;
	struct cslice key, iv, mac_key;
};

static struct cslice hex_of(const struct json *j)
{
	uint8_t *p = NULL;
	size_t n = 0;
	if (!json_hex(j, &p, &n)) {
		vec_check(false, "hex", -1);
		exit(vec_done());
	}
	return cslice_of(p, n);
}

static void *context(const struct subject *s, enum pktc_dir dir)
{
	size_t size = (s->row->ctx_size + 63) / 64 * 64;
	void *ctx = aligned_alloc(64, size);
	if (ctx == NULL)
		abort();
	memset(ctx, 0, size);
	vec_check(s->row->init(ctx, dir, s->key, s->iv, s->mac_key) == OK, s->row->name, -1);
	return ctx;
}

/* The packet of number i that the generator sealed. */
static void write_clear(uint8_t *pkt, size_t n, size_t payload_n, size_t i)
{
	be32_put(pkt, (uint32_t)(n - 4));
	pkt[4] = (uint8_t)(n - 5 - payload_n);
	for (size_t k = 0; k < payload_n; k++)
		pkt[5 + k] = (uint8_t)(7 * k + i);
	memset(pkt + 5 + payload_n, 0x55, n - 5 - payload_n);
}

static bool wire_is(const struct json *want, const uint8_t *pkt, size_t n)
{
	uint8_t sum[32], expected[32], bytes[512];
	if (hash_once(HASH_SHA256, cslice_of(pkt, n), sum) != OK ||
		!json_hex_exact(json_get(want, "sha256"), expected, sizeof(expected)))
		return false;
	const struct json *wire = json_get(want, "wire");
	if (wire != NULL && (n > sizeof(bytes) || !json_hex_exact(wire, bytes, n) ||
				    memcmp(bytes, pkt, n) != 0))
		return false;
	return memcmp(sum, expected, sizeof(sum)) == 0;
}

static void run(const struct subject *s, const struct json *packets, uint32_t seq)
{
	static uint8_t clear[PACKET_MAX], pkt[PACKET_MAX + 64];
	void *seal = context(s, PKTC_SEAL), *open = context(s, PKTC_OPEN);
	struct pktc_at at = {.seq = seq};
	for (const struct json *p = json_first(packets); p != NULL; p = p->next) {
		size_t n = (size_t)json_int(json_get(p, "clear_n"), 0);
		size_t payload_n = (size_t)json_int(json_get(p, "payload_n"), 0);
		write_clear(clear, n, payload_n, at.packet);
		memcpy(pkt, clear, n);
		s->row->seal(seal, at, pkt, n);
		vec_check(wire_is(p, pkt, n + s->row->tag), s->row->name, (int64_t)at.packet);
		uint32_t length = 0;
		vec_check(s->row->length(open, at, pkt, &length) == OK && length == n - 4, "length",
			(int64_t)at.packet);
		vec_check(s->row->open(open, at, pkt, n) == OK && memcmp(pkt, clear, n) == 0,
			"open", (int64_t)at.packet);
		at.seq++;
		at.packet++;
		at.block += (n - s->row->clear_len) / s->row->block;
	}
	s->row->done(open);
	s->row->done(seal);
	free(open);
	free(seal);
}

static void run_case(const struct json *c, uint32_t seq, enum pick_impl impl)
{
	struct subject s = {.cipher = json_text(json_get(c, "cipher")),
		.mac = json_text(json_get(c, "mac")),
		.key = hex_of(json_get(c, "key")),
		.iv = hex_of(json_get(c, "iv")),
		.mac_key = hex_of(json_get(c, "mac_key"))};
	const struct alg_cipher *cipher = alg_cipher_find(cslice_str(s.cipher));
	const struct alg_mac *mac = s.mac[0] != '\0' ? alg_mac_find(cslice_str(s.mac)) : NULL;
	vec_check(cipher != NULL && (s.mac[0] == '\0') == (mac == NULL), s.cipher, -1);
	if (cipher != NULL) {
		vec_check(cipher->key == s.key.n && cipher->iv == s.iv.n, s.cipher, -2);
		s.row = pktc_for(cipher, mac, impl == PICK_IPSECMB);
		run(&s, json_get(c, "packets"), seq);
	}
	free((void *)(uintptr_t)s.mac_key.p);
	free((void *)(uintptr_t)s.iv.p);
	free((void *)(uintptr_t)s.key.p);
}

/* Every row of the tables stands in the file. */
static bool has_case(const struct json *cases, const char *cipher, const char *mac)
{
	for (const struct json *c = json_first(cases); c != NULL; c = c->next)
		if (json_is(json_get(c, "cipher"), cipher) && json_is(json_get(c, "mac"), mac))
			return true;
	printf("no vector for %s %s\n", cipher, mac);
	return false;
}

static void check_coverage(const struct json *cases)
{
	for (size_t i = 0; i < alg_ciphers_n; i++) {
		bool is_aead = (alg_ciphers[i].flags & AF_AEAD) != 0;
		for (size_t k = 0; k < (is_aead ? 1 : alg_macs_n); k++)
			vec_check(has_case(cases, alg_ciphers[i].name,
					  is_aead ? "" : alg_macs[k].name),
				"coverage", (int64_t)i);
	}
}

int main(void)
{
	struct json_doc *doc = json_load(PKTC_JSON);
	const struct json *cases = json_get(json_root(doc), "cases");
	uint32_t seq = (uint32_t)json_int(json_get(json_root(doc), "seq"), 0);
	vec_check(crypto_init() == OK, "init", -1);
	check_coverage(cases);
	for (enum pick_impl impl = PICK_LIBCRYPTO; impl < PICK_N; impl++) {
		if (pick_gcm(impl) == NULL) {
			printf("%s does not run here: its vectors are left out\n",
				pick_impl_name(impl));
			continue;
		}
		pick_force_impl(impl);
		for (const struct json *c = json_first(cases); c != NULL; c = c->next)
			run_case(c, seq, impl);
	}
	json_free(doc);
	return vec_done();
}
