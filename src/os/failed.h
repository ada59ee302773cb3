/* SPDX-License-Identifier: ISC */
/* failed - what the kernel's refusal means, where a person can do something about it */
#ifndef OS_FAILED_H
#define OS_FAILED_H

#include "base/err.h"

/*
 * os_failed - errno, right behind the call that failed
 *
 * E_FILES (no descriptor left), E_PROCESSES (no process left), E_MEM, else E_IO.
 */
MUST err_t os_failed(void);

#endif
