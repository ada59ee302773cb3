/* SPDX-License-Identifier: ISC */
/*
 * rcp_sink - the old protocol's sink, given files by a hostile source, into files in memory
 *
 * Nothing outside of the target is touched, no file gets a byte that it was not told of, and what
 * was not asked for does not come.
 *
 * head: recursive, what was asked for, bytes at once, the call of the file system that fails
 */
#include <stdio.h>

#include "fuzz.h"
#include "memfs.h"
#include "sftp/rcp.h"

#define PLACE_MAX 3000

static const char *const asked_paths[] = {
	NULL, "dir/name", "dir/*", "a{b,c}[0-9]?", ".", "'a b' c", "$x"};

struct model {
	struct memfs fs;
	struct rcp_sink s;
	struct rcp_asked asked;
	const char *request;
	bool is_recursive, is_over;
	char place[PLACE_MAX + SF_NAME_MAX + 2]; /* the directory that is open */
	uint32_t depth;
	uint64_t fh, size, at;
	bool is_file, is_bad;
};

static const char *path_of(struct model *m, struct cslice name)
{
	static char path[sizeof(m->place)];
	(void)snprintf(path, sizeof(path), "%s/%.*s", m->place, (int)name.n, (const char *)name.p);
	return path;
}

static void check_name(const struct model *m, struct cslice name)
{
	PROMISE(name.n > 0 && name.n <= SF_NAME_MAX);
	PROMISE(!cslice_eq_str(name, ".") && !cslice_eq_str(name, ".."));
	for (size_t i = 0; i < name.n; i++)
		PROMISE(name.p[i] >= ' ' && name.p[i] != 0x7f && name.p[i] != '/');
	if (m->depth > 0 || m->request == NULL)
		return;
	PROMISE(m->is_recursive || m->request[0] != '.');
	if (strcmp(m->request, "dir/name") == 0)
		PROMISE(cslice_eq_str(name, "name"));
	if (strcmp(m->request, "dir/*") == 0)
		PROMISE(name.p[0] != '.');
	if (m->request[0] == 'a')
		PROMISE(name.p[0] == 'a' && name.n >= 4);
	if (m->request[0] == '\'')
		PROMISE(cslice_eq_str(name, "a b") || cslice_eq_str(name, "c"));
}

static const char *begin_file(struct model *m, const struct rcp_event *e)
{
	uint32_t flags = SF_OPEN_WRITE | SF_OPEN_CREATE;
	const char *path = path_of(m, e->name);
	check_name(m, e->name);
	PROMISE(e->mode <= 07777 && e->size <= RCP_SIZE_MAX && !m->is_file);
	if (memfs_face.open(&m->fs, path, flags, e->mode, &m->fh) != SF_ok)
		return "no";
	m->is_file = true;
	m->is_bad = false;
	m->size = e->size;
	m->at = 0;
	return NULL;
}

static void data(struct model *m, const struct rcp_event *e)
{
	PROMISE(m->is_file && e->data.n > 0 && e->at == m->at && e->data.n <= m->size - m->at);
	m->at += e->data.n;
	if (!m->is_bad)
		m->is_bad = memfs_face.write(&m->fs, m->fh, e->at, e->data) != SF_ok;
}

static const char *end_file(struct model *m)
{
	PROMISE(m->is_file && m->at == m->size);
	m->is_file = false;
	(void)memfs_face.close(&m->fs, m->fh);
	return m->is_bad ? "bad" : NULL;
}

static const char *begin_dir(struct model *m, const struct rcp_event *e)
{
	const char *path = path_of(m, e->name);
	check_name(m, e->name);
	PROMISE(m->is_recursive && m->depth < RCP_DEPTH_MAX && e->mode <= 07777 && !m->is_file);
	(void)memfs_face.mkdir(&m->fs, path, e->mode);
	if (memfs_find(&m->fs, path) < 0 || strlen(path) > PLACE_MAX)
		return "no";
	(void)snprintf(m->place, sizeof(m->place), "%s", path);
	m->depth++;
	return NULL;
}

