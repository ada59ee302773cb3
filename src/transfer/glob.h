/* SPDX-License-Identifier: ISC */
/*
 * glob - one part of a path pattern against one name: * ? [a-z] [!a-z] [[:alpha:]] and \ for the
 * next byte
 *
 * By bytes, as shells in the C locale do.  A [ without its ] is a byte like others.
 */
#ifndef TRANSFER_GLOB_H
#define TRANSFER_GLOB_H

#include "base/slice.h"

bool glob_has_magic(struct cslice pattern);
/* At most pattern x name steps.  A dot in front matches only a dot in front. */
bool glob_part(struct cslice pattern, struct cslice name);
/* The same without the backslashes that quote; room.n >= pattern.n.  Gives the bytes written. */
size_t glob_plain(struct cslice pattern, struct slice room);

#endif
