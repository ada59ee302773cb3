/* SPDX-License-Identifier: ISC */
/* options - sshd's command line (compat 2.2) */
#include "build_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/sshd/sshd.h"
#include "crypto/crypto.h"

static NORETURN void usage(void)
{
	(void)fprintf(stderr,
		"%s, %s\n"
		"usage: sshd [-46DdeGiqTtV] [-C connection_spec] [-c host_cert_file]\n"
		"            [-E log_file] [-f config_file] [-g login_grace_time]\n"
		"            [-h host_key_file] [-o option] [-p port] [-u len]\n",
		BOWLINE_RELEASE, crypto_version());
	exit(1);
}

static void option_line(struct sshd_options *o, const char *line)
{
	struct buf why;
	buf_init(&why, 4096);
	if (cfg_lines_option(o->lines, line, &why) != OK) {
		(void)fprintf(stderr, "%.*s", (int)why.n, (const char *)why.p);
		exit(1);
	}
	buf_done(&why);
}

static void option_value(struct sshd_options *o, const char *keyword, const char *value)
{
	struct buf line;
	buf_init(&line, 8192);
	buf_printf(&line, "%s=\"%s\"", keyword, value);
	buf_put_u8(&line, 0);
	if (buf_err(&line) != OK) {
		(void)fprintf(stderr, "sshd: value of %s is too long\n", keyword);
		exit(1);
	}
	option_line(o, (const char *)line.p);
	buf_done(&line);
}

static void add_port(struct sshd_options *o, char *text)
{
	uint32_t port;
	if (o->ports_n >= ARRAY_N(o->ports)) {
		(void)fprintf(stderr, "too many ports.\n");
		exit(1);
	}
	if (text_u32(cslice_str(text), &port) != OK || port == 0 || port > 65535) {
		(void)fprintf(stderr, "Bad port number.\n");
		exit(1);
	}
	o->ports[o->ports_n++] = text;
}

static void one_option(struct sshd_options *o, int c)
{
	switch (c) {
	case '4':
		option_line(o, "AddressFamily=inet");
		break;
	case '6':
		option_line(o, "AddressFamily=inet6");
		break;
	case 'C':
		o->test_spec = optarg;
		break;
	case 'c':
		option_value(o, "HostCertificate", optarg);
		break;
	case 'D':
		o->is_foreground = true;
		break;
	case 'd':
		o->debug += o->debug < 3;
		break;
	case 'E':
		o->log_file = optarg;
		/* fall through */
	case 'e':
		o->to_stderr = true;
		break;
	case 'f':
		o->config_file = optarg;
		break;
	case 'G':
		o->is_dump_only = true;
		break;
	case 'g':
		option_value(o, "LoginGraceTime", optarg);
		break;
	case 'h':
		option_value(o, "HostKey", optarg);
		break;
	case 'i':
		o->is_inetd = true;
		break;
	case 'o':
		option_line(o, optarg);
		break;
	case 'p':
		add_port(o, optarg);
		break;
	case 'q':
		o->is_quiet = true;
		break;
	case 'R':
		o->is_reexec = true;
		break;
	case 'r':
		(void)fprintf(stderr, "-r option is deprecated\n");
		break;
	case 'T':
		o->is_dump = true;
		break;
	case 't':
		o->is_test = true;
		break;
	case 'V':
		(void)fprintf(stderr, "%s, %s\n", BOWLINE_RELEASE, crypto_version());
		exit(0);
	case 'b': /* leftovers of protocol 1 and of utmp: taken, without effect */
	case 'k':
	case 'Q':
	case 'u':
		break;
	default:
		usage();
	}
}

void options_parse(struct sshd_options *o, int argc, char **argv)
{
	*o = (struct sshd_options){
		.config_file = SYSCONFDIR "/ssh/sshd_config", .argc = argc, .argv = argv};
	if (cfg_lines_new(&o->lines) != OK)
		exit(EXIT_FATAL);
	int c;
	while ((c = getopt(argc, argv, "46C:DE:GQRTb:c:def:g:h:ik:o:p:qrtu:V")) != -1)
		one_option(o, c);
	if (o->is_reexec && optind < argc)
		o->role = argv[optind++];
	if (optind < argc) {
		(void)fprintf(stderr, "Extra argument %s.\n", argv[optind]);
		exit(1);
	}
	bool is_short = o->is_inetd || o->is_test || o->is_dump || o->is_dump_only || o->is_reexec;
	if (!is_short && (argv[0] == NULL || argv[0][0] != '/')) {
		(void)fprintf(stderr, "sshd requires execution with an absolute path\n");
		exit(1);
	}
	if (o->debug > 0 && !o->is_inetd)
		o->to_stderr = true;
	if (o->test_spec != NULL && !o->is_dump)
		usage();
}
