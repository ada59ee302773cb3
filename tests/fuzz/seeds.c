/* SPDX-License-Identifier: ISC */
/*
 * seeds - makes the first inputs of the engine targets
 *
 *     seeds scripts DIR     honest and slightly dishonest scripts, recordings of our own two
 * engines seeds server FILE     is the server of first_server on stdin and stdout, and records the
 * client seeds client FILE     is the client of first_client, and records the server
 *
 * The last two record real peers: the engines draw the randomness that the targets draw, so the
 * recording is understood when it is played again.
 */
#include <stdio.h>
#include <unistd.h>

#include "auth_stage.h"
#include "privsep/monitor.h"

static const char *folder;

static void save(const char *target, const char *name, const struct buf *b)
{
	char path[512];
	(void)snprintf(path, sizeof(path), "%s/%s/%s", folder, target, name);
	FILE *f = fopen(path, "wb");
	PROMISE(f != NULL && buf_err(b) == OK);
	PROMISE(fwrite(b->p, 1, b->n, f) == b->n && fclose(f) == 0);
}

/* ---- scripts ---- */

static void head(struct buf *b, uint8_t scene, uint8_t suite, uint8_t how)
{
	buf_init(b, 1 << 20);
	buf_put(b, (uint8_t[SCRIPT_HEAD]){scene, suite, how, 0}, SCRIPT_HEAD);
}

static void step(struct buf *b, enum script_kind kind, const void *p, size_t n)
{
	buf_put_u8(b, (uint8_t)kind);
	buf_put_u8(b, (uint8_t)(n >> 8));
	buf_put_u8(b, (uint8_t)n);
	buf_put(b, p, n);
}

