/* SPDX-License-Identifier: ISC */
/* Room, bulk, memory, compression, and the change of implementation in mid-stream. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "pair.h"
#include "transport/tp_int.h"

static void up_with(struct pair *p, const char *cipher, const char *mac, const char *comp)
{
	p->c.policy.kex = "curve25519-sha256";
	p->c.policy.cipher_c2s = p->c.policy.cipher_s2c = cipher;
	p->c.policy.mac_c2s = p->c.policy.mac_s2c = mac;
	p->c.policy.comp_c2s = p->c.policy.comp_s2c = comp;
	pair_start(p);
	pair_run(p);
	assert_int_equal(end_count(&p->c, TP_EV_KEYS), 1);
	pair_open(p);
}

static void up(struct pair *p)
{
	up_with(p, "aes128-gcm@openssh.com", "hmac-sha1", "none");
}

/* ---- reserve ---- */

static void unused_room_is_given_back(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p, 1);
	up(&p);
	static const size_t sizes[][2] = {
		{0, 0}, {1, 0}, {1, 1}, {1000, 3}, {32768, 32768}, {32768, 0}, {200000, 1}};
	size_t sent = 0;
	for (size_t i = 0; i < ARRAY_N(sizes); i++) {
		struct slice s;
		size_t before = tp_unsent(p.c.tp);
		assert_int_equal(tp_reserve(p.c.tp, 94, sizes[i][0], &s), OK);
		assert_int_equal(s.n, sizes[i][0]);
		memset(s.p, (int)i, s.n);
		assert_int_equal(tp_unsent(p.c.tp), before);
		assert_int_equal(tp_reserve(p.c.tp, 94, 1, &s), E_PHASE); /* one at a time */
		if (i % 3 == 2) {
			tp_cancel(p.c.tp);
			assert_int_equal(tp_commit(p.c.tp, 0), E_PHASE);
			continue;
		}
		assert_int_equal(tp_commit(p.c.tp, sizes[i][1]), OK);
		assert_true(tp_unsent(p.c.tp) <= before + sizes[i][1] + 64);
		sent++;
	}
	struct slice s;
	assert_int_equal(tp_reserve(p.c.tp, 94, TP_PACKET_MAX, &s), E_LIMIT);
	assert_int_equal(tp_reserve(p.c.tp, 94, SIZE_MAX, &s), E_LIMIT);
	pair_run(&p);
	assert_int_equal(p.s.err, OK);
	assert_int_equal(p.s.msgs_n, sent);
	pair_done(&p);
}

/* head 8 bytes: channel and length word; the data is a running counter. */
static size_t send_bulk(
	struct pair *p, struct end *e, size_t data_max, size_t want, uint32_t *count)
{
	struct tp_bulk b = {.head_n = 8, .data_max = data_max, .want = want};
	err_t r = tp_reserve_bulk(e->tp, 94, &b);
	if (r == E_AGAIN)
		return 0;
	assert_int_equal(r, OK);
	assert_in_range(b.n, 1, TP_BULK_MAX);
	size_t room = 0;
	for (uint32_t i = 0; i < b.n; i++)
		room += b.v[i].data_n;
	assert_true(room <= want);
	size_t used =
		rng_below(&p->rng.rng, 3) == 0 ? rng_below(&p->rng.rng, (uint32_t)room + 1) : room;
	size_t left = used;
	for (uint32_t i = 0; i < b.n && left > 0; i++) {
		size_t n = num_min(left, b.v[i].data_n);
		assert_true(b.v[i].data_n <= data_max);
		be32_put(b.v[i].head, 7);
		be32_put(b.v[i].head + 4, (uint32_t)n);
		for (size_t k = 0; k < n; k++)
			b.v[i].data[k] = (uint8_t)((*count)++ * 31 >> 3);
		left -= n;
	}
	assert_int_equal(tp_commit_bulk(e->tp, used), OK);
	return used;
}

