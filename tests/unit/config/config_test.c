/* SPDX-License-Identifier: ISC */
/* config_test - files in, values out: the rows of reported faults and the rules of
 * compat 3.1-3.3, 4.1-4.3 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "config/config.h"

/* A world of a few files. */
struct file {
	const char *path, *text;
};
struct world {
	const struct file *files;
	size_t files_n;
	struct buf warned;
};

static err_t read_file(void *arg, const char *path, bool is_user, struct buf *out)
{
	struct world *w = arg;
	(void)is_user;
	for (size_t i = 0; i < w->files_n; i++) {
		if (strcmp(w->files[i].path, path) == 0) {
			buf_printf(out, "%s", w->files[i].text);
			return buf_err(out);
		}
	}
	return E_NOT_FOUND;
}

static err_t glob_files(void *arg, const char *pattern, struct cfg_list *out)
{
	struct world *w = arg;
	for (size_t i = 0; i < w->files_n; i++) {
		if (!glob_match(cslice_str(pattern), cslice_str(w->files[i].path)))
			continue;
		out->v = realloc(out->v, (out->n + 1) * sizeof(*out->v));
		out->v[out->n++] = strdup(w->files[i].path);
	}
	return OK;
}

static bool run_command(void *arg, const char *command)
{
	(void)arg;
	return strcmp(command, "true a.example") == 0;
}

static const char *get_env(void *arg, const char *name)
{
	(void)arg;
	return strcmp(name, "HOME") == 0 ? "/home/u" : strcmp(name, "WHERE") == 0 ? "place" : NULL;
}

static void warn(void *arg, const char *text)
{
	struct world *w = arg;
	buf_printf(&w->warned, "%s\n", text);
}

static struct world world;
static struct buf why;

static struct cfg_env env_of(struct world *w)
{
	return (struct cfg_env){w, read_file, glob_files, run_command, get_env, warn, NULL};
}

static int set_up(void **state)
{
	(void)state;
	world = (struct world){NULL, 0, {0}};
	buf_init(&world.warned, 65536);
	buf_init(&why, 65536);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	buf_done(&world.warned);
	buf_done(&why);
	return 0;
}

static err_t client_at(struct client_config *c, const char *text, const char *host)
{
	struct cfg_env env = env_of(&world);
	struct client_situation s = {host, "luser", "/home/u", "here.example", 1000, NULL};
	struct cfg_lines *l;
	assert_int_equal(cfg_lines_new(&l), OK);
	err_t e = cfg_lines_text(
		l, cslice_str(text), &(struct cfg_source){"F", true, "/home/u/.ssh"}, &env, &why);
	/* the frozen form must mean the same */
	struct buf frozen;
	buf_init(&frozen, (size_t)1 << 20);
	cfg_lines_put(l, &frozen);
	cfg_lines_free(l);
	assert_int_equal(cfg_lines_get(&l, buf_bytes(&frozen)), OK);
	buf_done(&frozen);
	if (e == OK)
		e = client_config_eval(c, l, &s, &env, &why);
	cfg_lines_free(l);
	return e;
}

static err_t server_at(struct server_config *c, const char *text, const struct server_situation *s)
{
	struct cfg_env env = env_of(&world);
	struct cfg_lines *l;
	assert_int_equal(cfg_lines_new(&l), OK);
	err_t e = cfg_lines_text(
		l, cslice_str(text), &(struct cfg_source){"F", false, "/etc/ssh"}, &env, &why);
	if (e == OK)
		e = server_config_eval(c, l, s, &env, &why);
	cfg_lines_free(l);
	return e;
}