static const char *end_dir(struct model *m)
{
	PROMISE(m->depth > 0);
	m->depth--;
	char *slash = strrchr(m->place, '/');
	*slash = '\0';
	return NULL;
}

static void handle(struct model *m, const struct rcp_event *e)
{
	struct rcp_event none;
	struct cslice nothing = {0};
	const char *text = NULL;
	switch (e->type) {
	case RCP_EV_FILE:
		text = begin_file(m, e);
		break;
	case RCP_EV_FILE_END:
		text = end_file(m);
		break;
	case RCP_EV_DIR:
		text = begin_dir(m, e);
		break;
	case RCP_EV_DIR_END:
		text = end_dir(m);
		break;
	case RCP_EV_DATA:
		data(m, e);
		return;
	default:
		PROMISE(e->type == RCP_EV_WARNING || e->type == RCP_EV_FATAL ||
			e->type == RCP_EV_OVER);
		m->is_over = e->type != RCP_EV_WARNING;
		PROMISE(rcp_sink_answer(&m->s, NULL) == E_PHASE);
		return;
	}
	PROMISE(rcp_sink_next(&m->s, &nothing, &none) == E_PHASE);
	PROMISE(rcp_sink_answer(&m->s, text) == OK);
}

static void feed(struct model *m, struct cslice *in)
{
	while (in->n > 0) {
		struct rcp_event e;
		size_t before = in->n;
		err_t failed = rcp_sink_next(&m->s, in, &e);
		if (failed != OK) {
			PROMISE(failed == E_FORMAT || failed == E_LENGTH || failed == E_DENIED ||
				failed == E_FLOOD);
			PROMISE(rcp_why(&m->s.side)[0] != '\0' && rcp_sink_end(&m->s) == failed);
			PROMISE(rcp_sink_next(&m->s, in, &e) == failed);
			m->is_over = true;
			return;
		}
		PROMISE(rcp_ready(&m->s.side).n <= 32768);
		if (m->is_over) {
			PROMISE(e.type == RCP_EV_NONE);
			return;
		}
		PROMISE(e.type != RCP_EV_NONE || in->n == 0);
		PROMISE(in->n < before);
		if (e.type != RCP_EV_NONE)
			handle(m, &e);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	static struct model m;
	struct cslice in = {bytes, n};
	uint8_t flags = fuzz_u8(&in), asked = fuzz_u8(&in), once = fuzz_u8(&in);
	m = (struct model){.is_recursive = (flags & 1) != 0};
	memfs_init(&m.fs);
	PROMISE(memfs_face.mkdir(&m.fs, "/target", 0755) == SF_ok);
	m.fs.fail_at = fuzz_u8(&in);
	m.request = asked_paths[asked % ARRAY_N(asked_paths)];
	if (m.request != NULL)
		PROMISE(rcp_asked_init(&m.asked, m.request, m.is_recursive) == OK);
	(void)snprintf(m.place, sizeof(m.place), "/target");
	rcp_sink_init(&m.s, m.is_recursive, m.request != NULL ? &m.asked : NULL);
	PROMISE(rcp_sink_greet(&m.s, NULL) == OK);
	while (in.n > 0) {
		struct cslice part = fuzz_take(&in, once == 0 ? in.n : once);
		feed(&m, &part);
		if ((flags & 2) != 0)
			rcp_sent(&m.s.side, 1 + rcp_ready(&m.s.side).n / 2);
		if (m.is_over && part.n > 0)
			break;
	}
	if (rcp_sink_end(&m.s) == OK)
		PROMISE(m.is_over || (m.depth == 0 && !m.is_file));
	if (m.is_file)
		(void)memfs_face.close(&m.fs, m.fh);
	int node = memfs_find(&m.fs, "/file");
	PROMISE(node > 0 && m.fs.nodes[node].n == 5 &&
		memcmp(m.fs.nodes[node].data, "hello", 5) == 0);
	PROMISE(memfs_find(&m.fs, "/dir/inner") > 0 && memfs_find(&m.fs, "/target") > 0);
	rcp_sink_done(&m.s);
	rcp_asked_done(&m.asked);
	memfs_done(&m.fs);
	return 0;
}
