/* SPDX-License-Identifier: ISC */
/*
 * path - what the network below a connection asks of its windows and buffers
 *
 * A window larger than the path needs does harm: whatever is sent ahead waits in socket buffers
 * and has left the processor's cache when its turn comes.
 */
#ifndef RUN_PATH_H
#define RUN_PATH_H

#include "connection/cn.h"

/*
 * The largest channel window (bytes) that is of use on this descriptor: what PATH_RATE brings in
 * the smallest round trip that the system has seen so far, within the two bounds.  PATH_WINDOW_MAX
 * where there is no TCP (a pipe to a proxy command may lead anywhere) or nothing was seen.
 */
#define PATH_RATE       4096 /* bytes a microsecond */
#define PATH_WINDOW_MIN CN_WINDOW_FIRST
#define PATH_WINDOW_MAX ((uint32_t)24 << 20)
uint32_t path_window(int fd);

/* The smallest round trip that the system has seen on this descriptor, microseconds; 0 = not known.
 */
uint32_t path_rtt_us(int fd);

/*
 * Bounds what the system holds of a TCP connection that it could not send yet (bytes): a key press
 * never waits behind more of a bulk transfer, and bulk stays in the cache.
 */
#define PATH_UNSENT (512 * 1024)
void path_bound_unsent(int fd);

#endif