/* One host, one text, one -G line that must stand in the dump. */
static const struct {
	const char *text, *host, *line;
} values[] = {
	{"", "a.example", "port 22\n"},
	{"# it's mine\nPort 23\n", "a.example", "port 23\n"},
	{"Hostname = 192.0.2.1", "a", "hostname 192.0.2.1\n"},
	{"hostname=192.0.2.1", "a", "hostname 192.0.2.1\n"},
	{"HostName\t192.0.2.1\f\r\n", "a", "hostname 192.0.2.1\n"},
	{"HostName %h.example", "a", "hostname a.example\n"},
	{"Port 23\nPort 24", "a", "port 23\n"},
	{"Host b\nPort 23\nHost a\nPort 24", "a", "port 24\n"},
	{"Host * !a\nPort 23", "a", "port 22\n"},
	{"Match all # note\nPort 23 # and this", "a", "port 23\n"},
	{"Match host a,b user luser\nPort 23", "a", "port 23\n"},
	{"Match !host a\nPort 23", "a", "port 22\n"},
	{"Match host=a\nPort 23", "a", "port 23\n"},
	{"Match exec \"true %h\"\nPort 23", "a.example", "port 23\n"},
	{"Match exec \"true %h\"\nPort 23", "b.example", "port 22\n"},
	{"Match final\nPort 23", "a", "port 23\n"},
	{"HostName x\nMatch host x\nPort 23", "a", "port 23\n"},
	{"UserKnownHostsFile \"/a b/c\" /d", "a", "userknownhostsfile /a b/c /d\n"},
	{"RekeyLimit 1K 1h", "a", "rekeylimit 1024 3600\n"},
	{"RekeyLimit default 5", "a", "rekeylimit 0 5\n"},
	{"ProxyCommand nc %h 'x y' # not a comment", "a",
		"proxycommand nc %h 'x y' # not a comment\n"},
	{"EscapeChar ^]", "a", "escapechar ^]\n"},
	{"AddKeysToAgent yes", "a", "addkeystoagent true\n"},
	{"AddKeysToAgent ask", "a", "addkeystoagent ask\n"},
	{"AddKeysToAgent 1h", "a", "addkeystoagent 3600\n"},
	{"AddKeysToAgent confirm 2m", "a", "addkeystoagent confirm 120\n"},
	{"UseKeychain yes", "a", "usekeychain yes\n"},
	{"LastKeyFile ~/k", "a", "lastkeyfile ~/k\n"},
	{"ConnectTimeout 1m30s", "a", "connecttimeout 90\n"},
	{"StrictHostKeyChecking accept-new", "a", "stricthostkeychecking accept-new\n"},
	{"", "a", "updatehostkeys true\n"},
	{"UpdateHostKeys ask", "a", "updatehostkeys ask\n"},
	{"UpdateHostKeys no", "a", "updatehostkeys false\n"},
	{"UserKnownHostsFile ~/k", "a", "updatehostkeys false\n"},
	{"UserKnownHostsFile ~/k\nUpdateHostKeys yes", "a", "updatehostkeys true\n"},
	{"VerifyHostKeyDNS no", "a", "updatehostkeys true\n"},
	{"Host b\nVerifyHostKeyDNS yes", "a", "updatehostkeys true\n"},
	{"IdentityFile ~/a\nIdentityFile ~/b", "a", "identityfile ~/a\nidentityfile ~/b\n"},
	{"Include one", "a", "port 99\n"},
	{"Host b\nInclude one\nHost *\nPort 5", "a", "port 5\n"},
	{"Host a\nInclude two\nUser after\nHost zz\nUser zz", "a", "user after\n"},
	{"Include ${WHERE}/x", "a", "port 77\n"},
	{"Include missing", "a", "port 22\n"},
	{"Include ~/abs", "a", "port 66\n"},
	{"Protocol 2\nPort 23", "a", "port 23\n"},
	{"ForwardAgent no\nControlMaster no", "a", "port 22\n"},
	{"ForwardAgent yes", "a", "forwardagent yes\n"},
	{"ForwardAgent $MY_AGENT\nForwardAgent no", "a", "forwardagent $MY_AGENT\n"},
};
static const struct file include_files[] = {{"/home/u/.ssh/one", "Port 99"},
	{"/home/u/.ssh/two", "Host other\nPort 1\n"}, {"/home/u/.ssh/place/x", "Port 77"},
	{"/home/u/abs", "Port 66"}, {"/home/u/.ssh/self", "Include self"},
	{"/home/u/.ssh/broken", "Bogus 1"}};

