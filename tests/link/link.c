/* SPDX-License-Identifier: ISC */
/*
 * link - a network path with delay, rate, queue and loss between two network namespaces
 *
 *	link RTT-MS [RATE-MBIT [QUEUE-PACKETS [LOSS-PPM [SEED]]]]
 *
 * Makes two namespaces with one TUN device each (10.77.0.1 and 10.77.0.2), prints the ids of two
 * processes that live in them, one line, and carries packets until its standard input ends.  Rate 0
 * is "as fast as it goes".  The queue is what may wait for the rate, in packets of full size, as a
 * router's does; delay is added behind it.  Needs the right to make namespaces; the kernel needs
 * only TUN.
 *
 * Without loss the kernel hands over TCP's segments unsplit, up to 64 KiB at once, so that the path
 * costs little of the machine that it measures; with loss each packet is lost by itself.
 *
 * Each direction is a ring of packets in the order they came, and a ring of their bytes.  As delay
 * is the same for all, the head of a ring is always the next one due.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { RING = 1 << 17, PACKET = 1500, HEAD = sizeof(struct virtio_net_hdr) };
#define BYTES     ((size_t)384 << 20) /* of each direction, under way */
#define BYTES_MAX ((size_t)HEAD + 65536)

struct packet {
	uint64_t due_ns;
	size_t at, n;
};

struct way {
	struct packet *ring;
	uint8_t *bytes;
	size_t at; /* where the next packet's bytes go */
	uint32_t head, tail;
	uint64_t free_ns; /* when the rate is free again */
	int in, out;
};

struct path {
	uint64_t delay_ns, rate_mbit, loss_ppm, seed;
	uint32_t queue;
};

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void set_up(int s, const char *name)
{
	struct ifreq r = {0};

	(void)snprintf(r.ifr_name, sizeof r.ifr_name, "%s", name);
	if (ioctl(s, SIOCGIFFLAGS, &r) != 0)
		die(name);
	r.ifr_flags = (short)(r.ifr_flags | IFF_UP);
	if (ioctl(s, SIOCSIFFLAGS, &r) != 0)
		die(name);
}

static void set_address(int s, unsigned long what, const char *text)
{
	struct ifreq r = {.ifr_name = "bow0"};
	struct sockaddr_in in = {.sin_family = AF_INET};

	(void)inet_pton(AF_INET, text, &in.sin_addr);
	memcpy(&r.ifr_addr, &in, sizeof in);
	if (ioctl(s, what, &r) != 0)
		die(text);
}

/* enters a fresh namespace and makes its device; a process that stays there is started for others
 */
static int make_end(const char *address, bool is_whole, pid_t *holder)
{
	struct ifreq r = {.ifr_name = "bow0", .ifr_flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR};
	int tun, s;

	if (unshare(CLONE_NEWNET) != 0)
		die("unshare");
	tun = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (tun < 0 || ioctl(tun, TUNSETIFF, &r) != 0)
		die("/dev/net/tun");
	if (is_whole && ioctl(tun, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4) != 0)
		die("TUNSETOFFLOAD");
	s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	set_address(s, SIOCSIFADDR, address);
	set_address(s, SIOCSIFNETMASK, "255.255.255.0");
	r.ifr_qlen = 10000;
	(void)ioctl(s, SIOCSIFTXQLEN, &r);
	set_up(s, "bow0");
	set_up(s, "lo");
	(void)close(s);
	*holder = fork();
	if (*holder < 0)
		die("fork");
	if (*holder == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)close(tun);
		for (;;)
			(void)pause();
	}
	return tun;
}

static bool lost(struct path *p)
{
	p->seed ^= p->seed << 13;
	p->seed ^= p->seed >> 7;
	p->seed ^= p->seed << 17;
	return p->seed % 1000000u < p->loss_ppm;
}

/* whether what waits for the rate is as much as may */
static bool queue_full(const struct way *w, const struct path *p, uint64_t now)
{
	if (p->rate_mbit == 0 || w->free_ns <= now)
		return false;
	return (w->free_ns - now) * p->rate_mbit / 8000u >= (uint64_t)p->queue * PACKET;
}

