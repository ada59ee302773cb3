/* SPDX-License-Identifier: ISC */
/* say - text for people, escaped whole: no caller can forget a name in it */
#include <stdlib.h>
#include <string.h>

#include "app/common/say.h"
#include "base/text.h"

#define ESCAPE 4 /* \ooo */

void say_text(FILE *to, struct cslice text)
{
	struct buf shown;
	if (text.n == 0)
		return;
	buf_init(&shown, text.n * ESCAPE);
	vis_put_lines(&shown, text);
	if (buf_err(&shown) == OK)
		(void)fwrite(shown.p, 1, shown.n, to);
	buf_done(&shown);
}

void say_format(FILE *to, const char *fmt, va_list ap)
{
	char *text = NULL;
	if (vasprintf(&text, fmt, ap) < 0)
		return;
	say_text(to, cslice_str(text));
	free(text);
}
