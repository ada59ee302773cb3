/* SPDX-License-Identifier: ISC */
/* machine - what the local figures depend on: processor, its instructions, libraries */
#include <sys/utsname.h>

#include "app/ssh-speed/speed.h"
#include "base/log.h"
#include "base/text.h"
#include "build_config.h"
#include "crypto/pick.h"
#include "os/file.h"

#define CPUINFO_MAX ((size_t)16 << 20)

/* The first "model name : X" of /proc/cpuinfo; false where there is none. */
static bool find_model(struct cslice text, struct cslice *model)
{
	static const char key[] = "model name";
	const uint8_t *at = text.n > 0 ? memmem(text.p, text.n, key, sizeof(key) - 1) : NULL;
	if (at == NULL)
		return false;
	struct cslice rest = cslice_of(at, (size_t)(text.p + text.n - at));
	const uint8_t *colon = memchr(rest.p, ':', rest.n), *end = memchr(rest.p, '\n', rest.n);
	if (colon == NULL || end == NULL || end < colon + 2)
		return false;
	*model = cslice_of(colon + 2, (size_t)(end - colon - 2));
	return true;
}

static err_t cpu_facts(struct report *r)
{
	struct buf text, features;
	struct cslice model = cslice_str("unknown");
	struct utsname u = {0};
	buf_init(&text, CPUINFO_MAX);
	buf_init(&features, 4096);
	if (os_file_read("/proc/cpuinfo", &text, NULL) != OK ||
		!find_model(buf_bytes(&text), &model))
		log_debug1("the processor does not tell its name");
	(void)uname(&u);
	cpu_features(&features);
	err_t e = report_fact(r, "cpu", "processor", "%.*s (%s)", (int)num_min(model.n, 200),
		(const char *)model.p, u.machine);
	if (e == OK)
		e = report_fact(r, "cpu_features", "instructions", "%.*s", (int)features.n,
			features.n > 0 ? (const char *)features.p : "");
	buf_done(&text);
	buf_done(&features);
	return e;
}

static err_t choice_fact(struct report *r)
{
	static const struct {
		const char *name;
		enum pick_what what;
	} rows[] = {{"AES-GCM", PICK_GCM}, {"AES-CTR", PICK_CTR}, {"Poly1305", PICK_POLY1305}};
	struct buf text;
	buf_init(&text, 4096);
	for (size_t i = 0; i < ARRAY_N(rows); i++)
		buf_printf(&text, "%s%s by %s", i > 0 ? ", " : "", rows[i].name,
			pick_impl_name(pick_fastest(rows[i].what)));
	err_t e = buf_err(&text);
	if (e == OK)
		e = report_fact(r, "implementations", "bulk ciphers", "%.*s", (int)text.n,
			(const char *)text.p);
	buf_done(&text);
	return e;
}

err_t machine_facts(struct report *r)
{
	TRY(report_fact(r, "version", "version", "%s, %s", BOWLINE_RELEASE, crypto_version()));
	TRY(cpu_facts(r));
	return choice_fact(r);
}
