/* SPDX-License-Identifier: ISC */
/* names - the words of multi-state keywords; -G and -T print the first one of a value */
#include "base/log.h"
#include "config/int.h"

const struct cfg_name names_family[] = {
	{"any", CFG_FAMILY_ANY}, {"inet", CFG_FAMILY_INET}, {"inet6", CFG_FAMILY_INET6}, {NULL, 0}};
const struct cfg_name names_fphash[] = {{"SHA256", HASH_SHA256}, {"MD5", HASH_MD5}, {NULL, 0}};
const struct cfg_name names_loglevel[] = {{"QUIET", LOG_L_QUIET}, {"FATAL", LOG_L_FATAL},
	{"ERROR", LOG_L_ERROR}, {"INFO", LOG_L_INFO}, {"VERBOSE", LOG_L_VERBOSE},
	{"DEBUG", LOG_L_DEBUG1}, {"DEBUG1", LOG_L_DEBUG1}, {"DEBUG2", LOG_L_DEBUG2},
	{"DEBUG3", LOG_L_DEBUG3}, {NULL, 0}};
const struct cfg_name names_pubkeyauth[] = {{"true", CFG_PUBKEY_YES}, {"yes", CFG_PUBKEY_YES},
	{"false", CFG_PUBKEY_NO}, {"no", CFG_PUBKEY_NO}, {"unbound", CFG_PUBKEY_UNBOUND},
	{"host-bound", CFG_PUBKEY_HOSTBOUND}, {NULL, 0}};
const struct cfg_name names_requesttty[] = {{"true", CFG_TTY_YES}, {"yes", CFG_TTY_YES},
	{"false", CFG_TTY_NO}, {"no", CFG_TTY_NO}, {"force", CFG_TTY_FORCE}, {"auto", CFG_TTY_AUTO},
	{NULL, 0}};
const struct cfg_name names_sessiontype[] = {{"none", CFG_SESSION_NONE},
	{"subsystem", CFG_SESSION_SUBSYSTEM}, {"default", CFG_SESSION_DEFAULT}, {NULL, 0}};
const struct cfg_name names_stricthostkey[] = {{"true", CFG_STRICT_YES}, {"yes", CFG_STRICT_YES},
	{"false", CFG_STRICT_NO}, {"no", CFG_STRICT_NO}, {"off", CFG_STRICT_NO},
	{"ask", CFG_STRICT_ASK}, {"accept-new", CFG_STRICT_ACCEPT_NEW}, {NULL, 0}};
const struct cfg_name names_updatehostkeys[] = {{"true", CFG_UPDATE_YES}, {"yes", CFG_UPDATE_YES},
	{"false", CFG_UPDATE_NO}, {"no", CFG_UPDATE_NO}, {"ask", CFG_UPDATE_ASK}, {NULL, 0}};
/* The numbers are syslog's facilities, shifted right by three (RFC 5424 table 1). */
const struct cfg_name names_facility[] = {{"DAEMON", 3}, {"USER", 1}, {"AUTH", 4}, {"AUTHPRIV", 10},
	{"LOCAL0", 16}, {"LOCAL1", 17}, {"LOCAL2", 18}, {"LOCAL3", 19}, {"LOCAL4", 20},
	{"LOCAL5", 21}, {"LOCAL6", 22}, {"LOCAL7", 23}, {NULL, 0}};
const struct cfg_name names_weakcrypto[] = {{"yes", CFG_WEAK_YES}, {"true", CFG_WEAK_YES},
	{"no", CFG_WEAK_NO}, {"false", CFG_WEAK_NO}, {"no-pq-kex", CFG_WEAK_NO_PQ_KEX}, {NULL, 0}};
const struct cfg_name names_rootlogin[] = {{"prohibit-password", CFG_ROOT_PROHIBIT_PASSWORD},
	{"without-password", CFG_ROOT_PROHIBIT_PASSWORD},
	{"forced-commands-only", CFG_ROOT_FORCED_COMMANDS}, {"yes", CFG_ROOT_YES},
	{"no", CFG_ROOT_NO}, {NULL, 0}};
const struct cfg_name names_pubkeyoptions[] = {{"touch-required", CFG_PUBKEY_TOUCH},
	{"verify-required", CFG_PUBKEY_VERIFY}, {"none", 0}, {NULL, 0}};
const struct cfg_name names_compression[] = {
	{"yes", CFG_COMP_YES}, {"delayed", CFG_COMP_YES}, {"no", CFG_COMP_NO}, {NULL, 0}};