static void check_stream(const struct end *e, uint32_t count)
{
	struct rd r = rd_of(buf_bytes(&e->msgs));
	uint32_t at = 0;
	while (r.n > 0) {
		assert_int_equal(rd_u8(&r), SSH_MSG_channel_data);
		struct cslice body = rd_str(&r);
		assert_int_equal(be32_get(body.p), 7);
		assert_int_equal(be32_get(body.p + 4), body.n - 8);
		for (size_t k = 8; k < body.n; k++, at++)
			if (body.p[k] != (uint8_t)(at * 31 >> 3))
				fail_msg("byte %u is wrong", at);
	}
	assert_int_equal(at, count);
}

static void bulk_arrives_as_it_was_written(void **state)
{
	(void)state;
	static const char *const ciphers[] = {
		"aes128-gcm@openssh.com", "chacha20-poly1305@openssh.com", "aes128-ctr"};
	static const char *const comps[] = {"none", "zlib@openssh.com"};
	static const size_t maxs[] = {1, 100, 32768, 32768};
	for (size_t i = 0; i < ARRAY_N(ciphers) * ARRAY_N(comps) * ARRAY_N(maxs); i++) {
		struct pair p;
		pair_init(&p, i);
		up_with(&p, ciphers[i % 3], "hmac-sha2-256", comps[i / 3 % 2]);
		size_t data_max = maxs[i / 6];
		p.cut = i % 2 == 0 ? PAIR_WHOLE : PAIR_RANDOM;
		uint32_t count = 0;
		for (int round = 0; round < 40; round++) {
			(void)send_bulk(&p, &p.c, data_max,
				1 + rng_below(&p.rng.rng, (uint32_t)data_max * 10), &count);
			if (round % 3 == 0)
				pair_move(&p, &p.c, &p.s);
		}
		pair_run(&p);
		assert_int_equal(p.s.err, OK);
		check_stream(&p.s, count);
		pair_done(&p);
	}
}

static void large_packets_go_where_the_limit_was_raised(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p, 1);
	up(&p);
	uint32_t count = 0;
	tp_raise_max_packet(p.s.tp, TP_PACKET_MAX);
	for (int i = 0; i < 20; i++) {
		(void)send_bulk(&p, &p.c, 262000, 2000000, &count);
		pair_move(&p, &p.c, &p.s);
	}
	assert_int_equal(p.s.err, OK);
	check_stream(&p.s, count);
	struct tp_bulk b = {.head_n = 8, .data_max = TP_PACKET_MAX, .want = 1000000};
	assert_int_equal(tp_reserve_bulk(p.c.tp, 94, &b), E_LIMIT);
	b = (struct tp_bulk){.head_n = 8, .data_max = TP_PACKET_MAX - 20, .want = 1000000};
	assert_int_equal(tp_reserve_bulk(p.c.tp, 94, &b), E_LIMIT);
	b = (struct tp_bulk){.head_n = 8, .data_max = 1, .want = 0};
	assert_int_equal(tp_reserve_bulk(p.c.tp, 94, &b), E_LIMIT);
	pair_done(&p);
}

static void above_high_water_nothing_is_taken(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p, 1);
	p.c.env.limits.high_water = 300000;
	up(&p);
	uint32_t count = 0;
	while (send_bulk(&p, &p.c, 32768, 32768, &count) > 0)
		;
	assert_in_range(tp_unsent(p.c.tp), 300001, 300000 + 33000);
	assert_int_equal(end_say(&p.c, "x", 1), E_AGAIN);
	struct iovec iov[4];
	assert_int_equal(tp_ready(p.c.tp, iov, 4), 1);
	tp_sent(p.c.tp, 0);
	assert_int_equal(end_say(&p.c, "x", 1), E_AGAIN);
	pair_move(&p, &p.c, &p.s);
	assert_int_equal(end_say(&p.c, "x", 1), OK);
	pair_done(&p);
}

static void used_up_memory_is_waited_for(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p, 1);
	p.c.env.limits.high_water = (size_t)100 << 20;
	up(&p);
	p.c.pool.budget = 4 * CHUNK_SIZE;
	uint32_t count = 0;
	struct tp_bulk b;
	err_t e;
	do {
		b = (struct tp_bulk){.head_n = 8, .data_max = 32768, .want = 262144};
		e = tp_reserve_bulk(p.c.tp, 94, &b);
		if (e == OK)
			tp_cancel(p.c.tp);
	} while (e == OK && send_bulk(&p, &p.c, 32768, 262144, &count) < SIZE_MAX);
	assert_int_equal(e, E_AGAIN);
	assert_int_equal(tp_error(p.c.tp), OK);
	pair_run(&p);
	check_stream(&p.s, count);
	assert_true(send_bulk(&p, &p.c, 32768, 262144, &count) > 0);
	pair_done(&p);
}

