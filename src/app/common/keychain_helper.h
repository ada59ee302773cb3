/* SPDX-License-Identifier: ISC */
/*
 * keychain_helper - what is said between a program and ssh-keychain
 *
 * ssh-keychain WORD ACCOUNT: the words below; a secret comes on its standard input and goes out on
 * its standard output, a list is accounts that each end with a NUL.  What is wrong is told on
 * standard output too, with one of the exit states that say so.
 */
#ifndef APP_COMMON_KEYCHAIN_HELPER_H
#define APP_COMMON_KEYCHAIN_HELPER_H

#define KEYCHAIN_WORD_GET    "get"
#define KEYCHAIN_WORD_PUT    "put"
#define KEYCHAIN_WORD_FORGET "forget"
#define KEYCHAIN_WORD_LIST   "list"

enum {
	KEYCHAIN_DONE = 0,
	KEYCHAIN_NONE = 3,        /* nothing is remembered for the account */
	KEYCHAIN_UNAVAILABLE = 4, /* nothing answers; the output says why */
	KEYCHAIN_FAILED = 5,      /* the output says why */
};

#endif
