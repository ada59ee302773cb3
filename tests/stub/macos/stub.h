/* SPDX-License-Identifier: ISC */
/* stub - what a test may ask of the stand-in keychain */
#ifndef STUB_MACOS_STUB_H
#define STUB_MACOS_STUB_H

#include <Security/Security.h>
#include <stdbool.h>

int stub_living(void);                /* objects that are not released */
void stub_fail_next(OSStatus status); /* of SecItemAdd or SecItemCopyMatching */

#endif
