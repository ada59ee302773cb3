/* SPDX-License-Identifier: ISC */
/*
 * mon_methods - what is still needed of AuthenticationMethods, and what the proofs so far allow
 *
 * Each list is what is left of one line of methods.  A proof takes the first method off every list
 * that begins with it; the user is in when a list has become empty.  A key counts once, with or
 * without a certificate.  Each key's options hold for the whole login: a permission needs the yes
 * of all of them.
 */
#include <stdlib.h>
#include <string.h>

#include "app/sshd/monitor.h"

#define USED_MAX  ((size_t)1 << 20)
#define KBDINT    "keyboard-interactive"
#define KBDINT_AS "pam" /* the device that it stands for in lists and in the log */

static bool is_on(const struct server_config *c, struct cslice name)
{
	if (cslice_eq_str(name, "publickey"))
		return c->pubkey_auth;
	if (cslice_eq_str(name, "password"))
		return c->password_auth;
	/* The only device asks for the password, so it follows PasswordAuthentication. */
	if (cslice_eq_str(name, KBDINT))
		return c->kbdint_auth && c->password_auth;
	return cslice_eq_str(name, "none");
}

/* The first word of a list: "method" or "method:device". */
static struct cslice first_of(const char *list, struct cslice *device)
{
	size_t n = strcspn(list, ","), name_n = strcspn(list, ":,");
	*device = name_n < n ? cslice_of(list + name_n + 1, n - name_n - 1) : cslice_of(NULL, 0);
	return cslice_of(list, name_n);
}

static bool is_list_on(const struct server_config *c, const char *list)
{
	for (;;) {
		struct cslice device;
		if (!is_on(c, first_of(list, &device)))
			return false;
		const char *comma = strchr(list, ',');
		if (comma == NULL)
			return true;
		list = comma + 1;
	}
}

bool mon_methods_possible(const struct server_config *c)
{
	const struct cfg_list *lists = &c->authentication_methods;
	if (lists->n == 0 || strcmp(lists->v[0], "any") == 0)
		return true;
	for (size_t i = 0; i < lists->n; i++)
		if (is_list_on(c, lists->v[i]))
			return true;
	return false;
}

static bool begins_with(const char *list, const char *method)
{
	struct cslice device;
	if (!cslice_eq_str(first_of(list, &device), method))
		return false;
	return device.n == 0 || (strcmp(method, KBDINT) == 0 && cslice_eq_str(device, KBDINT_AS));
}

void mon_methods_done(struct mon_methods *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->left[i]);
	free(w->left);
	buf_done(&w->used);
	*w = (struct mon_methods){.n = 0};
}

err_t mon_methods_start(struct monitor *m)
{
	struct mon_methods *w = &m->methods;
	const struct cfg_list *lists = &m->conf.authentication_methods;
	buf_init(&w->used, USED_MAX);
	if (lists->n == 0 || strcmp(lists->v[0], "any") == 0)
		return OK;
	w->is_used = true;
	w->left = calloc(lists->n, sizeof(*w->left));
	if (w->left == NULL)
		return E_MEM;
	for (size_t i = 0; i < lists->n; i++) {
		if (!is_list_on(&m->conf, lists->v[i]))
			continue;
		if ((w->left[w->n] = strdup(lists->v[i])) == NULL)
			return E_MEM;
		w->n++;
	}
	if (w->n > 0)
		return OK;
	log_put(LOG_L_ERROR,
		"No AuthenticationMethods left after eliminating disabled methods: nobody can come "
		"in; check what %.100s may use",
		m->name);
	return E_DENIED;
}

bool mon_methods_wants(const struct monitor *m, const char *method)
{
	if (!is_on(&m->conf, cslice_str(method)))
		return false;
	for (size_t i = 0; i < m->methods.n; i++)
		if (begins_with(m->methods.left[i], method))
			return true;
	return !m->methods.is_used;
}

void mon_methods_put(const struct monitor *m, struct buf *out)
{
	static const char *const offered[] = {"publickey", "password", KBDINT};
	for (size_t i = 0; i < ARRAY_N(offered); i++)
		if (mon_methods_wants(m, offered[i]))
			buf_printf(out, "%s%s", out->n > 0 ? "," : "", offered[i]);
}

