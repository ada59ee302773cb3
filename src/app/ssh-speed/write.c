/* SPDX-License-Identifier: ISC */
/* write - the report to where it was asked for */
#include <errno.h>
#include <stdio.h>

#include "app/common/keyfile.h"
#include "app/ssh-speed/speed.h"

#define PAGE_MODE 0644

static err_t render(report_writer *writer, const struct report *r, struct buf *text)
{
	buf_init(text, REPORT_TEXT_MAX);
	writer(r, text);
	return buf_err(text);
}

/* A page is written beside the old one and put in its place at the end. */
static err_t write_page(const struct report *r, const char *path)
{
	struct buf text;
	err_t e = render(report_html, r, &text);
	errno = 0;
	if (e == OK)
		e = keyfile_replace(path, buf_bytes(&text), PAGE_MODE);
	int why = errno;
	buf_done(&text);
	if (e != OK)
		fprintf(stderr, "ssh-speed: %s cannot be written: %s\n", path,
			e == E_IO && why != 0 ? strerror(why) : err_text(e));
	return e;
}

err_t write_report(const struct speed_options *o, const struct report *r)
{
	struct buf text;
	err_t e = render(o->json ? report_json : o->csv ? report_csv : report_text, r, &text);
	bool is_written =
		e == OK && fwrite(text.p, 1, text.n, stdout) == text.n && fflush(stdout) == 0;
	buf_done(&text);
	if (!is_written) {
		fprintf(stderr, "ssh-speed: the report cannot be written: %s\n",
			e == OK ? strerror(errno) : err_text(e));
		e = E_IO;
	}
	err_t page = o->html != NULL ? write_page(r, o->html) : OK;
	return e != OK ? e : page;
}