/* ---- spans that are kept ---- */

static void kept_spans_keep_their_bytes(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p, 1);
	p.s.pool.budget = 8 * CHUNK_SIZE;
	up(&p);
	struct span kept[64];
	size_t kept_n = 0;
	static uint8_t data[30000];
	for (uint32_t i = 0; i < 200; i++) {
		memset(data, (int)i, sizeof(data));
		assert_int_equal(end_say(&p.c, data, sizeof(data)), OK);
		struct iovec iov;
		while (tp_ready(p.c.tp, &iov, 1) > 0) {
			struct slice room = tp_space(p.s.tp);
			assert_true(room.n > 0);
			size_t n = num_min(room.n, iov.iov_len);
			memcpy(room.p, iov.iov_base, n);
			tp_sent(p.c.tp, n);
			assert_int_equal(tp_fed(p.s.tp, n, 1), OK);
		}
		struct tp_event ev;
		assert_int_equal(tp_poll(p.s.tp, &ev), OK);
		while (ev.type != TP_EV_NONE) {
			assert_int_equal(ev.type, TP_EV_MSG);
			assert_non_null(ev.body.c);
			if (kept_n < 64 && i % 3 == 0) {
				kept[kept_n] = ev.body;
				span_keep(&kept[kept_n++]);
			}
			assert_int_equal(tp_poll(p.s.tp, &ev), OK);
		}
	}
	assert_int_equal(kept_n, 64);
	for (size_t k = 0; k < kept_n; k++) {
		assert_int_equal(kept[k].n, 8 + sizeof(data));
		for (size_t i = 8; i < kept[k].n; i++)
			assert_int_equal(kept[k].p[i], (uint8_t)(k * 3));
		span_drop(&kept[k]);
	}
	assert_true(p.s.pool.used <= 2 * CHUNK_SIZE); /* nothing is held back */
	pair_done(&p);
}

static void without_memory_for_input_nothing_is_read(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p, 1);
	up(&p);
	p.s.pool.budget = p.s.pool.used + CHUNK_SIZE;
	static uint8_t data[30000];
	struct span kept[200];
	size_t kept_n = 0;
	bool was_full = false;
	for (uint32_t i = 0; i < 200; i++) {
		if (tp_unsent(p.c.tp) < 100000)
			assert_int_equal(end_say(&p.c, data, sizeof(data)), OK);
		struct iovec iov;
		struct slice room = tp_space(p.s.tp);
		was_full |= room.n == 0;
		if (room.n == 0) {
			while (kept_n > 0)
				span_drop(&kept[--kept_n]);
			room = tp_space(p.s.tp);
		}
		assert_int_equal(tp_ready(p.c.tp, &iov, 1), 1);
		size_t n = num_min(room.n, iov.iov_len);
		assert_true(n > 0);
		memcpy(room.p, iov.iov_base, n);
		tp_sent(p.c.tp, n);
		assert_int_equal(tp_fed(p.s.tp, n, 1), OK);
		struct tp_event ev;
		for (assert_int_equal(tp_poll(p.s.tp, &ev), OK); ev.type != TP_EV_NONE;
			assert_int_equal(tp_poll(p.s.tp, &ev), OK)) {
			kept[kept_n] = ev.body;
			span_keep(&kept[kept_n++]);
		}
	}
	assert_true(was_full);
	while (kept_n > 0)
		span_drop(&kept[--kept_n]);
	pair_done(&p);
}

/* ---- reading in step with packets ---- */

