/* SPDX-License-Identifier: ISC */
/*
 * random - the process's generator
 *
 * The kernel's generator is asked for blocks of 3.9 KiB, which lie in a page of their own; what was
 * handed out is wiped at once, so the page never holds a byte that was used.  The page is emptied
 * by the kernel in a child (MADV_WIPEONFORK): parent and child never share a byte.  Where the
 * kernel cannot do that, nothing is kept and every request is a system call.
 *
 * The pointer to the page is one of the few globals that change: set once, at the first request.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "base/secret.h"
#include "os/random.h"

#define PAGE 4096

struct page {
	size_t left; /* bytes not handed out yet, at the end of b; 0 in a fresh child */
	uint8_t b[PAGE - sizeof(size_t)];
};

static struct page *page;
static bool is_without_page;

static void fill_from_kernel(uint8_t *p, size_t n)
{
	while (n > 0) {
		ssize_t got = getrandom(p, n, 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			fprintf(stderr, "no randomness: getrandom(2) failed: %s\n",
				strerror(errno));
			abort();
		}
		p += got;
		n -= (size_t)got;
	}
}

static void make_page(void)
{
	void *m = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (m != MAP_FAILED && madvise(m, PAGE, MADV_WIPEONFORK) == 0) {
		(void)madvise(m, PAGE, MADV_DONTDUMP);
		page = m;
		return;
	}
	if (m != MAP_FAILED)
		munmap(m, PAGE);
	is_without_page = true;
}

static void os_fill(struct rng *rng, uint8_t *p, size_t n)
{
	(void)rng;
	if (page == NULL && !is_without_page)
		make_page();
	if (page == NULL || n > sizeof(page->b) / 4) {
		fill_from_kernel(p, n);
		return;
	}
	if (page->left < n) {
		fill_from_kernel(page->b, sizeof(page->b));
		page->left = sizeof(page->b);
	}
	uint8_t *from = page->b + sizeof(page->b) - page->left;
	memcpy(p, from, n);
	wipe(from, n);
	page->left -= n;
}

struct rng *os_rng(void)
{
	static struct rng rng = {.fill = os_fill};
	return &rng;
}
