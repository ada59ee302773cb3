/* SPDX-License-Identifier: ISC */
/* generate - new key pairs: the default mode, and -A for the host keys that are missing */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/ssh-keygen/kg.h"

#define RSA_MIN 1024u
#define RSA_MAX 16384u

#define KT(id, name, cert, shown, arg, file, bits, ops) [id] = arg,
static const char *const short_names[KEY_TYPE_N] = {
#include "key/types.def"
};
#undef KT

/* "ecdsa" or "ecdsa-sha2-nistp384", any case: as people and scripts type it; or how the key is to
 * sign ("rsa-sha2-256"). */
static bool type_find(const char *text, enum key_type *out)
{
	for (size_t t = 0; t < KEY_TYPE_N; t++) {
		struct cslice s = cslice_str(text);
		if (ascii_eq_nocase(s, short_names[t]) ||
			ascii_eq_nocase(s, key_type_name((enum key_type)t)) ||
			key_alg_fits((enum key_type)t, s)) {
			*out = (enum key_type)t;
			return true;
		}
	}
	return false;
}

static bool is_ecdsa(enum key_type t)
{
	return t == KEY_ECDSA_P256 || t == KEY_ECDSA_P384 || t == KEY_ECDSA_P521;
}

static int type_and_bits(const struct kg_options *o, enum key_type *type, uint32_t *bits)
{
	*type = KEY_ED25519;
	*bits = 0;
	if (o->type != NULL && !type_find(o->type, type))
		return kg_say(KG_FATAL, "unknown key type %s", o->type);
	if (o->bits != NULL && text_u32(cslice_str(o->bits), bits) != OK)
		return kg_say(KG_FATAL, "Bits has bad value %s (invalid)", o->bits);
	if (o->bits != NULL && *bits == 0)
		return kg_say(KG_FATAL, "Bits has bad value %s (too small)", o->bits);
	bool has_curve_name =
		o->type != NULL && is_ecdsa(*type) && strlen(o->type) > strlen("ecdsa");
	if (is_ecdsa(*type) && *bits != 0 && !has_curve_name) {
		if (*bits != 256 && *bits != 384 && *bits != 521)
			return kg_say(KG_FATAL,
				"Invalid ECDSA key length: valid lengths are 256, 384 or 521 bits");
		*type = *bits == 256   ? KEY_ECDSA_P256
			: *bits == 384 ? KEY_ECDSA_P384
				       : KEY_ECDSA_P521;
	}
	if (*type != KEY_RSA)
		*bits = 0;
	if (*type == KEY_RSA && *bits != 0 && *bits < RSA_MIN)
		return kg_say(KG_FATAL, "Invalid RSA key length: minimum is %u bits", RSA_MIN);
	if (*type == KEY_RSA && *bits > RSA_MAX)
		return kg_say(KG_FATAL, "Invalid RSA key length: maximum is %u bits", RSA_MAX);
	return KG_OK;
}

/* ~/.ssh is made when it is missing and the file goes there. */
static int make_ssh_dir(const struct kg_options *o, const char *path)
{
	char *dir = kg_home_path("");
	struct stat st;
	int state = KG_OK;
	size_t n = dir != NULL ? strlen(dir) : 0;
	if (dir != NULL && strncmp(path, dir, n) == 0 && path[n] == '/' && stat(dir, &st) < 0) {
		if (errno != ENOENT)
			state = kg_say(KG_FAILED, "Could not stat %s: %s", dir, strerror(errno));
		else if (mkdir(dir, 0700) < 0)
			state = kg_say(KG_FAILED, "Could not create directory '%s': %s", dir,
				strerror(errno));
		else if (!o->quiet)
			kg_tell("Created directory '%s'.\n", dir);
	}
	free(dir);
	return state;
}

/* A run that was cut off may have left a private key alone. */
static void say_missing_public(const char *path)
{
	struct stat st;
	char *name = NULL;
	if (asprintf(&name, "%s.pub", path) < 0)
		return;
	if (stat(name, &st) < 0 && errno == ENOENT)
		(void)kg_say(
			0, "%s is missing: \"ssh-keygen -y -f %s\" prints it anew", name, path);
	free(name);
}

bool kg_may_overwrite(const char *path, bool is_pair)
{
	struct stat st;
	struct buf line;
	if (stat(path, &st) < 0)
		return true;
	kg_tell("%s already exists.\n", path);
	if (is_pair)
		say_missing_public(path);
	buf_init(&line, KG_LINE_MAX);
	bool yes = kg_ask_line("Overwrite (y/n)? ", &line) && line.n > 0 &&
		   (line.p[0] == 'y' || line.p[0] == 'Y');
	buf_done(&line);
	return yes;
}