#define SAY(b, name, ...)                                                                          \
	do {                                                                                       \
		struct ssh_##name msg_ = {__VA_ARGS__};                                            \
		uint8_t room_[4096] = {SSH_MSG_##name};                                            \
		struct wr w_ = wr_of((struct slice){room_ + 1, sizeof(room_) - 1});                \
		ssh_put_##name(&w_, &msg_);                                                        \
		PROMISE(wr_end(&w_) == OK);                                                        \
		step(b, SCRIPT_MSG, room_, 1 + w_.n);                                              \
	} while (0)
#define S(text)                                                                                    \
	{                                                                                          \
		(const uint8_t *)(text), sizeof(text) - 1                                          \
	}

static const uint8_t cookie[16] = "0123456789abcde", point[1217] = {9};

static void kexinit(struct buf *b, const char *kex)
{
	struct cslice cipher = S("aes128-gcm@openssh.com,aes256-ctr"),
		      mac = S("hmac-sha2-256-etm@openssh.com,hmac-sha1"),
		      comp = S("none,zlib@openssh.com"), none = S("");
	SAY(b, kexinit, {cookie, 16}, cslice_str(kex), S("ssh-ed25519"), cipher, cipher, mac, mac,
		comp, comp, none, none);
}

/* What a client says in an exchange, from the first word or as a rekey. */
static void exchange(struct buf *b, const char *kex, size_t n)
{
	static const uint8_t e[257] = {0, 0x41};
	kexinit(b, kex);
	if (strncmp(kex, "diffie-hellman-group-exchange", 29) == 0) {
		SAY(b, gex_request, 2048, 2048, 8192);
		SAY(b, gex_init, {e + 1, 256});
	} else {
		SAY(b, kex_init, {n == 257 ? e : point, n});
	}
	SAY(b, newkeys);
	SAY(b, ping, S("are you there"));
	SAY(b, ignore, S("nothing"));
}

static const struct {
	const char *name, *kex;
	size_t n;
} methods[] = {
	{"x25519", "curve25519-sha256,ext-info-c,kex-strict-c-v00@openssh.com", 32},
	{"loose", "curve25519-sha256@libssh.org", 32},
	{"p256", "ecdh-sha2-nistp256", 65},
	{"mlkem", "mlkem768x25519-sha256,ext-info-c", 1216},
	{"sntrup", "sntrup761x25519-sha512,ext-info-c", 1190},
	{"group14", "diffie-hellman-group14-sha256", 257},
	{"gex", "diffie-hellman-group-exchange-sha256", 257},
};

static void packets(void)
{
	struct buf b;
	char name[64];
	static const char version[] = "SSH-2.0-OpenSSH_9.2\r\n";
	for (size_t i = 0; i < ARRAY_N(methods); i++) {
		head(&b, 3, 0, 0);
		step(&b, SCRIPT_RAW, version, sizeof(version) - 1);
		exchange(&b, methods[i].kex, methods[i].n);
		SAY(&b, ext_info, 1, S("\0\0\0\1a\0\0\0\1b"));
		SAY(&b, service_request, S("ssh-userauth"));
		SAY(&b, userauth_request, S("me"), S("ssh-connection"), S("none"));
		(void)snprintf(name, sizeof(name), "fresh_%s", methods[i].name);
		save("packets", name, &b);
		buf_done(&b);
		head(&b, 5, (uint8_t)i, (uint8_t)(i & 3));
		SAY(&b, global_request, S("keepalive@openssh.com"), true);
		exchange(&b, methods[i].kex, methods[i].n);
		SAY(&b, channel_open, S("session"), 0, 65536, 32768);
		SAY(&b, channel_data, 0, S("data"));
		step(&b, SCRIPT_OWN, "\4\0\0", 3);
		SAY(&b, debug, true, S("words"));
		SAY(&b, unimplemented, 3);
		step(&b, SCRIPT_OWN, "\1\20\0", 3);
		step(&b, SCRIPT_OWN, "\2\0\0", 3);
		SAY(&b, disconnect, 11, S("bye"));
		(void)snprintf(name, sizeof(name), "open_%s", methods[i].name);
		save("packets", name, &b);
		buf_done(&b);
	}
}

static void auth_server(void)
{
	struct buf b;
	static const uint8_t key[] = "\0\0\0\0\13ssh-ed25519\0\0\0\63\0\0\0\13ssh-ed25519\0\0\0\40"
				     "0123456789abcdef0123456789abcdef";
	static const uint8_t sign[] = "\1\0\0\0\13ssh-ed25519\0\0\0\63\0\0\0\13ssh-ed25519\0\0\0\40"
				      "0123456789abcdef0123456789abcdef"
				      "\0\0\0\123\0\0\0\13ssh-ed25519\0\0\0\100"
				      "0123456789abcdef0123456789abcdef"
				      "0123456789abcdef0123456789abcdef";
	struct cslice me = S("me"), service = S("ssh-connection");
	for (uint8_t how = 0; how < 4; how++) {
		char name[32];
		head(&b, 1, how, (uint8_t)(how | 2));
		SAY(&b, service_request, S("ssh-userauth"));
		SAY(&b, userauth_request, me, service, S("none"));
		step(&b, SCRIPT_ANSWER, "\0", 1);
		step(&b, SCRIPT_ANSWER, "\1", 1);
		SAY(&b, userauth_request, me, service, S("publickey"), {key, sizeof(key) - 1});
		step(&b, SCRIPT_ANSWER, "\0", 1);
		SAY(&b, userauth_request, me, service, S("publickey"), {sign, sizeof(sign) - 1});
		step(&b, SCRIPT_ANSWER, how & 1 ? "\2password" : "\1", how & 1 ? 9 : 1);
		SAY(&b, userauth_request, me, service, S("keyboard-interactive"),
			S("\0\0\0\0\0\0\0\0"));
		step(&b, SCRIPT_ANSWER, "\3", 1);
		SAY(&b, userauth_info_response, 1, S("\0\0\0\2yo"));
		step(&b, SCRIPT_ANSWER, "\1", 1);
		SAY(&b, userauth_request, me, service, S("password"), S("\0\0\0\0\6secret"));
		step(&b, SCRIPT_ANSWER, how & 2 ? "\1" : "\0", 1);
		step(&b, SCRIPT_TICK, "\0\0\0\144", 4);
		SAY(&b, channel_open, S("session"), 0, 65536, 32768);
		(void)snprintf(name, sizeof(name), "server_%u", how);
		save("auth", name, &b);
		buf_done(&b);
	}
}

static void auth_client(void)
{
	struct buf b;
	for (uint8_t how = 0; how < 4; how++) {
		char name[32];
		struct cslice all = S("publickey,password,keyboard-interactive");
		head(&b, 0, how, how & 1 ? 2 : 0);
		SAY(&b, service_accept, S("\0\0\0\14ssh-userauth"));
		SAY(&b, ext_info, 1,
			S("\0\0\0\17server-sig-algs\0\0\0\30ssh-ed25519,rsa-sha2-512"));
		SAY(&b, userauth_banner, S("hello"));
		for (size_t i = 0; i < 3; i++) { /* three keys, the first signs at once */
			if (i == 0)
				step(&b, SCRIPT_ANSWER, "\0sig", 4);
			SAY(&b, userauth_failure, all, how == 3 && i == 1);
		}
		SAY(&b, userauth_60, S("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\1?\0"));
		step(&b, SCRIPT_ANSWER, "\0", 1);
		SAY(&b, userauth_failure, S("password"));
		step(&b, SCRIPT_ANSWER, "\0old", 4);
		SAY(&b, userauth_60, S("\0\0\0\3new\0\0\0\0"));
		step(&b, SCRIPT_ANSWER, "\0", 1);
		SAY(&b, userauth_success);
		SAY(&b, global_request, S("hostkeys-00@openssh.com"), false);
		(void)snprintf(name, sizeof(name), "client_%u", how);
		save("auth", name, &b);
		buf_done(&b);
	}
}

/* The peer opens a session, or answers ours; numbers of ours begin at 0. */
static void channels(void)
{
	struct buf b;
	for (uint8_t how = 0; how < 8; how++) {
		char name[32];
		head(&b, how & 1, how, (uint8_t)(how & 4 ? 8 : 2));
		if (how & 2) {
			SAY(&b, channel_open, S("session"), 7, 65536, 32768);
			step(&b, SCRIPT_OWN, "\1\0", 2);
		} else {
			step(&b, SCRIPT_OWN, "\0\0", 2);
			SAY(&b, channel_open_confirmation, 0, 7, 65536, 32768);
		}
		SAY(&b, channel_request, 0, S("pty-req"), true, S("\0\0\0\1x"));
		SAY(&b, channel_request, 0, S("exec"), true, S("\0\0\0\4true"));
		step(&b, SCRIPT_OWN, "\12\0\0\1", 4);
		step(&b, SCRIPT_OWN, "\3\0\20\0", 4);
		if (how & 4) { /* the small window, to its last byte */
			SAY(&b, channel_data, 0, {point, 600});
			SAY(&b, channel_data, 0, {point, 400});
			step(&b, SCRIPT_OWN, "\5\0\3\350", 4);
		}
		SAY(&b, channel_data, 0, S("some input"));
		SAY(&b, channel_extended_data, 0, 1, S("a complaint"));
		step(&b, SCRIPT_OWN, "\5\0\0\12", 4);
		SAY(&b, channel_window_adjust, 0, 100000);
		step(&b, SCRIPT_OWN, "\11\0\0\1", 4);
		SAY(&b, channel_success, 0);
		SAY(&b, global_request, S("keepalive@openssh.com"), true);
		step(&b, SCRIPT_OWN, "\14\0\0\1", 4);
		step(&b, SCRIPT_OWN, "\13\0\0\1", 4);
		SAY(&b, request_success, S("\0\0\10\0"));
		SAY(&b, channel_open, S("direct-tcpip"), 8, 0, 1);
		step(&b, SCRIPT_OWN, "\2\1", 2);
		exchange(
			&b, methods[how % ARRAY_N(methods)].kex, methods[how % ARRAY_N(methods)].n);
		SAY(&b, channel_eof, 0);
		step(&b, SCRIPT_OWN, "\6\0", 2);
		SAY(&b, channel_close, 0);
		step(&b, SCRIPT_OWN, "\7\0", 2);
		(void)snprintf(name, sizeof(name), "session_%u", how);
		save("channels", name, &b);
		buf_done(&b);
	}
}

/* Channels to the client's agent: the server asks for them, and either end is the one under test.
 * Bytes go both ways, new keys come in between, and each direction ends by itself. */
static void agent_channels(void)
{
	struct buf b;
	for (uint8_t how = 0; how < 8; how++) {
		bool is_server = how & 1;
		char name[32];
		head(&b, is_server ? 3 : 2, how, (uint8_t)(how & 4 ? 8 : 0));
		for (uint8_t k = 0; k < 2; k++) {
			if (is_server) {
				step(&b, SCRIPT_OWN, "\0\0", 2);
				SAY(&b, channel_open_confirmation, k, 7 + k, 65536, 32768);
			} else {
				SAY(&b, channel_open, S("auth-agent@openssh.com"), 7 + k, 65536,
					32768);
				step(&b, SCRIPT_OWN, (uint8_t[]){1, k}, 2);
			}
		}
		if (is_server) /* a third, which the client has no agent for */
			step(&b, SCRIPT_OWN, "\0\0", 2);
		if (is_server)
			SAY(&b, channel_open_failure, 2, 2, S("no agent"), S(""));
		SAY(&b, channel_data, 0, S("\0\0\0\1\13"));
		step(&b, SCRIPT_OWN, "\5\0\0\5", 4);
		step(&b, SCRIPT_OWN, "\3\0\0\3", 4);
		SAY(&b, channel_data, 1, {point, 600});
		if (how & 2) {
			SAY(&b, channel_data, 1, {point, 400}); /* full, where windows are small */
			if (is_server)
				exchange(&b, methods[0].kex, methods[0].n);
			step(&b, SCRIPT_OWN, "\3\1\20\3", 4);
			step(&b, SCRIPT_OWN, "\5\1\3\350", 4);
		}
		SAY(&b, channel_window_adjust, 1, 1000);
		step(&b, SCRIPT_OWN, "\6\0", 2); /* ours ends, theirs goes on */
		SAY(&b, channel_data, 0, S("\0\0\0\1\5"));
		SAY(&b, channel_eof, 1); /* theirs ends, ours goes on */
		step(&b, SCRIPT_OWN, "\3\1\0\3", 4);
		SAY(&b, channel_request, 0, S("exec"), true, S("\0\0\0\1x"));
		step(&b, SCRIPT_OWN, "\12\0\0\0", 4);
		step(&b, SCRIPT_OWN, "\7\0", 2);
		SAY(&b, channel_close, 0);
		SAY(&b, channel_close, 1);
		step(&b, SCRIPT_OWN, "\7\1", 2);
		if (!is_server) /* asked for only: the answers are a server's */
			exchange(&b, methods[0].kex, methods[0].n);
		(void)snprintf(name, sizeof(name), "agent_%u", how);
		save("channels", name, &b);
		buf_done(&b);
	}
}

#define ASK(b, name, ...)                                                                          \
	do {                                                                                       \
		struct ps_req_##name req_ = {__VA_ARGS__};                                         \
		uint8_t room_[4096] = {PS_##name};                                                 \
		struct wr w_ = wr_of((struct slice){room_ + 1, sizeof(room_) - 1});                \
		ps_put_req_##name(&w_, &req_);                                                     \
		PROMISE(wr_end(&w_) == OK);                                                        \
		step(b, SCRIPT_MSG, room_, 1 + w_.n);                                              \
	} while (0)

static void monitor(void)
{
	struct buf b;
	for (uint8_t how = 0; how < 4; how++) {
		char name[32];
		head(&b, 0, how == 1 ? 2 : 0, 0); /* no, no or try again, no, no */
		ASK(&b, start, 0);
		ASK(&b, log, 2, S("a line"));
		ASK(&b, moduli, 2048, 3072, 8192);
		ASK(&b, sign_host, 0, S("ssh-ed25519"), S("0123456789abcdef0123456789abcdef"));
		ASK(&b, pwnam, S("me"), S("ssh-connection"));
		ASK(&b, auth_none, 0);
		ASK(&b, key_allowed, S("ssh-ed25519"), S("\0\0\0\13ssh-ed25519"));
		ASK(&b, key_verify, 1, false, S("a signature"));
		ASK(&b, kbdint, false, S(""));
		b.p[3] = 1;
		ASK(&b, auth_password, S("secret"));
		ASK(&b, state, S("a frozen engine"));
		step(&b, SCRIPT_OWN, "", 0);
		if (how != 2)
			ASK(&b, pty, S("xterm"), 80, 24);
		ASK(&b, sign_host, 0, S("ssh-ed25519"), S("0123456789abcdef0123456789abcdef"));
		ASK(&b, pty_end, S("/dev/pts/1"));
		ASK(&b, ended, 1, 11, S("bye"));
		(void)snprintf(name, sizeof(name), "login_%u", how);
		save("monitor", name, &b);
		buf_done(&b);
	}
}

/* The frozen form field by field: strings, and numbers of so many bytes. */
static void frozen(void)
{
	static const char layout[] = "441111ssssss44ss888888ssssss488881ssssss488881ss";
	for (unsigned int i = 0; i < 2 * STAGE_SUITES; i++) {
		struct buf b;
		char name[32];
		enum tp_role role = i & 1 ? TP_SERVER : TP_CLIENT;
		struct rd r = rd_of(stage_frozen(role, i / 2));
		buf_init(&b, 1 << 16);
		buf_put_u32(&b, role == TP_SERVER);
		for (size_t f = 0; layout[f] != '\0'; f++) {
			bool is_string = layout[f] == 's';
			struct cslice v =
				is_string ? rd_str(&r) : rd_take(&r, (size_t)(layout[f] - '0'));
			step(&b, is_string ? SCRIPT_MSG : SCRIPT_PACKED, v.p, v.n);
		}
		PROMISE(rd_end(&r) == OK);
		(void)snprintf(name, sizeof(name), "suite_%u", i);
		save("frozen", name, &b);
		buf_done(&b);
	}
}

/* ---- one end with a peer behind stdin and stdout ---- */

static void write_all(struct stage *s, struct cslice bytes)
{
	(void)s;
	while (bytes.n > 0) {
		ssize_t n = write(1, bytes.p, bytes.n);
		if (n <= 0)
			return;
		bytes = cslice_of(bytes.p + n, bytes.n - (size_t)n);
	}
}

static void record(enum tp_role role, const char *path)
{
	uint8_t room[16384];
	struct auth a = {.verdict = role == TP_SERVER ? E_DENIED : OK};
	FILE *f = fopen(path, "wb");
	PROMISE(f != NULL);
	stage_fresh(&a.s, role);
	auth_start(&a);
	a.s.is_honest = true;
	setvbuf(f, NULL, _IONBF, 0); /* the peer may end us */
	a.s.sent = write_all;
	PROMISE(fputc(0, f) == 0); /* no orders */
	stage_pump(&a.s);
	ssize_t n;
	while (tp_error(a.s.tp) == OK && (n = read(0, room, sizeof(room))) > 0) {
		PROMISE(fwrite(room, 1, (size_t)n, f) == (size_t)n);
		stage_feed(&a.s, cslice_of(room, (size_t)n));
	}
	fprintf(stderr, "recorded: keys %u, questions %u, %s\n", a.s.keys_n, a.asks,
		err_text(tp_error(a.s.tp)));
	PROMISE(fclose(f) == 0);
	auth_done(&a);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	auth_global();
	if (strcmp(argv[1], "scripts") == 0) {
		folder = argv[2];
		packets();
		auth_server();
		auth_client();
		channels();
		agent_channels();
		monitor();
		frozen();
	} else {
		record(strcmp(argv[1], "server") == 0 ? TP_SERVER : TP_CLIENT, argv[2]);
	}
	return 0;
}
