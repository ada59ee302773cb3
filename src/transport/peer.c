/* SPDX-License-Identifier: ISC */
/* peer - what the other end's version line says about it (compat 7.2) */
#include "base/text.h"
#include "transport/peer.h"

struct cslice peer_software(struct cslice version)
{
	for (int dashes = 0; version.n > 0; version.p++, version.n--) {
		if (dashes == 2)
			return version;
		dashes += version.p[0] == '-';
	}
	return version;
}

bool peer_is(struct cslice version, const char *patterns)
{
	struct cslice software = peer_software(version);
	return software.n > 0 && glob_match_list(cslice_str(patterns), software) == PATTERN_MATCH;
}
