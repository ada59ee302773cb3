/* SPDX-License-Identifier: ISC */
/* keychain_rows - the places that this system has, the usual one first */
#ifndef APP_COMMON_KEYCHAIN_ROWS_H
#define APP_COMMON_KEYCHAIN_ROWS_H

#ifdef __APPLE__
#define KEYCHAIN_ROWS &keychain_macos
#else
#define KEYCHAIN_ROWS &keychain_secret_service, &keychain_kernel
#endif

#endif