static void client_values(void **state)
{
	(void)state;
	world.files = include_files;
	world.files_n = ARRAY_N(include_files);
	for (size_t i = 0; i < ARRAY_N(values); i++) {
		struct client_config c;
		struct buf dump;
		struct client_situation s = {values[i].host, "luser", "/home/u", NULL, 1000, NULL};
		buf_init(&dump, 65536);
		err_t e = client_at(&c, values[i].text, values[i].host);
		if (e != OK)
			fail_msg("%s: %s: %.*s", values[i].text, err_name(e), (int)why.n,
				(char *)why.p);
		assert_int_equal(client_config_dump(&c, &s, &dump), OK);
		buf_put_u8(&dump, 0);
		if (strstr((char *)dump.p, values[i].line) == NULL)
			fail_msg("%s: want %s in %s", values[i].text, values[i].line,
				(char *)dump.p);
		buf_done(&dump);
		client_config_done(&c);
	}
	assert_int_equal(world.warned.n, 0);
}

/* What must be refused, and words that the message must have. */
static const struct {
	const char *text, *words;
} refused[] = {
	{"Bogus 1", "F: line 1: Bad configuration option: bogus"},
	{"\nPrt 1", "did you mean Port"},
	{"Port", "F line 1: no argument after keyword \"Port\""},
	{"Port 1 2", "extra arguments at end of line"},
	{"Port 0", "Bad number"},
	{"Port 65536", "Bad number"},
	{"BatchMode maybe", "bad yes/no argument"},
	{"AddKeysToAgent maybe", "invalid time value"},
	{"AddKeysToAgent yes 1h", "bad argument \"1h\""},
	{"AddKeysToAgent confirm 1h 2h", "bad argument \"2h\""},
	{"Ciphers bogus", "Bad SSH2 cipher spec"},
	{"Ciphers ab", "unknown name 'ab'"},
	{"Ciphers arc\xe2\x80\x90"
	 "four",
		"did you mean arcfour?"}, /* as a web page has it */
	{"Ciphers +blowfish", "did you mean blowfish-cbc?"},
	{"Protocol 1", "SSH protocol v.1 is no longer supported"},
	{"HostKeyAlgorithms ssh-dss", "none of these is in this build"},
	{"Host b\nBogus 1", "Bad configuration option"},
	{"User \"x", "a quote is not closed"},
	{"Include", "no argument after keyword \"Include\""},
	{"Include self", "Too many recursive"},
	{"Host b\nInclude broken", "Bad configuration option: bogus"},
	{"Match bogus x", "Unsupported Match attribute"},
	{"Match all host x", "'all' cannot be combined"},
	{"PermitRemoteOpen x:1", "limits access and is not supported yet"},
	{"RekeyLimit 1", "RekeyLimit too small"},
	{"HostName %z", "unknown key %z"},
	{"Foo yes\nIgnoreUnknown foo", "Bad configuration option: foo"},
	{"IgnoreUnknown Foo*,!FooBar\nFooBar yes", "Bad configuration option: foobar"},
	{"Host b\nIgnoreUnknown foo\nHost *\nFoo 1", "Bad configuration option: foo"},
	{"LocalForward 1 a:2\nHost a\nExitOnForwardFailure yes",
		"LocalForward is not supported yet, and ExitOnForwardFailure is on"},
	{"ExitOnForwardFailure yes\nDynamicForward 1", "line 2: DynamicForward"},
	{"ExitOnForwardFailure yes\nMatch final\nRemoteForward 1 a:2", "line 3: RemoteForward"},
};

