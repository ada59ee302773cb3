/* SPDX-License-Identifier: ISC */
#include <errno.h>

#include "os/failed.h"

err_t os_failed(void)
{
	switch (errno) {
	case EMFILE:
	case ENFILE:
		return E_FILES;
	case EAGAIN: /* of fork */
		return E_PROCESSES;
	case ENOMEM:
		return E_MEM;
	default:
		return E_IO;
	}
}
