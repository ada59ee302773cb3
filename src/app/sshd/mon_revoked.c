/* SPDX-License-Identifier: ISC */
/* mon_revoked - RevokedKeys: lists of keys and certificates that let nobody in; a list that cannot
 * be read lets nobody in with any key */
#include <errno.h>
#include <stdio.h>
#include <strings.h>

#include "app/sshd/files.h"
#include "app/sshd/monitor.h"
#include "key/krl.h"

#define ROOM ((size_t)64 * 1024)

static err_t check_file(const struct monitor *m, const char *path, const char *shown)
{
	struct buf text;
	err_t why = OK;
	buf_init(&text, KRL_MAX + ROOM);
	err_t e = file_read_any(path, KRL_MAX, &text);
	if (e != OK) {
		log_put(LOG_L_ERROR,
			"Error checking authentication key %s in revoked keys file %s: %s", shown,
			path, errno != 0 ? strerror(errno) : err_text(e));
	} else if (krl_check_text(buf_bytes(&text), m->key.k, &why) != KRL_FINE) {
		if (why != OK)
			log_put(LOG_L_ERROR,
				"Error checking authentication key %s in revoked keys file %s: %s",
				shown, path, err_text(why));
		else
			log_put(LOG_L_ERROR, "Authentication key %s revoked by file %s", shown,
				path);
		e = E_DENIED;
	}
	buf_done(&text);
	return e;
}

err_t mon_key_not_revoked(const struct monitor *m)
{
	const struct cfg_list *files = &m->conf.revoked_keys;
	char shown[512];
	(void)snprintf(shown, sizeof(shown), "%.*s", (int)num_min(m->key.shown.n, 500),
		(const char *)m->key.shown.p);
	for (size_t i = 0; i < files->n; i++)
		if (strcasecmp(files->v[i], "none") != 0)
			TRY(check_file(m, files->v[i], shown));
	return OK;
}
