/* SPDX-License-Identifier: ISC */
/* keychain - the functions of the stand-in headers: objects with a count of references, items in
 * memory */
#include <Security/Security.h>
#include <stdlib.h>
#include <string.h>

#include "stub.h"

enum type { TEXT = 1, DATA, DICTIONARY, ARRAY, FLAG };
#define PAIRS_MAX 16

struct stub_object {
	enum type type;
	int references; /* 0 = a constant */
	char *bytes;
	size_t n;
	const struct stub_object *keys[PAIRS_MAX],
		*values[PAIRS_MAX]; /* an array has values only */
};

static int living;
int stub_living(void)
{
	return living;
}

static struct stub_object *make(enum type t, const void *bytes, size_t n)
{
	struct stub_object *o = calloc(1, sizeof(*o));
	if (o == NULL || (o->bytes = malloc(n + 1)) == NULL)
		abort();
	o->type = t;
	o->references = 1;
	if (n > 0)
		memcpy(o->bytes, bytes, n);
	o->bytes[n] = '\0';
	o->n = n;
	living++;
	return o;
}

static const struct stub_object *keep(const struct stub_object *o)
{
	if (o->references > 0)
		((struct stub_object *)o)->references++;
	return o;
}

void CFRelease(CFTypeRef cf)
{
	struct stub_object *o = (struct stub_object *)cf;
	if (o->references < 1)
		abort();
	if (--o->references > 0)
		return;
	for (size_t i = 0; i < PAIRS_MAX; i++) {
		if (o->keys[i] != NULL && o->keys[i]->references > 0)
			CFRelease(o->keys[i]);
		if (o->values[i] != NULL && o->values[i]->references > 0)
			CFRelease(o->values[i]);
	}
	living--;
	free(o->bytes);
	free(o);
}

CFTypeID CFGetTypeID(CFTypeRef cf)
{
	return ((const struct stub_object *)cf)->type;
}
CFTypeID CFDataGetTypeID(void)
{
	return DATA;
}
CFTypeID CFArrayGetTypeID(void)
{
	return ARRAY;
}
CFTypeID CFStringGetTypeID(void)
{
	return TEXT;
}

CFStringRef CFStringCreateWithCString(CFAllocatorRef a, const char *s, CFStringEncoding e)
{
	(void)a;
	return e == kCFStringEncodingUTF8 ? make(TEXT, s, strlen(s)) : NULL;
}

Boolean CFStringGetCString(CFStringRef s, char *out, CFIndex room, CFStringEncoding e)
{
	if (e != kCFStringEncodingUTF8 || s->n >= (size_t)room)
		return 0;
	memcpy(out, s->bytes, s->n + 1);
	return 1;
}

CFDataRef CFDataCreate(CFAllocatorRef a, const uint8_t *bytes, CFIndex n)
{
	(void)a;
	return make(DATA, bytes, (size_t)n);
}

const uint8_t *CFDataGetBytePtr(CFDataRef d)
{
	return (const uint8_t *)d->bytes;
}

CFIndex CFDataGetLength(CFDataRef d)
{
	return (CFIndex)d->n;
}

const CFDictionaryKeyCallBacks kCFTypeDictionaryKeyCallBacks = {0};
const CFDictionaryValueCallBacks kCFTypeDictionaryValueCallBacks = {0};
static const struct stub_object yes = {.type = FLAG};
const CFBooleanRef kCFBooleanTrue = &yes;

CFMutableDictionaryRef CFDictionaryCreateMutable(CFAllocatorRef a, CFIndex capacity,
	const CFDictionaryKeyCallBacks *keys, const CFDictionaryValueCallBacks *values)
{
	(void)a;
	(void)capacity;
	if (keys == NULL || values == NULL)
		abort(); /* without them nothing would be kept */
	return make(DICTIONARY, "", 0);
}

static size_t place_of(const struct stub_object *d, const void *key)
{
	size_t i = 0;
	while (i < PAIRS_MAX && d->keys[i] != NULL && d->keys[i] != key)
		i++;
	if (i == PAIRS_MAX)
		abort();
	return i;
}

void CFDictionarySetValue(CFMutableDictionaryRef d, const void *key, const void *value)
{
	size_t i = place_of(d, key);
	if (d->keys[i] != NULL)
		abort(); /* our code sets each once */
	d->keys[i] = keep(key);
	d->values[i] = keep(value);
}

