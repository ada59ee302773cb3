/* SPDX-License-Identifier: ISC */
/* identity_cert - certificates among the keys that may be offered: their files, their place, and
 * the plain key that signs for them */
#include "app/client/client.h"
#include "app/common/keyfile.h"
#include "key/cert.h"
#include "os/file.h"

struct key *identity_cert_read(const char *path)
{
	struct buf text;
	struct key *k = NULL;
	buf_init(&text, 2 * CERT_BLOB_MAX);
	err_t e = os_file_read(path, &text, NULL);
	struct cslice line = buf_bytes(&text);
	const uint8_t *end = line.n > 0 ? memchr(line.p, '\n', line.n) : NULL;
	if (end != NULL)
		line.n = (size_t)(end - line.p);
	if (e == OK)
		e = key_parse_line_any(&k, line, NULL);
	buf_done(&text);
	if (e != OK) {
		log_debug1("certificate file %s: %s", path, err_text(e));
		return NULL;
	}
	const struct cert *c = key_cert(k);
	if (c != NULL && c->kind == CERT_USER)
		return k;
	log_debug1("%s: %s is no user certificate", path, key_shown(k));
	key_free(k);
	return NULL;
}

static bool has_option(struct cslice options, const char *wanted)
{
	struct cslice name, data;
	while (cert_next_option(&options, &name, &data))
		if (cslice_eq_str(name, wanted))
			return true;
	return false;
}

uint32_t identity_rank(const struct key *k)
{
	const struct cert *c = key_cert(k);
	bool is_device = key_type_is_sk(key_type_of(k));
	if (c == NULL)
		return 3;
	if (is_device && has_option(c->extensions, "no-touch-required"))
		return 0;
	return is_device && has_option(c->critical, "verify-required") ? 2 : 1;
}

bool identity_is_same(const struct key *a, const struct key *b)
{
	struct buf one, two;
	buf_init(&one, CERT_BLOB_MAX);
	buf_init(&two, CERT_BLOB_MAX);
	bool is_same = key_blob_any(a, &one) == OK && key_blob_any(b, &two) == OK &&
		       cslice_eq(buf_bytes(&one), buf_bytes(&two));
	buf_done(&one);
	buf_done(&two);
	return is_same;
}

struct identity *identity_plain_of(struct ssh *s, const struct key *cert, uint32_t *index)
{
	for (size_t i = 0; key_cert(cert) != NULL && i < s->ids_n; i++) {
		if (key_cert(s->ids[i].pub) == NULL && key_equal_public(s->ids[i].pub, cert)) {
			*index = (uint32_t)i;
			return &s->ids[i];
		}
	}
	return NULL;
}