/* While packets of one size flow, what is asked for ends where a packet ends. */
static void bulk_is_read_to_the_end_of_a_packet(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p, 1);
	p.c.env.limits.high_water = (size_t)16 << 20;
	p.c.pool.budget = (size_t)64 << 20;
	up(&p);
	static uint8_t data[32768];
	for (int i = 0; i < 200; i++)
		assert_int_equal(end_say(&p.c, data, sizeof(data)), OK);
	uint32_t straddled = 0, reads = 0;
	struct iovec iov;
	while (tp_ready(p.c.tp, &iov, 1) > 0) {
		struct slice room = tp_space(p.s.tp);
		assert_true(room.n <= 2 * TP_BATCH);
		size_t n = num_min(room.n, iov.iov_len);
		memcpy(room.p, iov.iov_base, n);
		tp_sent(p.c.tp, n);
		assert_int_equal(tp_fed(p.s.tp, n, 1), OK);
		end_poll(&p.s);
		reads++;
		straddled += p.s.tp->in.end != p.s.tp->in.at;
	}
	assert_int_equal(p.s.msgs_n, 200);
	assert_true(reads < 45);
	assert_true(straddled < 12); /* where the sender's chunk ends, and the first read */
	assert_true(p.s.pool.used <= 2 * CHUNK_SIZE);
	pair_done(&p);
}

static void an_idle_engine_gives_its_memory_back(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p, 1);
	up(&p);
	assert_true(tp_deadline(p.s.tp) == UINT64_MAX); /* a login touches little */
	uint32_t count = 0;
	for (int i = 0; i < 20; i++) {
		(void)send_bulk(&p, &p.c, 32768, 262144, &count);
		pair_move(&p, &p.c, &p.s);
	}
	struct end *const ends[] = {&p.c, &p.s};
	for (int i = 0; i < 2; i++) {
		uint64_t at = tp_deadline(ends[i]->tp);
		assert_true(at != UINT64_MAX);
		assert_int_equal(tp_tick(ends[i]->tp, at - 1), OK);
		assert_true(tp_deadline(ends[i]->tp) == at);
		assert_int_equal(tp_tick(ends[i]->tp, at), OK);
		assert_true(tp_deadline(ends[i]->tp) == UINT64_MAX);
		assert_int_equal(ends[i]->pool.used, 0);
		assert_int_equal(ends[i]->pool.spare_n, 0);
	}
	assert_int_equal(end_say(&p.c, "x", 1), OK);
	pair_run(&p);
	assert_int_equal(p.s.err, OK);
	pair_done(&p);
}

/* ---- compression ---- */

static void compression_starts_at_login_and_survives_rekeys(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p, 1);
	p.c.policy.comp_c2s = p.c.policy.comp_s2c = "zlib@openssh.com";
	p.c.policy.kex = "curve25519-sha256";
	p.c.reopen_on_success = true;
	pair_start(&p);
	pair_run(&p);
	assert_int_equal(
		tp_put(p.c.tp, service_request, .service = cslice_str("ssh-userauth")), OK);
	pair_run(&p);
	assert_null(p.c.tp->out_way.z);
	assert_int_equal(tp_put(p.s.tp, userauth_success), OK);
	tp_set_open(p.s.tp);
	static uint8_t zeros[30000];
	assert_int_equal(end_say(&p.s, zeros, sizeof(zeros)), OK); /* right behind: compressed */
	assert_true(tp_unsent(p.s.tp) < 1000);
	pair_run(&p);
	assert_int_equal(p.c.err, OK);
	assert_int_equal(p.c.msgs_n, 2);
	for (int i = 0; i < 5; i++) {
		size_t before = p.moved;
		assert_int_equal(end_say(&p.c, zeros, sizeof(zeros)), OK);
		pair_run(&p);
		assert_true(p.moved - before < 1000);
		assert_int_equal(tp_rekey(i % 2 == 0 ? p.c.tp : p.s.tp), OK);
		pair_run(&p);
	}
	assert_int_equal(p.s.msgs_n, 6);
	uint8_t number;
	assert_int_equal(end_msg(&p.s, 5, &number).n, 8 + sizeof(zeros));
	/* noise grows a little under deflate and still fits */
	static uint8_t noise[32000];
	rng_fill(&p.rng.rng, noise, sizeof(noise));
	for (int i = 0; i < 30; i++)
		assert_int_equal(end_say(&p.c, noise, sizeof(noise)), OK);
	pair_run(&p);
	assert_int_equal(p.s.err, OK);
	assert_int_equal(p.s.msgs_n, 36);
	assert_memory_equal(end_msg(&p.s, 35, &number).p + 8, noise, sizeof(noise));
	pair_done(&p);
}

