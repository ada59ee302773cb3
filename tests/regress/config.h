/* SPDX-License-Identifier: ISC */
/*
 * What Debian's openssh-tests may take for granted about the programs that they run: the scripts
 * look for names here.  ENABLE_SK is not among them: FIDO keys are not built.
 */
#define HAVE_OPENPTY         1
#define HAVE_SO_PEERCRED     1
#define HAVE_STRUCT_IN6_ADDR 1