static void client_refusals(void **state)
{
	(void)state;
	world.files = include_files;
	world.files_n = ARRAY_N(include_files);
	for (size_t i = 0; i < ARRAY_N(refused); i++) {
		struct client_config c;
		buf_clear(&why);
		if (client_at(&c, refused[i].text, "a") == OK)
			fail_msg("%s was accepted", refused[i].text);
		buf_put_u8(&why, 0);
		if (strstr((char *)why.p, refused[i].words) == NULL)
			fail_msg("%s: want \"%s\" in \"%s\"", refused[i].text, refused[i].words,
				(char *)why.p);
	}
}

static void warns_once_for_what_is_not_built(void **state)
{
	(void)state;
	struct client_config c;
	assert_int_equal(
		client_at(&c, "LocalForward 1 a:2\nHost b\nForwardX11 yes\nHost *\nPort 2", "a"),
		OK);
	assert_int_equal(c.port, 2);
	client_config_done(&c);
	buf_put_u8(&world.warned, 0);
	assert_non_null(strstr((char *)world.warned.p, "LocalForward is not supported yet"));
	assert_null(strstr((char *)world.warned.p, "ForwardX11"));
}

static void trust_in_the_dns_leaves_known_hosts_as_it_is(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int want;
	} cases[] = {{"VerifyHostKeyDNS yes", CFG_UPDATE_NO},
		{"VerifyHostKeyDNS ask", CFG_UPDATE_NO},
		{"VerifyHostKeyDNS yes\nUpdateHostKeys yes", CFG_UPDATE_YES},
		{"Host b\nVerifyHostKeyDNS yes", CFG_UPDATE_YES}};
	for (size_t i = 0; i < ARRAY_N(cases); i++) {
		struct client_config c;
		assert_int_equal(client_at(&c, cases[i].text, "a"), OK);
		assert_int_equal(c.update_host_keys, cases[i].want);
		client_config_done(&c);
	}
}

static void passes_over_what_ignore_unknown_names(void **state)
{
	(void)state;
	static const char *const texts[] = {"IgnoreUnknown FooBar\nFooBar yes\nPort 7",
		"IgnoreUnknown other,Foo?ar\nfoobar \"yes\nPort 7",
		"Host b\nIgnoreUnknown x\nHost *\nIgnoreUnknown foo*\nFOOBAR 1\nPort 7"};
	for (size_t i = 0; i < ARRAY_N(texts); i++) {
		struct client_config c;
		assert_int_equal(client_at(&c, texts[i], "a"), OK);
		assert_int_equal(c.port, 7);
		client_config_done(&c);
	}
}

static void forwards_are_fine_where_they_are_not_asked_for(void **state)
{
	(void)state;
	static const char *const texts[] = {"ExitOnForwardFailure yes\nHost b\nLocalForward 1 a:2",
		"LocalForward 1 a:2\nExitOnForwardFailure yes\nClearAllForwardings yes",
		"ExitOnForwardFailure no\nLocalForward 1 a:2\nExitOnForwardFailure yes"};
	for (size_t i = 0; i < ARRAY_N(texts); i++) {
		struct client_config c;
		assert_int_equal(client_at(&c, texts[i], "a"), OK);
		client_config_done(&c);
	}
}

static void lists_keep_names_of_other_builds_out(void **state)
{
	(void)state;
	struct client_config c;
	assert_int_equal(
		client_at(&c,
			"HostKeyAlgorithms ssh-dss-cert-v01@openssh.com,ssh-ed25519\nCiphers "
			"^aes256-ctr",
			"a"),
		OK);
	assert_string_equal(c.hostkey_algorithms, "ssh-ed25519");
	assert_memory_equal(c.ciphers, "aes256-ctr,", 11);
	assert_true(c.ciphers_set);
	client_config_done(&c);
}

