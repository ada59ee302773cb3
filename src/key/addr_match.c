/* SPDX-License-Identifier: ISC */
/*
 * addr_match - lists of hosts: names with wildcards, addresses, address/prefix, `!` (from=, Match,
 * AllowUsers)
 *
 * A negated match wins wherever it stands.  A prefix that does not fit its address (too long, host
 * bits set) spoils the whole list: who wrote it meant something else than what it says.
 */
#include <arpa/inet.h>

#include "base/text.h"
#include "key/authorized_keys.h"

#define WORD_MAX 1025

struct addr {
	uint8_t b[16];
	size_t n; /* 4 or 16 */
};

static bool addr_parse(struct addr *a, const char *text)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	struct addr v = {.n = 4};
	if (inet_pton(AF_INET, text, v.b) == 1)
		return *a = v, true;
	v.n = 16;
	if (inet_pton(AF_INET6, text, v.b) != 1)
		return false;
	if (memcmp(v.b, mapped, sizeof(mapped)) == 0) { /* ::ffff:192.0.2.1 is 192.0.2.1 */
		memmove(v.b, v.b + sizeof(mapped), 4);
		v.n = 4;
	}
	*a = v;
	return true;
}

static uint8_t bit(const struct addr *a, size_t i)
{
	return a->b[i / 8] >> (7 - i % 8) & 1;
}

enum prefix { PREFIX_NONE, PREFIX_BAD, PREFIX_OK };

/* address[/bits] */
static enum prefix prefix_parse(struct addr *net, size_t *bits, const char *text)
{
	char word[64];
	uint32_t len = 0;
	const char *slash = strchr(text, '/');
	size_t n = slash != NULL ? (size_t)(slash - text) : strlen(text);
	if (n >= sizeof(word))
		return PREFIX_NONE;
	for (size_t i = 0; i < n; i++)
		word[i] = text[i];
	word[n] = '\0';
	if (!addr_parse(net, word))
		return PREFIX_NONE;
	*bits = net->n * 8;
	if (slash == NULL)
		return PREFIX_OK;
	if (text_u32(cslice_str(slash + 1), &len) != OK || len > net->n * 8)
		return PREFIX_BAD;
	*bits = len;
	for (size_t i = len; i < net->n * 8; i++)
		if (bit(net, i) != 0)
			return PREFIX_BAD;
	return PREFIX_OK;
}

static bool addr_in(const struct addr *a, const struct addr *net, size_t bits)
{
	if (a->n != net->n)
		return false;
	for (size_t i = 0; i < bits; i++)
		if (bit(a, i) != bit(net, i))
			return false;
	return true;
}

struct subject {
	const char *address, *host;
	struct addr addr;
	bool has_addr;
};

/* One element of the list, lower case, without `!`. */
static enum addr_verdict element_match(const struct subject *s, const char *word)
{
	struct addr net;
	size_t bits;
	struct cslice pattern = cslice_str(word);
	enum prefix p = prefix_parse(&net, &bits, word);
	if (p == PREFIX_BAD)
		return ADDR_BAD_LIST;
	if (p == PREFIX_OK && s->has_addr && addr_in(&s->addr, &net, bits))
		return ADDR_MATCH;
	if (s->address != NULL && glob_match(pattern, cslice_str(s->address)))
		return ADDR_MATCH;
	if (s->host == NULL || strlen(s->host) >= WORD_MAX)
		return ADDR_DENY;
	char host[WORD_MAX];
	(void)memccpy(host, s->host, '\0', sizeof(host));
	ascii_lower(host);
	return glob_match(pattern, cslice_str(host)) ? ADDR_MATCH : ADDR_DENY;
}

enum addr_verdict addr_match_list(struct cslice list, const char *address, const char *host)
{
	struct subject s = {.address = address, .host = host};
	enum addr_verdict verdict = ADDR_DENY;
	struct cslice one;
	s.has_addr = address != NULL && addr_parse(&s.addr, address);
	while (list_next(&list, &one)) {
		char word[WORD_MAX];
		bool is_negated = one.n > 0 && one.p[0] == '!';
		if (is_negated)
			one = cslice_of(one.p + 1, one.n - 1);
		if (one.n == 0)
			continue;
		if (one.n >= sizeof(word) || memchr(one.p, 0, one.n) != NULL)
			return ADDR_BAD_LIST;
		for (size_t i = 0; i < one.n; i++)
			word[i] = (char)one.p[i];
		word[one.n] = '\0';
		ascii_lower(word);
		enum addr_verdict v = element_match(&s, word);
		if (v == ADDR_BAD_LIST)
			return v;
		if (v == ADDR_MATCH && is_negated)
			verdict = ADDR_NEGATED;
		else if (v == ADDR_MATCH && verdict == ADDR_DENY)
			verdict = ADDR_MATCH;
	}
	return verdict;
}

static bool word_copy(struct cslice s, char *word, size_t size)
{
	if (s.n == 0 || s.n >= size || memchr(s.p, 0, s.n) != NULL)
		return false;
	for (size_t i = 0; i < s.n; i++)
		word[i] = (char)s.p[i];
	word[s.n] = '\0';
	return true;
}

enum addr_verdict addr_match_cidr(struct cslice list, const char *address)
{
	struct addr a = {.n = 0}, net = {.n = 0};
	bool has_addr = address != NULL && addr_parse(&a, address);
	enum addr_verdict verdict = ADDR_DENY;
	for (size_t from = 0; from <= list.n;) {
		char word[64] = "";
		size_t bits, n = 0;
		while (from + n < list.n && list.p[from + n] != ',')
			n++;
		if (!word_copy(cslice_of(list.p + from, n), word, sizeof(word)) ||
			prefix_parse(&net, &bits, word) != PREFIX_OK)
			return ADDR_BAD_LIST;
		if (has_addr && addr_in(&a, &net, bits))
			verdict = ADDR_MATCH;
		from += n + 1;
	}
	return verdict;
}
