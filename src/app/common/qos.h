/* SPDX-License-Identifier: ISC */
/* qos - the names of IPQoS */
#ifndef APP_COMMON_QOS_H
#define APP_COMMON_QOS_H

#include "base/text.h"

/* The type of service of a name or number; -1 = leave it (none, and what is not known). */
int qos_tos(const char *name);

#endif
