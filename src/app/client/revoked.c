/* SPDX-License-Identifier: ISC */
/* revoked - RevokedHostKeys: lists of keys that no host may have; with a list that cannot be read
 * no host is trusted */
#include <stdlib.h>
#include <string.h>

#include "app/client/client.h"
#include "key/krl.h"
#include "os/file.h"

static err_t check_file(struct ssh *s, const char *path, const struct key *k, const char *shown)
{
	struct buf text;
	struct os_file info = {.why = 0};
	err_t why = OK;
	buf_init(&text, KRL_MAX);
	err_t e = os_file_read(path, &text, &info);
	if (e != OK) {
		ssh_say(LOG_L_ERROR, "Error checking host key %s in revoked keys file %s: %s",
			shown, path, info.why != 0 ? strerror(info.why) : err_text(e));
	} else if (krl_check_text(buf_bytes(&text), k, &why) != KRL_FINE) {
		if (why != OK)
			ssh_say(LOG_L_ERROR,
				"Error checking host key %s in revoked keys file %s: %s", shown,
				path, err_text(why));
		else
			ssh_say(LOG_L_ERROR, "Host key %s revoked by file %s", shown, path);
		e = E_HOSTKEY;
	}
	buf_done(&text);
	return e;
}

err_t hostkey_not_revoked(struct ssh *s, const struct key *k)
{
	const struct cfg_list *files = &s->cfg.revoked_host_keys;
	struct buf shown;
	buf_init(&shown, 4096);
	buf_printf(&shown, "%s ", key_shown(k));
	err_t e = key_fingerprint(k, (enum hash_id)s->cfg.fingerprint_hash, &shown);
	buf_put_u8(&shown, 0);
	if (e == OK)
		e = buf_err(&shown);
	for (size_t i = 0; e == OK && i < files->n; i++) {
		char *path = NULL;
		if (value_is_none(files->v[i]))
			continue;
		e = setup_expand(s, files->v[i], TOKENS_ALL, &path);
		if (e == OK)
			e = check_file(s, path, k, (const char *)shown.p);
		free(path);
	}
	buf_done(&shown);
	return e;
}