static void server_match_decides_for_a_connection(void **state)
{
	(void)state;
	static const char text[] =
		"PasswordAuthentication no\nAcceptEnv A\nPermitTTY no\nSubsystem sftp /x -a 'b c'\n"
		"Match User bob,al* Address 192.0.2.0/24\n\tPasswordAuthentication "
		"yes\n\tAcceptEnv B\n"
		"Match Group wheel\n\tPasswordAuthentication no\n\tPermitTTY yes\n";
	struct server_situation bob = {
		.user = "bob", .groups = "users,wheel", .address = "192.0.2.7"};
	struct server_situation eve = {.user = "eve", .groups = "users", .address = "192.0.2.7"};
	struct server_config c;
	assert_int_equal(server_at(&c, text, NULL), OK);
	assert_false(c.password_auth);
	assert_int_equal(c.log_level, LOG_L_INFO);
	assert_string_equal(c.subsystems.commands.v[0], "/x -a 'b c'");
	assert_string_equal(c.ports.v[0], "22");
	server_config_done(&c);
	assert_int_equal(server_at(&c, text, &bob), OK);
	assert_true(c.password_auth);
	assert_true(c.permit_tty);
	assert_int_equal(c.accept_env.n, 1);
	assert_string_equal(c.accept_env.v[0], "B");
	server_config_done(&c);
	assert_int_equal(server_at(&c, text, &eve), OK);
	assert_false(c.password_auth);
	assert_false(c.permit_tty);
	server_config_done(&c);
}

static const struct {
	const char *text, *words;
} server_refused[] = {
	{"Match User x\nPrintMotd no", "Directive 'PrintMotd' is not allowed within a Match block"},
	{"PubkeyAuthOptions touch-required smell-required",
		"unsupported PubkeyAuthOptions option smell-required"},
	{"AuthorizedKeysCommand bin/keys", "AuthorizedKeysCommand must be an absolute path"},
	{"AuthenticationMethods publickey,smoke", "invalid AuthenticationMethods list"},
	{"AuthenticationMethods publickey,", "invalid AuthenticationMethods list"},
	{"AuthenticationMethods any password", "must stand alone"},
	{"Match User x\nRefuseConnection yes", "RefuseConnection limits access"},
	{"Bogus 1", "Bad configuration option: Bogus"},
	{"Subsystem invalid", "missing command for subsystem"},
	{"MaxStartups 5:0:2", "Illegal MaxStartups"},
	{"Match Address 192.0.2.1/8\nPermitTTY no", "Match address argument is not valid"},
};

static void server_refusals(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_N(server_refused); i++) {
		struct server_config c;
		buf_clear(&why);
		if (server_at(&c, server_refused[i].text, NULL) == OK)
			fail_msg("%s was accepted", server_refused[i].text);
		buf_put_u8(&why, 0);
		if (strstr((char *)why.p, server_refused[i].words) == NULL)
			fail_msg("%s: want \"%s\" in \"%s\"", server_refused[i].text,
				server_refused[i].words, (char *)why.p);
	}
}

/* An included file that ends inside a Match block does not swallow what follows. */
static void server_include_ends_its_block(void **state)
{
	(void)state;
	static const struct file files[] = {
		{"/etc/ssh/d/x.conf", "Match User bob\nPermitTTY no\n"}};
	struct server_config c;
	world.files = files;
	world.files_n = 1;
	assert_int_equal(
		server_at(&c, "Include d/*.conf\nSubsystem sftp /y\nPrintMotd no\n", NULL), OK);
	assert_int_equal(c.subsystems.names.n, 1);
	assert_false(c.print_motd);
	assert_true(c.permit_tty);
	server_config_done(&c);
}