const void *CFDictionaryGetValue(CFDictionaryRef d, const void *key)
{
	return d->values[place_of(d, key)];
}

CFIndex CFArrayGetCount(CFArrayRef a)
{
	CFIndex n = 0;
	while (n < PAIRS_MAX && a->values[n] != NULL)
		n++;
	return n;
}

const void *CFArrayGetValueAtIndex(CFArrayRef a, CFIndex i)
{
	return a->values[i];
}

/* ---- the keychain -------------------------------------------------------------------------------
 */
#define CONSTANT(name)                                                                             \
	static const struct stub_object value_##name = {.type = TEXT};                             \
	const CFStringRef name = &value_##name;
CONSTANT(kSecClass)
CONSTANT(kSecClassGenericPassword)
CONSTANT(kSecAttrService)
CONSTANT(kSecAttrAccount)
CONSTANT(kSecAttrLabel)
CONSTANT(kSecValueData)
CONSTANT(kSecReturnData)
CONSTANT(kSecReturnAttributes)
CONSTANT(kSecMatchLimit)
CONSTANT(kSecMatchLimitOne)
CONSTANT(kSecMatchLimitAll)

static struct stub_object *items[PAIRS_MAX];
static OSStatus next_failure;
void stub_fail_next(OSStatus status)
{
	next_failure = status;
}

static OSStatus failure(void)
{
	OSStatus status = next_failure;
	next_failure = errSecSuccess;
	return status;
}

static bool same(CFDictionaryRef item, CFDictionaryRef query, CFStringRef key)
{
	CFStringRef a = CFDictionaryGetValue(item, key), b = CFDictionaryGetValue(query, key);
	return b == NULL || (a != NULL && a->n == b->n && memcmp(a->bytes, b->bytes, a->n) == 0);
}

static size_t find(CFDictionaryRef query, size_t from)
{
	if (CFDictionaryGetValue(query, kSecClass) != kSecClassGenericPassword)
		abort();
	while (from < PAIRS_MAX &&
		(items[from] == NULL || !same(items[from], query, kSecAttrService) ||
			!same(items[from], query, kSecAttrAccount)))
		from++;
	return from;
}

OSStatus SecItemAdd(CFDictionaryRef attributes, CFTypeRef *result)
{
	(void)result;
	OSStatus status = failure();
	if (status != errSecSuccess)
		return status;
	if (find(attributes, 0) < PAIRS_MAX)
		return errSecDuplicateItem;
	size_t i = 0;
	while (items[i] != NULL)
		i++;
	items[i] = (struct stub_object *)keep(attributes);
	return errSecSuccess;
}

OSStatus SecItemUpdate(CFDictionaryRef query, CFDictionaryRef changes)
{
	size_t i = find(query, 0);
	if (i == PAIRS_MAX)
		return errSecItemNotFound;
	size_t at = place_of(items[i], kSecValueData);
	CFRelease(items[i]->values[at]);
	items[i]->values[at] = keep(CFDictionaryGetValue(changes, kSecValueData));
	return errSecSuccess;
}

OSStatus SecItemCopyMatching(CFDictionaryRef query, CFTypeRef *result)
{
	OSStatus status = failure();
	if (status != errSecSuccess)
		return status;
	size_t i = find(query, 0);
	if (i == PAIRS_MAX)
		return errSecItemNotFound;
	if (CFDictionaryGetValue(query, kSecMatchLimit) == kSecMatchLimitOne) {
		*result = keep(CFDictionaryGetValue(items[i], kSecValueData));
		return errSecSuccess;
	}
	struct stub_object *all = make(ARRAY, "", 0);
	for (size_t n = 0; i < PAIRS_MAX; i = find(query, i + 1))
		all->values[n++] = keep(items[i]);
	*result = all;
	return errSecSuccess;
}

OSStatus SecItemDelete(CFDictionaryRef query)
{
	size_t i = find(query, 0);
	if (i == PAIRS_MAX)
		return errSecItemNotFound;
	CFRelease(items[i]);
	items[i] = NULL;
	return errSecSuccess;
}

CFStringRef SecCopyErrorMessageString(OSStatus status, void *reserved)
{
	(void)reserved;
	return status == errSecAuthFailed ? make(TEXT, "not right", 9) : NULL;
}
