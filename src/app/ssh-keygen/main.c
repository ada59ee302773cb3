/* SPDX-License-Identifier: ISC */
/* ssh-keygen - makes, changes and shows keys, and keeps known_hosts; flags.def is the list of what
 * it takes */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "app/ssh-keygen/kg.h"
#include "os/child.h"
#include "os/drop.h"

static const struct flag {
	char letter;
	bool has_argument;
	size_t at;
	const char *argument, *text;
	const char *later; /* what it stands for, where it is not built */
} flags[] = {
#define FLAG_set  false
#define FLAG_text true
#define FLAG(letter, kind, field, argument, text)                                                  \
	{letter, FLAG_##kind, offsetof(struct kg_options, field), argument, text, NULL},
#define LATER(letter, argument, what) {letter, (argument) != NULL, 0, argument, NULL, what},
#include "app/ssh-keygen/flags.def"
#undef LATER
#undef FLAG
#undef FLAG_text
#undef FLAG_set
};

static const char synopsis[] =
	"usage: ssh-keygen [-q] [-a rounds] [-b bits] [-C comment] [-f output_keyfile]\n"
	"                  [-N new_passphrase] [-t ecdsa | ed25519 | mldsa44-ed25519 | rsa]\n"
	"                  [-Z cipher]\n"
	"       ssh-keygen -p [-a rounds] [-f keyfile] [-N new_passphrase]\n"
	"                  [-P old_passphrase] [-Z cipher]\n"
	"       ssh-keygen -c [-a rounds] [-C comment] [-f keyfile] [-P passphrase]\n"
	"       ssh-keygen -y [-f input_keyfile] [-P passphrase]\n"
	"       ssh-keygen -i [-f input_keyfile] [-m key_format]\n"
	"       ssh-keygen -e [-f input_keyfile] [-m key_format]\n"
	"       ssh-keygen -l [-v] [-E fingerprint_hash] [-f input_keyfile]\n"
	"       ssh-keygen -B [-f input_keyfile]\n"
	"       ssh-keygen -F hostname [-Hlv] [-f known_hosts_file]\n"
	"       ssh-keygen -H [-f known_hosts_file]\n"
	"       ssh-keygen -R hostname [-f known_hosts_file]\n"
	"       ssh-keygen -r hostname [-g] [-f input_keyfile]\n"
	"       ssh-keygen -I certificate_identity -s ca_key [-hU] [-n principals]\n"
	"                  [-O option] [-t signature_algorithm] [-V validity_interval]\n"
	"                  [-z serial_number] file ...\n"
	"       ssh-keygen -L [-f input_keyfile]\n"
	"       ssh-keygen -k -f krl_file [-u] [-s ca_public] [-z version_number] file ...\n"
	"       ssh-keygen -Q [-l] -f krl_file [file ...]\n"
	"       ssh-keygen -M generate [-O option] output_file\n"
	"       ssh-keygen -M screen [-f input_file] [-O option] output_file\n"
	"       ssh-keygen -A [-a rounds] [-f prefix_path]\n"
	"       ssh-keygen -Y find-principals -s signature_file -f allowed_signers_file\n"
	"       ssh-keygen -Y match-principals -I signer_identity -f allowed_signers_file\n"
	"       ssh-keygen -Y check-novalidate -n namespace -s signature_file\n"
	"       ssh-keygen -Y sign -f key_file -n namespace file [-O option] ...\n"
	"       ssh-keygen -Y verify -f allowed_signers_file -I signer_identity\n"
	"                  -n namespace -s signature_file [-r revocation_file] [-O option]\n";

static int usage(void)
{
	(void)fputs(synopsis, stderr);
	for (size_t i = 0; i < ARRAY_N(flags); i++)
		if (flags[i].later == NULL)
			(void)fprintf(stderr, "  -%c %-11s %s\n", flags[i].letter,
				flags[i].argument != NULL ? flags[i].argument : "", flags[i].text);
	return KG_USAGE;
}

static const struct flag *flag_find(int letter)
{
	for (size_t i = 0; i < ARRAY_N(flags); i++)
		if (flags[i].letter == letter)
			return &flags[i];
	return NULL;
}

/* KG_OK: go on. */
static int parse(struct kg_options *o, int argc, char **argv)
{
	char letters[2 * ARRAY_N(flags) + 2], *at = letters;
	*at++ = ':';
	for (size_t i = 0; i < ARRAY_N(flags); i++) {
		*at++ = flags[i].letter;
		if (flags[i].has_argument)
			*at++ = ':';
	}
	*at = '\0';
	opterr = 0;
	for (int c = getopt(argc, argv, letters); c != -1; c = getopt(argc, argv, letters)) {
		const struct flag *f = flag_find(c);
		if (f == NULL && c == ':')
			f = flag_find(optopt); /* its argument is missing */
		if (f != NULL && f->later != NULL)
			return kg_say(KG_USAGE, "ssh-keygen: -%c is not built yet (%s)", f->letter,
				f->later);
		if (f == NULL || c == ':') {
			(void)usage(); /* the sentence last, where it is seen */
			return kg_say(KG_USAGE,
				c == ':' ? "option requires an argument -- %c"
					 : "unknown option -- %c",
				optopt);
		}
		if (f->has_argument)
			*(const char **)(void *)((char *)o + f->at) = optarg;
		if (c == 'O' && o->options_n == ARRAY_N(o->options))
			return kg_say(KG_FATAL, "too many -O");
		if (c == 'O')
			o->options[o->options_n++] = optarg;
		if (!f->has_argument)
			*(bool *)((char *)o + f->at) = true;
	}
	bool takes_files = o->sign_action != NULL || o->sig_file != NULL || o->krl_make ||
			   o->krl_test || o->moduli != NULL;
	if (optind < argc && !takes_files) {
		(void)kg_say(0, "Too many arguments.");
		return usage();
	}
	if (o->option != NULL && !takes_files && o->sshfp_host == NULL)
		return kg_say(KG_USAGE, "ssh-keygen: -O is not built yet (options of a mode)");
	return KG_OK;
}

/* -m: how public keys are converted, and how private keys are written, where RFC4716 stands for
 * OpenSSH's own form. */
static int check_format(struct kg_options *o)
{
	struct cslice format = cslice_str(o->format);
	if (ascii_eq_nocase(format, "PEM"))
		o->write.form = KEY_FORM_PEM;
	else if (ascii_eq_nocase(format, "PKCS8"))
		o->write.form = KEY_FORM_PKCS8;
	else if (ascii_eq_nocase(format, "PPK"))
		o->write.form = KEY_FORM_PPK;
	else if (ascii_eq_nocase(format, "PPK2"))
		o->write.form = KEY_FORM_PPK2;
	else if (!ascii_eq_nocase(format, "RFC4716") && !ascii_eq_nocase(format, "ssh2"))
		return kg_say(KG_FATAL, "Unsupported conversion format \"%s\"", o->format);
	return KG_OK;
}

static int check_values(struct kg_options *o)
{
	o->hash_id = HASH_SHA256;
	if (o->hash != NULL && !hash_from_name(cslice_str(o->hash), &o->hash_id))
		return kg_say(KG_FATAL, "Invalid hash algorithm \"%s\"", o->hash);
	if (o->rounds != NULL) {
		err_t e = text_u32(cslice_str(o->rounds), &o->write.rounds);
		bool is_small = e == OK && o->write.rounds == 0,
		     is_large = e == E_LIMIT || o->write.rounds > KEY_ROUNDS_MAX;
		if (e != OK || is_small || is_large)
			return kg_say(KG_FATAL, "Invalid number: %s (%s)", o->rounds,
				is_small   ? "too small"
				: is_large ? "too large"
					   : "invalid");
	}
	if (o->cipher != NULL && !key_write_cipher_known(o->cipher))
		return kg_say(KG_FATAL, "Invalid OpenSSH-format cipher '%s'", o->cipher);
	o->write.cipher = o->cipher;
	return o->format != NULL ? check_format(o) : KG_OK;
}

/* At most one of the modes; the order is OpenSSH's. */
static int run(struct kg_options *o, char **files, size_t files_n)
{
	if (o->sign_action != NULL)
		return kg_signatures(o, files, files_n);
	if (o->krl_make)
		return kg_krl_make(o, files, files_n);
	if (o->krl_test)
		return kg_krl_test(o, files, files_n);
	if (o->moduli != NULL)
		return kg_moduli(o, files, files_n);
	if (o->sig_file != NULL && files_n == 0) {
		(void)kg_say(0, "Too few arguments.");
		return usage();
	}
	if (o->find_host != NULL && o->remove_host != NULL)
		return usage();
	if (o->passphrase && o->change) {
		(void)kg_say(0, "Can only have one of -p and -c.");
		return usage();
	}
	if (o->find_host != NULL || o->remove_host != NULL || o->hash_hosts)
		return kg_known_hosts(o);
	if (o->list || o->babble)
		return kg_fingerprint(o);
	if (o->sig_file != NULL)
		return kg_certify(o, files, files_n);
	if (o->show_certs)
		return kg_show_certs(o);
	if (o->export_key)
		return kg_export(o);
	if (o->import_key || o->import_alias)
		return kg_import(o);
	if (o->sshfp_host != NULL)
		return kg_print_sshfp(o);
	if (o->passphrase)
		return kg_change_passphrase(o);
	if (o->change)
		return kg_change_comment(o);
	if (o->print_public)
		return kg_print_public(o);
	return o->all_hosts ? kg_generate_host_keys(o) : kg_generate(o);
}

int main(int argc, char **argv)
{
	struct kg_options o = {0};
	child_open_stdio();
	child_ignore_file_size(); /* a file that may not grow is told, and leaves nothing behind */
	drop_dumpable();          /* private keys and passphrases pass through */
	int state = parse(&o, argc, argv);
	if (state != KG_OK)
		return state;
	err_t e = crypto_init();
	if (e != OK)
		return kg_say(
			KG_FATAL, "the cryptographic library does not start: %s", err_text(e));
	state = check_values(&o);
	if (state == KG_OK)
		state = run(&o, argv + optind, (size_t)(argc - optind));
	free(o.path_buf);
	if (fflush(stdout) != 0 && state == KG_OK)
		state = kg_say(KG_FATAL, "writing to standard output failed");
	return state;
}