static void a_bomb_is_stopped_at_the_packet_limit(void **state)
{
	(void)state;
	for (int over = 0; over < 2; over++) {
		struct pair p;
		pair_init(&p, 1);
		up_with(&p, "aes128-gcm@openssh.com", "hmac-sha1", "zlib@openssh.com");
		size_t n = TP_PACKET_FIRST - 1 + (size_t)over; /* and the number */
		uint8_t *zeros = calloc(1, n);
		assert_non_null(zeros);
		end_force(&p.c, SSH_MSG_global_request, zeros, n);
		pair_run(&p);
		assert_int_equal(p.s.err, over != 0 ? E_COMPRESSION : OK);
		assert_int_equal(p.s.msgs_n, over != 0 ? 0 : 1);
		free(zeros);
		pair_done(&p);
	}
}

static void damaged_or_empty_streams_are_refused(void **state)
{
	(void)state;
	static const char *const payloads[] = {"\x5enot zlib", "\x78\x9c", "\x78"};
	for (size_t i = 0; i < ARRAY_N(payloads); i++) {
		struct pair p;
		pair_init(&p, 1);
		up_with(&p, "aes128-gcm@openssh.com", "hmac-sha1", "zlib@openssh.com");
		p.c.tp->out_way.z_on = false; /* the sender's payload goes as it is */
		end_force(&p.c, (uint8_t)payloads[i][0], payloads[i] + 1, strlen(payloads[i]) - 1);
		pair_run(&p);
		assert_int_equal(p.s.err, E_COMPRESSION);
		pair_done(&p);
	}
}

/* ---- the quick implementation ---- */

static void the_implementation_changes_in_mid_stream(void **state)
{
	(void)state;
	for (size_t i = 0; i < alg_ciphers_n * 2; i++) {
		struct pair p;
		pair_init(&p, i);
		p.c.env.lazy_fast = true;
		p.s.env.use_fast = i % 2 == 0;
		up_with(&p, alg_ciphers[i / 2].name, "hmac-sha2-256-etm@openssh.com", "none");
		assert_false(p.c.tp->out_way.is_fast);
		uint32_t to_s = 0, to_c = 0;
		for (int k = 0; k < 30; k++) {
			(void)send_bulk(&p, &p.c, 32768, 65536, &to_s);
			(void)send_bulk(&p, &p.s, 32768, 65536, &to_c);
			pair_move(&p, &p.c, &p.s);
			pair_move(&p, &p.s, &p.c);
			if (k == 20)
				assert_int_equal(tp_rekey(p.c.tp), OK);
		}
		pair_run(&p);
		assert_int_equal(p.c.err, OK);
		assert_int_equal(p.s.err, OK);
		assert_true(p.c.tp->out_way.is_fast && p.c.tp->in_way.is_fast);
		assert_ptr_equal(p.c.tp->out_way.pktc,
			pktc_for(p.c.tp->out_way.mat.cipher, p.c.tp->out_way.mat.mac_row, true));
		check_stream(&p.s, to_s);
		check_stream(&p.c, to_c);
		pair_done(&p);
	}
}

int main(void)
{
	if (crypto_init() != OK)
		return 1;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unused_room_is_given_back),
		cmocka_unit_test(bulk_arrives_as_it_was_written),
		cmocka_unit_test(large_packets_go_where_the_limit_was_raised),
		cmocka_unit_test(above_high_water_nothing_is_taken),
		cmocka_unit_test(used_up_memory_is_waited_for),
		cmocka_unit_test(kept_spans_keep_their_bytes),
		cmocka_unit_test(without_memory_for_input_nothing_is_read),
		cmocka_unit_test(bulk_is_read_to_the_end_of_a_packet),
		cmocka_unit_test(an_idle_engine_gives_its_memory_back),
		cmocka_unit_test(compression_starts_at_login_and_survives_rekeys),
		cmocka_unit_test(a_bomb_is_stopped_at_the_packet_limit),
		cmocka_unit_test(damaged_or_empty_streams_are_refused),
		cmocka_unit_test(the_implementation_changes_in_mid_stream),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
