/* SPDX-License-Identifier: ISC */
/*
 * authorized_keys - text in, verdict out (compat 5.1)
 *
 * The first line that names the key and whose options hold decides.  An unknown option, a bad list,
 * a repeated single option: the line is skipped (with its reason told through `why`), never obeyed
 * in part.
 */
#ifndef KEY_AUTHORIZED_KEYS_H
#define KEY_AUTHORIZED_KEYS_H

#include "key/key.h"

enum ak_verdict { AK_DENY = 0, AK_ALLOW };

struct ak_permit { /* what a line allows; all false after `restrict` until re-enabled */
	bool pty, port_forwarding, agent_forwarding, x11_forwarding, user_rc;
};

struct ak_result {
	enum ak_verdict verdict;
	uint32_t line; /* of the deciding line */
	struct ak_permit permit;
	bool no_touch_required; /* of FIDO keys: a signature without a touch will do */
	bool verify_required;   /* ... must come with a PIN or a finger */
	bool is_ca;             /* the line is of an authority (cert-authority) */
	char *principals;       /* principals= of such a line, NULL = none given */
	char *command;          /* forced command, NULL = none; owned, ak_done frees */
	char **environment;     /* NAME=VALUE, first of a name wins */
	size_t environment_n;
	char **permitopen; /* kept for forwarding */
	size_t permitopen_n;
	char **permitlisten;
	size_t permitlisten_n;
};

struct ak_civil { /* a date without a time zone */
	uint32_t year, month, day, hour, minute, second;
};

/* YYYYMMDD, YYYYMMDDHHMM or with SS; Z behind it is UTC, else local_time says (NULL: UTC too).
 * E_KEY_FORMAT: it is no such time. */
MUST err_t ak_time_parse(struct cslice text,
	bool (*local_time)(const struct ak_civil *t, uint64_t *out_s), uint64_t *out_s);

struct ak_query {
	/* A plain key is looked for itself, on lines without cert-authority; of one with a
	 * certificate the authority is, on lines with it, and the certificate must hold
	 * (cert_check) for user. */
	const struct key *k;
	const char *user;    /* who logs in: the principal where the line names none */
	const char *ca_algs; /* CASignatureAlgorithms; NULL = any */
	const char *address; /* client address text; NULL when there is no socket (then from=
				refuses) */
	const char *host;    /* name by DNS or NULL */
	uint64_t now_s;      /* wall clock, seconds, for expiry-time */
	/* Seconds of a local time (expiry-time without Z); NULL: local time is UTC.  False: no such
	 * time. */
	bool (*local_time)(const struct ak_civil *t, uint64_t *out_s);
	void (*why)(void *arg, uint32_t line,
		const char *text); /* may be NULL: debug words about skipped lines */
	/* May be NULL.  The line has the very key, but a condition of it refuses: from= (the list),
	 * or, with from NULL, expiry-time= (its second). */
	void (*refused)(void *arg, uint32_t line, const char *from, uint64_t expiry_s);
	/* May be NULL.  The authority is right, the certificate is not: a sentence. */
	void (*refused_cert)(void *arg, uint32_t line, const char *reason);
	void *arg;
};

/*
 * ak_line_key - the key of one line, with or without options in front; for those that look for a
 * key without obeying the line
 *
 *   blob          appended; also of a type that this build does not know
 *   options       borrowed from line; empty = none
 *   is_authority  cert-authority: the line is about certificates that the key has made
 *
 * E_KEY_FORMAT: there is no key: an empty line, a comment, something broken.
 */
struct ak_line {
	struct cslice options, comment;
	bool is_authority;
};
MUST err_t ak_line_key(struct cslice line, struct buf *blob, struct ak_line *out);

MUST err_t ak_check(struct cslice file, const struct ak_query *q, struct ak_result *out);
void ak_done(struct ak_result *r);

/*
 * AuthorizedPrincipalsFile: lines `[options] principal`, `#` begins a comment.  The first line that
 * names one of the certificate's principals decides, by its options.
 *
 * AK_DENY in out: no line does, or the conditions of the one that does refuse.
 */
MUST err_t ak_check_principals(struct cslice file, const struct ak_query *q, struct ak_result *out);
/* Is the plain key among the lines of a file of public keys (TrustedUserCAKeys)? */
bool ak_lists_key(struct cslice file, const struct key *k);
/*
 * The rights of a line and those of a certificate (from cert_check): what both allow.  address of
 * the client as in a query.  E_DENIED: source-address refuses, or two commands differ; *reason says
 * so, borrowed for ever; r may be changed, and is of no use then.
 */
struct cert_permit;
MUST err_t ak_merge_cert(
	struct ak_result *r, const struct cert_permit *p, const char *address, const char **reason);

/* Host lists of from=, Match Address/Host and AllowUsers: patterns, CIDR, `!`.  Shared with config.
 */
enum addr_verdict { ADDR_DENY = 0, ADDR_MATCH, ADDR_NEGATED, ADDR_BAD_LIST };
enum addr_verdict addr_match_list(struct cslice list, const char *address, const char *host);
/* Addresses and address/prefix only (source-address of certificates): a name, a wildcard, a `!` or
 * an empty element spoils the list.  address NULL: only the form is looked at. */
enum addr_verdict addr_match_cidr(struct cslice list, const char *address);

#endif