/* a place for one packet's bytes; NULL when all are under way */
static uint8_t *place(struct way *w)
{
	size_t first = w->head == w->tail ? w->at : w->ring[w->head % RING].at;

	if (w->tail - w->head >= RING - 1)
		return NULL;
	if (w->at >= first && BYTES - w->at < BYTES_MAX) {
		if (w->head == w->tail)
			first = BYTES;
		w->at = 0;
		return first > BYTES_MAX ? w->bytes : NULL;
	}
	return w->at >= first || first - w->at > BYTES_MAX ? w->bytes + w->at : NULL;
}

static void take(struct way *w, struct path *p)
{
	static uint8_t rest[BYTES_MAX];

	for (;;) {
		uint8_t *at = place(w);
		uint64_t now = now_ns();
		ssize_t n = read(w->in, at != NULL ? at : rest, BYTES_MAX);

		if (n <= HEAD)
			return;
		if (at == NULL || queue_full(w, p, now) || lost(p))
			continue;
		if (w->free_ns < now)
			w->free_ns = now;
		if (p->rate_mbit > 0)
			w->free_ns += (uint64_t)(n - HEAD) * 8000u / p->rate_mbit;
		w->ring[w->tail++ % RING] = (struct packet){
			.due_ns = w->free_ns + p->delay_ns, .at = w->at, .n = (size_t)n};
		w->at += (size_t)n;
	}
}

/* sends what is due; gives the time of the next one, UINT64_MAX when there is none */
static uint64_t give(struct way *w)
{
	while (w->head != w->tail) {
		struct packet *k = &w->ring[w->head % RING];

		if (k->due_ns > now_ns())
			return k->due_ns;
		while (write(w->out, w->bytes + k->at, k->n) < 0 && errno == EINTR)
			;
		w->head++;
	}
	return UINT64_MAX;
}

static void carry(struct way w[2], struct path *p)
{
	for (;;) {
		uint64_t a = give(&w[0]), b = give(&w[1]), next = a < b ? a : b, now = now_ns();
		struct pollfd f[3] = {{.fd = w[0].in, .events = POLLIN},
			{.fd = w[1].in, .events = POLLIN}, {.fd = 0, .events = POLLIN}};
		struct timespec t = {0};
		char c;

		if (next != UINT64_MAX && next > now) {
			t.tv_sec = (time_t)((next - now) / 1000000000u);
			t.tv_nsec = (long)((next - now) % 1000000000u);
		}
		if (ppoll(f, 3, next == UINT64_MAX ? NULL : &t, NULL) < 0 && errno != EINTR)
			die("ppoll");
		if (f[2].revents != 0 && read(0, &c, 1) <= 0)
			return;
		take(&w[0], p);
		take(&w[1], p);
	}
}

static uint64_t number(int argc, char **argv, int i, uint64_t otherwise)
{
	return argc > i ? strtoull(argv[i], NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
	struct path p = {
		.delay_ns = number(argc, argv, 1, 0) * 1000000u / 2,
		.rate_mbit = number(argc, argv, 2, 0),
		.queue = (uint32_t)number(argc, argv, 3, 1000),
		.loss_ppm = number(argc, argv, 4, 0),
		.seed = number(argc, argv, 5, 88172645463325252u),
	};
	struct way w[2] = {{0}, {0}};
	pid_t holder[2];
	int a, b;

	if (argc < 2 || p.queue == 0 || p.queue > 1000000 || p.seed == 0) {
		(void)fprintf(stderr, "link RTT-MS [RATE-MBIT [QUEUE [LOSS-PPM [SEED]]]]\n");
		return 2;
	}
	a = make_end("10.77.0.1", p.loss_ppm == 0, &holder[0]);
	b = make_end("10.77.0.2", p.loss_ppm == 0, &holder[1]);
	w[0].in = w[1].out = a;
	w[0].out = w[1].in = b;
	for (int i = 0; i < 2; i++)
		if ((w[i].ring = calloc(RING, sizeof *w[i].ring)) == NULL ||
			(w[i].bytes = malloc(BYTES)) == NULL)
			die("memory");
	(void)printf("%d %d\n", (int)holder[0], (int)holder[1]);
	(void)fflush(stdout);
	carry(w, &p);
	for (int i = 0; i < 2; i++)
		(void)kill(holder[i], SIGKILL);
	return 0;
}
