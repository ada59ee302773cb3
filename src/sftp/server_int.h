/* SPDX-License-Identifier: ISC */
/* server_int - what the files of the server share */
#ifndef SFTP_SERVER_INT_H
#define SFTP_SERVER_INT_H

#include <assert.h>

#include "sftp/handles.h"
#include "sftp/server.h"

#define SF_IN_BATCH   SF_FRAME_MAX
#define SF_IN_CAP     (SF_IN_BATCH + SF_FRAME_MAX + 8)
#define SF_REPLY_ROOM (4 + SF_FRAME_MAX)
#define SF_OUT_CAP    (2 * SF_REPLY_ROOM)

struct sf_copy { /* COPY-DATA under way */
	bool is_active, to_eof;
	uint32_t id;
	struct sf_held *from, *to;
	uint64_t from_offset, to_offset, left;
};

struct sf_server {
	struct sf_server_env env;
	struct sf_handles handles;
	struct sf_copy copy;
	err_t err;
	bool has_init;
	struct vec room; /* while sf_server_serve works (has_room): where replies go */
	bool has_room;
	uint8_t *in, *out;
	size_t in_at, in_n;   /* bytes not looked at yet */
	size_t out_at, out_n; /* bytes not sent yet */
	char path[2][SF_PATH_MAX];
};

/* server.c */
bool sf_is_permitted(struct sf_server *s, enum sf_req r);
MUST err_t sf_serve_frame(struct sf_server *s, struct cslice frame); /* number and body */
void sf_server_rewind(struct sf_server *s);                          /* all replies are out */
void sf_say(const struct sf_server *s, enum log_level level, const char *fmt, ...) PRINTF(3, 4);
/* A path of a request (two at a time), as a C string; its length was checked. */
const char *sf_path(struct sf_server *s, size_t which, struct cslice path);
/* The handle of a request; a wrong one is answered with `code` and is NULL. */
struct sf_held *sf_find(
	struct sf_server *s, uint32_t id, struct cslice wire, enum sf_kind kind, enum sf_code code);

/* reply.c: a reply is written where it is sent from; number and body. */
struct wr sf_reply_begin(struct sf_server *s, enum sf_msg no);
void sf_reply_end(struct sf_server *s, const struct wr *w);
void sf_reply_status(struct sf_server *s, uint32_t id, enum sf_code code);
void sf_reply_status_text(struct sf_server *s, uint32_t id, enum sf_code code, const char *text);
void sf_reply_handle(struct sf_server *s, uint32_t id, const struct sf_held *h);
void sf_reply_attrs(struct sf_server *s, uint32_t id, const struct sf_attr *a);
void sf_reply_path(struct sf_server *s, uint32_t id, struct cslice path);

/* serve_vec.c: a READ into the room of the reply; false: not possible. */
bool sf_reply_read(struct sf_server *s, struct sf_held *h, const struct sf_read *m);
/* serve_file.c: bytes of a file in pieces; what is said and answered. */
enum sf_code sf_file_read(
	struct sf_server *s, struct sf_held *h, uint64_t offset, struct sf_part room, size_t *n);
void sf_read_failed(struct sf_server *s, uint32_t id, const struct sf_held *h, enum sf_code code);
void sf_write_data(struct sf_server *s, uint32_t id, const struct sf_write *m, struct sf_part data);
/* serve_file.c: says so (how: "" or "forced "), closes and forgets it. */
enum sf_code sf_close(struct sf_server *s, struct sf_held *h, const char *how);
/* serve_set.c */
enum sf_code sf_set(
	struct sf_server *s, const struct sf_where *at, const char *name, const struct sf_attr *a);
/* serve_copy.c: a part of what is to be copied; replies when it is done. */
void sf_copy_step(struct sf_server *s);
/* longname.c: as `ls -l` shows it.  Gives the bytes written, at most room.n. */
#define SF_LONGNAME_MAX (SF_NAME_MAX + 256)
size_t sf_longname(const struct sf_server *s, const struct sf_dirent *e, struct slice room);

/* One function a request (serve_*.c); each makes one reply, at once or (copy_data) in the end. */
#define SF_HANDLER(name)                                                                           \
	void sf_on_##name(struct sf_server *s, uint32_t id, const struct sf_##name *m);
#define Q(name, no, changes)                  SF_HANDLER(name)
#define X(name, policy, wire, value, changes) SF_HANDLER(name)
#include "sftp/sftp.def"

#endif
