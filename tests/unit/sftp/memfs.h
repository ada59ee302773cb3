/* SPDX-License-Identifier: ISC */
/* memfs - a file system in memory for the SFTP server's engine: unit tests and the fuzz target */
#ifndef SFTP_MEMFS_H
#define SFTP_MEMFS_H

#include "sftp/fs.h"

#define MEM_NODES   64
#define MEM_ENTRIES 512
#define MEM_OPENS   64
#define MEM_FILE    ((size_t)1 << 20) /* bytes of the largest file */

enum mem_kind { MEM_NONE = 0, MEM_FILE_NODE, MEM_DIR_NODE, MEM_LINK_NODE };

struct mem_node {
	enum mem_kind kind;
	uint32_t mode, uid, gid, atime, mtime, links;
	uint8_t *data; /* of a file; a link's target */
	size_t n, cap;
};

struct mem_entry {
	int parent, node;
	size_t n;
	char name[SF_NAME_MAX + 1];
};

struct mem_open {
	int node; /* -1: free */
	uint32_t flags;
	bool is_dir;
	size_t at;
};

struct memfs {
	struct mem_node nodes[MEM_NODES]; /* 0: the root */
	struct mem_entry *entries;
	size_t entries_n;
	struct mem_open opens[MEM_OPENS];
	size_t opens_n;
	unsigned calls, changes; /* changes: calls that may alter what is stored */
	unsigned fail_at;        /* this call fails; 0: none */
	size_t largest;          /* room or data of the largest READ or WRITE */
};

extern const struct sf_fs memfs_face;

/* A root with "file" (hello), "dir", "dir/inner", "link" -> file, "dangling" -> nothing. */
void memfs_init(struct memfs *m);
void memfs_done(struct memfs *m);
/* The node of a path, -1 when there is none; links are followed. */
int memfs_find(struct memfs *m, const char *path);
/* A file with these bytes. */
void memfs_put(struct memfs *m, const char *path, const void *p, size_t n);

#endif
