/* SPDX-License-Identifier: ISC */
/* list - an intrusive doubly linked list; the head is a node of its own */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include "base/defs.h"

struct list {
	struct list *next, *prev;
};

#define LIST_ENTRY(node, type, member) ((type *)(void *)((char *)(node)-offsetof(type, member)))

static inline void list_init(struct list *l)
{
	l->next = l->prev = l;
}

static inline bool list_is_empty(const struct list *l)
{
	return l->next == l;
}

static inline void list_push(struct list *head, struct list *node) /* at the end */
{
	node->prev = head->prev;
	node->next = head;
	head->prev->next = node;
	head->prev = node;
}

static inline void list_remove(struct list *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	list_init(node);
}

/* Safe against removal of `at` in the body when tmp is used. */
#define list_each(at, tmp, head)                                                                   \
	for (struct list *at = (head)->next, *tmp = at->next; at != (head);                        \
		at = tmp, tmp = at->next)

#endif
