/* SPDX-License-Identifier: ISC */
/* tables - the two keyword tables */
#ifndef CONFIG_TABLES_H
#define CONFIG_TABLES_H

#include "config/int.h"

extern const struct cfg_table cfg_client_table, cfg_server_table;

#endif
