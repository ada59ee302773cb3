/* SPDX-License-Identifier: ISC */
/* qos - the names of IPQoS (RFC 2474, RFC 2597, RFC 3246, RFC 5865, RFC 8622) */
#include <strings.h>

#include "app/common/qos.h"

#define TOS(dscp) ((dscp) << 2)

/* clang-format off */
static const struct { const char *name; int tos; } names[] = {
	{"af11", TOS(10)}, {"af12", TOS(12)}, {"af13", TOS(14)}, {"af21", TOS(18)}, {"af22", TOS(20)},
	{"af23", TOS(22)}, {"af31", TOS(26)}, {"af32", TOS(28)}, {"af33", TOS(30)}, {"af41", TOS(34)},
	{"af42", TOS(36)}, {"af43", TOS(38)},
	{"cs0", TOS(0)},   {"cs1", TOS(8)},   {"cs2", TOS(16)},  {"cs3", TOS(24)},  {"cs4", TOS(32)},
	{"cs5", TOS(40)},  {"cs6", TOS(48)},  {"cs7", TOS(56)},
	{"ef", TOS(46)},   {"le", TOS(1)},    {"va", TOS(44)},
};
/* clang-format on */

int qos_tos(const char *name)
{
	uint32_t n;
	for (size_t i = 0; i < ARRAY_N(names); i++)
		if (strcasecmp(name, names[i].name) == 0)
			return names[i].tos;
	return text_u32(cslice_str(name), &n) == OK && n <= 255 ? (int)n : -1;
}