static int show_new_key(
	const struct kg_options *o, const struct key *k, const char *path, const char *comment)
{
	struct buf text;
	kg_tell("Your identification has been saved in %s\n", path);
	kg_tell("Your public key has been saved in %s.pub\n", path);
	buf_init(&text, KEYFILE_MAX);
	err_t e = key_fingerprint(k, o->hash_id, &text);
	buf_printf(&text, " %s\n", comment);
	buf_printf(&text, "The key's randomart image is:\n");
	if (e == OK)
		e = key_randomart(k, o->hash_id, &text);
	if (e == OK)
		e = buf_err(&text);
	if (e == OK)
		kg_tell("The key fingerprint is:\n%.*s", (int)text.n, (const char *)text.p);
	buf_done(&text);
	return e == OK ? KG_OK : kg_say(KG_FATAL, "fingerprint failed: %s", err_text(e));
}

static int save_pair(
	const struct kg_options *o, const struct key *k, const char *path, struct cslice passphrase)
{
	struct buf comment;
	int state = KG_FAILED;
	buf_init(&comment, KG_LINE_MAX);
	if (o->comment != NULL)
		buf_printf(&comment, "%s", o->comment);
	else
		kg_default_comment(&comment);
	buf_put_u8(&comment, 0);
	const char *words = buf_err(&comment) == OK ? (const char *)comment.p : NULL;
	if (words == NULL)
		(void)kg_say(0, "the comment is too long");
	else if (kg_save(o, &(struct kg_pair){k, path, words, passphrase, true}) == OK)
		state = o->quiet ? KG_OK : show_new_key(o, k, path, words);
	buf_done(&comment);
	return state;
}

static int ask_and_save(struct kg_options *o, const struct key *k, const char *path)
{
	struct buf passphrase;
	char *prompt = NULL;
	if (asprintf(&prompt, "Enter passphrase for \"%s\" (empty for no passphrase): ", path) < 0)
		return KG_FATAL;
	buf_init(&passphrase, KG_LINE_MAX);
	int state = KG_FAILED;
	if (kg_ask_new(o, prompt, true, &passphrase) == OK)
		state = save_pair(o, k, path, buf_bytes(&passphrase));
	buf_done(&passphrase);
	free(prompt);
	return state;
}

int kg_generate(struct kg_options *o)
{
	enum key_type type;
	uint32_t bits;
	struct key *k = NULL;
	int state = type_and_bits(o, &type, &bits);
	if (state != KG_OK)
		return state;
	if (!o->quiet && !key_type_is_sk(type))
		kg_tell("Generating public/private %s key pair.\n", short_names[type]);
	err_t e = key_generate(&k, type, bits, os_rng());
	if (e == E_KEY_DEVICE)
		return kg_say(KG_FATAL,
			"a key of type %s lives in a FIDO device, which this build cannot use: "
			"make an ed25519 key, or one in the device by another program",
			short_names[type]);
	if (e != OK)
		return kg_say(KG_FATAL, "making the key failed: %s", err_text(e));
	const char *path = kg_identity_path(o, type, "Enter file in which to save the key");
	state = path != NULL ? make_ssh_dir(o, path) : KG_FAILED;
	if (state == KG_OK && !kg_may_overwrite(path, true))
		state = KG_FAILED;
	if (state == KG_OK)
		state = ask_and_save(o, k, path);
	key_free(k);
	return state;
}

/* ---- -A
 * ---------------------------------------------------------------------------------------------------------
 */
static const struct {
	enum key_type type;
	const char *path;
} host_keys[] = {
	{KEY_RSA, "/etc/ssh/ssh_host_rsa_key"},
	{KEY_ECDSA_P256, "/etc/ssh/ssh_host_ecdsa_key"},
	{KEY_ED25519, "/etc/ssh/ssh_host_ed25519_key"},
	{KEY_MLDSA, "/etc/ssh/ssh_host_mldsa44_ed25519_key"},
};

static err_t make_host_key(const struct kg_options *o, enum key_type type, const char *path)
{
	struct key *k = NULL;
	struct kg_options silent = *o;
	silent.quiet = true;
	TRY(key_generate(&k, type, 0, os_rng()));
	int state = save_pair(&silent, k, path, cslice_of(NULL, 0));
	key_free(k);
	return state == KG_OK ? OK : E_IO;
}

int kg_generate_host_keys(struct kg_options *o)
{
	bool first = true;
	int state = KG_OK;
	for (size_t i = 0; i < ARRAY_N(host_keys); i++) {
		char *path = NULL;
		struct stat st;
		if (asprintf(&path, "%s%s", o->file != NULL ? o->file : "", host_keys[i].path) < 0)
			return KG_FATAL;
		if (stat(path, &st) == 0 && st.st_size > 0) {
			free(path);
			continue;
		}
		kg_tell(first ? "ssh-keygen: generating new host keys: %s " : "%s ",
			key_type_shown(host_keys[i].type));
		(void)fflush(stdout);
		first = false;
		if (make_host_key(o, host_keys[i].type, path) != OK)
			state = KG_FAILED; /* the others are tried all the same */
		free(path);
	}
	if (!first)
		(void)putchar('\n');
	return state;
}
