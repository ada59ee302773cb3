/* SPDX-License-Identifier: ISC */
/* input - lines from a descriptor, while the event loop runs */
#ifndef APP_SFTP_INPUT_H
#define APP_SFTP_INPUT_H

#include "base/buf.h"
#include "os/ev.h"

struct remote;

struct input {
	struct remote *r; /* whose loop runs meanwhile */
	struct ev_io io;
	struct buf held;
	bool is_ready, is_ended, is_owned;
	int why; /* errno of the read that failed */
};
#define INPUT_LINE_MAX ((size_t)1 << 20)

void input_init(struct input *in, struct remote *r, int fd, bool is_owned);
void input_done(struct input *in);
/* The next line without its end, NUL-terminated, put into line.  E_NOT_FOUND: there are no more;
 * E_INTERRUPTED; E_LIMIT; the connection's end; E_IO. */
MUST err_t input_line(struct input *in, struct buf *line);
/* The next byte, for line editing.  As above. */
MUST err_t input_byte(struct input *in, uint8_t *byte);

/* edit.h's part: NULL where there is no line editing. */
struct sftp;
struct edit;
MUST err_t edit_new(struct edit **out, struct sftp *s);
void edit_free(struct edit *e);
/* As input_line; the line goes to the history. */
MUST err_t edit_line(struct edit *e, const char *prompt, struct buf *line);

#endif