err_t mon_methods_passed(struct monitor *m, const char *method, struct cslice *left)
{
	struct mon_methods *w = &m->methods;
	bool is_hit = false, is_in = !w->is_used;
	for (size_t i = 0; i < w->n; i++) {
		char *list = w->left[i];
		if (!begins_with(list, method))
			continue;
		size_t n = strcspn(list, ",");
		is_hit = true;
		is_in = is_in || list[n] == '\0';
		memmove(list, list + n + (list[n] == ','), strlen(list + n) + (list[n] != ','));
	}
	if (is_in)
		return OK;
	if (!is_hit)
		return E_DENIED;
	buf_clear(&m->reply);
	mon_methods_put(m, &m->reply);
	TRY(buf_err(&m->reply));
	*left = buf_bytes(&m->reply);
	return left->n > 0 ? E_PARTIAL : E_DENIED;
}

/* ---- keys that have served ---- */
bool mon_methods_is_used(const struct monitor *m, const struct key *k)
{
	struct rd r = rd_of(buf_bytes(&m->methods.used));
	struct buf blob;
	bool is_used = false;
	buf_init(&blob, 64 << 10);
	err_t e = key_blob(k, &blob);
	while (e == OK && r.n > 0 && !r.bad && !is_used)
		is_used = cslice_eq(rd_str(&r), buf_bytes(&blob));
	buf_done(&blob);
	return e != OK || r.bad || is_used;
}

err_t mon_methods_use(struct monitor *m, const struct key *k)
{
	struct buf blob;
	buf_init(&blob, 64 << 10);
	err_t e = key_blob(k, &blob);
	if (e == OK)
		e = buf_err(&blob);
	if (e == OK) {
		buf_put_string(&m->methods.used, buf_bytes(&blob));
		e = buf_err(&m->methods.used);
	}
	buf_done(&blob);
	return e;
}

/* ---- what they allow together ---- */
struct ak_permit mon_permit(const struct monitor *m)
{
	if (m->granted.verdict == AK_ALLOW)
		return m->granted.permit;
	return (struct ak_permit){true, true, true, true, true};
}

static err_t add_strings(char ***to, size_t *to_n, char **from, size_t from_n)
{
	if (from_n == 0)
		return OK;
	char **v = reallocarray(*to, *to_n + from_n, sizeof(*v));
	if (v == NULL)
		return E_MEM;
	*to = v;
	for (size_t i = 0; i < from_n; i++) {
		if ((v[*to_n] = strdup(from[i])) == NULL)
			return E_MEM;
		(*to_n)++;
	}
	return OK;
}

err_t mon_grant(struct monitor *m, const struct ak_result *r)
{
	struct ak_result *g = &m->granted;
	struct ak_permit before = mon_permit(m);
	if (r->verdict != AK_ALLOW)
		return E_DENIED;
	if (g->command != NULL && r->command != NULL && strcmp(g->command, r->command) != 0) {
		log_put(LOG_L_INFO,
			"Refused by key options: the keys of %.100s have different forced commands",
			m->name);
		return E_DENIED;
	}
	if (g->command == NULL && r->command != NULL && (g->command = strdup(r->command)) == NULL)
		return E_MEM;
	TRY(add_strings(&g->environment, &g->environment_n, r->environment, r->environment_n));
	/* The lists of the first key that has one hold: two of them together would allow more. */
	if (g->permitopen_n == 0)
		TRY(add_strings(&g->permitopen, &g->permitopen_n, r->permitopen, r->permitopen_n));
	if (g->permitlisten_n == 0)
		TRY(add_strings(
			&g->permitlisten, &g->permitlisten_n, r->permitlisten, r->permitlisten_n));
	g->permit = (struct ak_permit){before.pty && r->permit.pty,
		before.port_forwarding && r->permit.port_forwarding,
		before.agent_forwarding && r->permit.agent_forwarding,
		before.x11_forwarding && r->permit.x11_forwarding,
		before.user_rc && r->permit.user_rc};
	g->verdict = AK_ALLOW;
	return OK;
}
