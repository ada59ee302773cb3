/* SPDX-License-Identifier: ISC */
/* match - the words of a Match line, the same for ssh_config and sshd_config (compat 3.3, 4.3) */
#include <string.h>

#include "config/int.h"

/* `criterion`, `criterion=value`; NULL when no row has the name. */
static const struct cfg_criterion *find(
	const struct cfg_matcher *m, const char *word, const char **value)
{
	struct cslice name = cslice_str(word);
	const char *eq = strchr(word, '=');
	if (eq != NULL)
		name.n = (size_t)(eq - word);
	*value = eq != NULL ? eq + 1 : NULL;
	for (size_t i = 0; i < m->n; i++)
		if (ascii_eq_nocase(name, m->rows[i].name))
			return &m->rows[i];
	return NULL;
}

/* `all` stands alone, in a client's file also right after canonical or final. */
static bool all_is_alone(const struct cfg_walk *w, const struct cfg_words *words, size_t at)
{
	return words->n == 1 || (!w->table->is_server && words->n == 2 && at == 1);
}

err_t cfg_match(struct cfg_walk *w, const struct cfg_line *line, const struct cfg_words *words,
	const struct cfg_matcher *matcher, bool *match)
{
	*match = true;
	for (size_t i = 0; i < words->n; i++) {
		const char *word = words->v[i], *argument;
		bool negated = word[0] == '!', yes = false;
		const struct cfg_criterion *c = find(matcher, word + negated, &argument);
		if (c == NULL) {
			cfg_complain(w, line, "Unsupported Match attribute %s", word);
			return E_CONFIG;
		}
		if (c->id == CFG_MATCH_ALL && !all_is_alone(w, words, i)) {
			cfg_complain(
				w, line, "'all' cannot be combined with other Match attributes");
			return E_CONFIG;
		}
		if (c->has_argument && argument == NULL) {
			if (++i >= words->n) {
				cfg_complain(w, line, "Missing Match criteria for %s", word);
				return E_CONFIG;
			}
			argument = words->v[i];
		}
		if (c->id == CFG_MATCH_EXEC &&
			!*match) /* it costs: not run once the answer is no */
			continue;
		TRY(matcher->judge(w, line, c, argument, &yes));
		*match = *match && yes != negated;
	}
	return OK;
}
