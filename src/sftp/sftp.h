/* SPDX-License-Identifier: ISC */
/*
 * sftp - structs, readers and writers of every SFTP message, from sftp.def
 *
 * For a row `x`: enum SF_MSG_x, struct sf_x, sf_get_x(body, &out) (body: what follows the message
 * number; borrows), sf_size_x(&in) and sf_put_x(&wr, &in) (both without the message number).  The
 * same for the extended requests (enum SF_EXT_x; body: what follows the name) and for the bodies.
 *
 * A frame is u32 length, u8 number, body; the length counts the number and the body.  Unlike in
 * SSH, bytes behind the known fields are passed over: both ends of OpenSSH do so, and peers lean on
 * it.
 */
#ifndef SFTP_SFTP_H
#define SFTP_SFTP_H

#include "sftp/sftp_fields.def"
#include "wire/codec.h"

#define SF_VERSION   3
#define SF_FRAME_MAX ((size_t)256 * 1024)  /* number and body */
#define SF_DATA_MAX  (SF_FRAME_MAX - 1024) /* of one READ or WRITE */

enum sf_msg {
	SF_MSG_init = 1,
	SF_MSG_version = 2,
	SF_MSG_extended = 200,
#define Q(name, no, changes) SF_MSG_##name = no,
#define R(name, no)          SF_MSG_##name = no,
#include "sftp/sftp.def"
};

enum sf_ext {
#define X(name, policy, wire, value, changes) SF_EXT_##name,
#include "sftp/sftp.def"
	SF_EXT_N
};

enum sf_code {
#define S(name, code, text) SF_##name = code,
#include "sftp/sftp.def"
};

/* File attributes (section 5). */
#define SF_A_SIZE     0x1u
#define SF_A_OWNER    0x2u
#define SF_A_MODE     0x4u
#define SF_A_TIMES    0x8u
#define SF_A_EXTENDED 0x80000000u

struct sf_attr {
	uint32_t flags; /* which of the others are there */
	uint64_t size;
	uint32_t uid, gid, mode, atime, mtime; /* mode: with the type of file, as st_mode */
	uint32_t extended_n;
	struct cslice extended; /* pairs, whole */
};

/* OPEN (6.3). */
#define SF_OPEN_READ   0x01u
#define SF_OPEN_WRITE  0x02u
#define SF_OPEN_APPEND 0x04u
#define SF_OPEN_CREATE 0x08u
#define SF_OPEN_TRUNC  0x10u
#define SF_OPEN_EXCL   0x20u

struct sf_attr sf_rd_attr(struct rd *r);
void sf_wr_attr(struct wr *w, const struct sf_attr *a);
size_t sf_attr_size(const struct sf_attr *a);

#define SF_C_u32   uint32_t
#define SF_C_u64   uint64_t
#define SF_C_str   struct cslice
#define SF_C_text  struct cslice
#define SF_C_rest  struct cslice
#define SF_C_attrs struct sf_attr

#define SF_FIELD(kind, name) SF_C_##kind name;
#define SF_DECLARE(name)                                                                           \
	struct sf_##name {                                                                         \
		FIELDS_##name(SF_FIELD) uint8_t end_;                                              \
	};                                                                                         \
	MUST err_t sf_get_##name(struct cslice body, struct sf_##name *out);                       \
	size_t sf_size_##name(const struct sf_##name *in);                                         \
	void sf_put_##name(struct wr *w, const struct sf_##name *in);

#define Q(name, no, changes)                  SF_DECLARE(name)
#define R(name, no)                           SF_DECLARE(name)
#define X(name, policy, wire, value, changes) SF_DECLARE(name)
#include "sftp/sftp.def"
SF_BODIES(SF_DECLARE)

/* Takes the next entry of NAME, or the next pair, off *rest. */
MUST err_t sf_next_entry(struct cslice *rest, struct sf_entry *out);
MUST err_t sf_next_pair(struct cslice *rest, struct sf_pair *out);

/* "posix-rename@openssh.com" and its value in VERSION */
const char *sf_ext_wire(enum sf_ext x);
const char *sf_ext_value(enum sf_ext x);
/* E_NAME: no such extension. */
MUST err_t sf_ext_find(struct cslice wire, enum sf_ext *out);

/* "drwxr-xr-x" of an st_mode, with its NUL; "?" for a type that is not known. */
void sf_mode_text(uint32_t mode, char out[11]);

/* "No such file"; "Unknown status" */
const char *sf_status_text(uint32_t code);

#endif