static void server_dump_reads_back_to_itself(void **state)
{
	(void)state;
	struct server_config c;
	struct buf one, two;
	buf_init(&one, 65536);
	buf_init(&two, 65536);
	assert_int_equal(server_at(&c,
				 "Port 2222\nListenAddress 127.0.0.1\nSubsystem sftp /y\nSubsystem "
				 "z /w q\nMaxStartups 3\nAuthorizedKeysCommand /k %u \"a b\"\n"
				 "PubkeyAuthOptions verify-required touch-required\n",
				 NULL),
		OK);
	assert_int_equal(server_config_dump(&c, &one), OK);
	server_config_done(&c);
	buf_put_u8(&one, 0);
	assert_non_null(strstr((char *)one.p, "listenaddress 127.0.0.1:2222\n"));
	assert_non_null(strstr((char *)one.p, "maxstartups 3:100:3\n"));
	assert_non_null(strstr((char *)one.p, "authorizedkeyscommand /k %u \"a b\"\n"));
	assert_non_null(strstr((char *)one.p, "authorizedkeyscommanduser none\n"));
	assert_non_null(
		strstr((char *)one.p, "pubkeyauthoptions touch-required verify-required\n"));
	if (server_at(&c, (char *)one.p, NULL) != OK)
		fail_msg("%.*s", (int)why.n, (char *)why.p);
	assert_int_equal(server_config_dump(&c, &two), OK);
	server_config_done(&c);
	buf_put_u8(&two, 0);
	assert_string_equal((char *)one.p, (char *)two.p);
	buf_done(&one);
	buf_done(&two);
}

static void times(void **state)
{
	(void)state;
	static const struct {
		const char *s;
		int64_t v;
	} good[] = {{"0", 0}, {"90", 90}, {"1h30m", 5400}, {"2W", 1209600}, {"none", -1},
		{"2147483647", INT32_MAX}};
	static const char *const bad[] = {"", "x", "1x", "-1", "99999999999", "h", "100000w", "68y",
		"2147483647s1", "2147483648"};
	int64_t v;
	for (size_t i = 0; i < ARRAY_N(good); i++) {
		assert_int_equal(cfg_time(cslice_str(good[i].s), &v), OK);
		assert_int_equal(v, good[i].v);
	}
	for (size_t i = 0; i < ARRAY_N(bad); i++)
		assert_int_not_equal(cfg_time(cslice_str(bad[i]), &v), OK);
}

static void the_words_of_a_command(void **state)
{
	(void)state;
	static const struct {
		const char *command, *words[4];
	} cases[] = {
		{"internal-sftp", {"internal-sftp"}},
		{"internal-sftp  -l\tINFO", {"internal-sftp", "-l", "INFO"}},
		{"\"internal-sftp\" -d '/a b'", {"internal-sftp", "-d", "/a b"}},
		{"internal-sftp -R # why", {"internal-sftp", "-R"}},
		{"", {NULL}},
	};
	struct cfg_list l = {NULL, 0};
	for (size_t i = 0; i < ARRAY_N(cases); i++) {
		size_t n = 0;
		assert_int_equal(cfg_command_words(cases[i].command, &l), OK);
		for (; n < l.n && cases[i].words[n] != NULL; n++)
			assert_string_equal(l.v[n], cases[i].words[n]);
		assert_int_equal(n, l.n);
		assert_null(cases[i].words[n]);
		cfg_command_words_done(&l);
	}
	assert_int_equal(cfg_command_words("internal-sftp \"-R", &l), E_FORMAT);
	assert_int_equal(l.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_words_of_a_command),
		cmocka_unit_test_setup_teardown(client_values, set_up, tear_down),
		cmocka_unit_test_setup_teardown(client_refusals, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			warns_once_for_what_is_not_built, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			trust_in_the_dns_leaves_known_hosts_as_it_is, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			passes_over_what_ignore_unknown_names, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			forwards_are_fine_where_they_are_not_asked_for, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			lists_keep_names_of_other_builds_out, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			server_match_decides_for_a_connection, set_up, tear_down),
		cmocka_unit_test_setup_teardown(server_refusals, set_up, tear_down),
		cmocka_unit_test_setup_teardown(server_include_ends_its_block, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			server_dump_reads_back_to_itself, set_up, tear_down),
		cmocka_unit_test_setup_teardown(times, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
