/* SPDX-License-Identifier: ISC */
/* path - what the network below a connection asks of its windows and buffers */
#include <netinet/in.h>
#include <sys/socket.h>
#ifdef __linux__
#include <linux/tcp.h>
#endif

#include "base/slice.h"
#include "run/path.h"

#ifdef __linux__
uint32_t path_rtt_us(int fd)
{
	struct tcp_info info = {0};
	socklen_t n = sizeof(info);
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n) < 0 ||
		n < offsetof(struct tcp_info, tcpi_min_rtt) + sizeof(info.tcpi_min_rtt))
		return 0;
	return info.tcpi_min_rtt == UINT32_MAX ? 0 : info.tcpi_min_rtt;
}

void path_bound_unsent(int fd)
{
	int n = PATH_UNSENT;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &n, sizeof(n));
}
#else
uint32_t path_rtt_us(int fd)
{
	return 0;
}

void path_bound_unsent(int fd)
{
}
#endif

uint32_t path_window(int fd)
{
	uint32_t rtt = path_rtt_us(fd);
	uint64_t want = rtt == 0 ? PATH_WINDOW_MAX : (uint64_t)rtt * PATH_RATE;
	return (uint32_t)num_min(num_max(want, PATH_WINDOW_MIN), PATH_WINDOW_MAX);
}
