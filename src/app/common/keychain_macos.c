/* SPDX-License-Identifier: ISC */
/*
 * keychain_macos - passphrases in the keychain of macOS
 *
 * Generic passwords of the service "OpenSSH" whose account is the path of the key file, labelled
 * "SSH: PATH", as Apple's ssh writes them; its access group belongs to Apple's programs, so items
 * are not shared with it.
 */
#include <CoreFoundation/CoreFoundation.h>
#include <Security/Security.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/common/keychain.h"

#define SERVICE   "OpenSSH"
#define PATH_ROOM 4096

static err_t say(OSStatus status, struct buf *why)
{
	char text[256];
	CFStringRef words = SecCopyErrorMessageString(status, NULL);
	bool has_words = words != NULL &&
			 CFStringGetCString(words, text, sizeof(text), kCFStringEncodingUTF8);
	if (words != NULL)
		CFRelease(words);
	if (status == errSecItemNotFound)
		return E_NOT_FOUND;
	buf_printf(why, "the macOS keychain says: %s (%ld)", has_words ? text : "no reason",
		(long)status);
	if (status == errSecUserCanceled)
		return E_CANCELLED;
	return status == errSecNotAvailable || status == errSecInteractionNotAllowed ? E_UNSUPPORTED
										     : E_IO;
}

/* The dictionary holds what is put in; our own reference goes. */
static void put_text(CFMutableDictionaryRef d, CFStringRef key, const char *text)
{
	CFStringRef value =
		CFStringCreateWithCString(kCFAllocatorDefault, text, kCFStringEncodingUTF8);
	if (value == NULL)
		return;
	CFDictionarySetValue(d, key, value);
	CFRelease(value);
}

static void put_bytes(CFMutableDictionaryRef d, struct cslice bytes)
{
	CFDataRef value = CFDataCreate(kCFAllocatorDefault, bytes.p, (CFIndex)bytes.n);
	if (value == NULL)
		return;
	CFDictionarySetValue(d, kSecValueData, value);
	CFRelease(value);
}

static CFMutableDictionaryRef dictionary(void)
{
	return CFDictionaryCreateMutable(kCFAllocatorDefault, 0, &kCFTypeDictionaryKeyCallBacks,
		&kCFTypeDictionaryValueCallBacks);
}

/* account NULL: of every file. */
static CFMutableDictionaryRef query(const char *account)
{
	CFMutableDictionaryRef q = dictionary();
	if (q == NULL)
		return NULL;
	CFDictionarySetValue(q, kSecClass, kSecClassGenericPassword);
	put_text(q, kSecAttrService, SERVICE);
	if (account != NULL)
		put_text(q, kSecAttrAccount, account);
	return q;
}

static err_t macos_get(const char *account, struct buf *passphrase, struct buf *why)
{
	CFMutableDictionaryRef q = query(account);
	CFTypeRef found = NULL;
	if (q == NULL)
		return E_MEM;
	CFDictionarySetValue(q, kSecReturnData, kCFBooleanTrue);
	CFDictionarySetValue(q, kSecMatchLimit, kSecMatchLimitOne);
	OSStatus status = SecItemCopyMatching(q, &found);
	CFRelease(q);
	if (status != errSecSuccess)
		return say(status, why);
	err_t e = E_IO;
	if (found != NULL && CFGetTypeID(found) == CFDataGetTypeID()) {
		CFIndex n = CFDataGetLength(found);
		if (n > 0)
			buf_put(passphrase, CFDataGetBytePtr(found), (size_t)n);
		e = buf_err(passphrase);
	}
	if (found != NULL)
		CFRelease(found);
	return e;
}

static err_t macos_put(const char *account, struct cslice passphrase, struct buf *why)
{
	CFMutableDictionaryRef q = query(account), item = query(account), change = dictionary();
	char label[PATH_ROOM + 8];
	OSStatus status = errSecSuccess;
	err_t e = q != NULL && item != NULL && change != NULL ? OK : E_MEM;
	if (e == OK) {
		(void)snprintf(label, sizeof(label), "SSH: %s", account);
		put_text(item, kSecAttrLabel, label);
		put_bytes(item, passphrase);
		put_bytes(change, passphrase);
		status = SecItemAdd(item, NULL);
		if (status == errSecDuplicateItem)
			status = SecItemUpdate(q, change);
		e = status == errSecSuccess ? OK : say(status, why);
	}
	if (q != NULL)
		CFRelease(q);
	if (item != NULL)
		CFRelease(item);
	if (change != NULL)
		CFRelease(change);
	return e;
}

static err_t macos_forget(const char *account, struct buf *why)
{
	CFMutableDictionaryRef q = query(account);
	if (q == NULL)
		return E_MEM;
	OSStatus status = SecItemDelete(q);
	CFRelease(q);
	return status == errSecSuccess ? OK : say(status, why);
}

static void tell(CFDictionaryRef item, keychain_path_fn *fn, void *arg)
{
	char path[PATH_ROOM];
	CFStringRef account = item != NULL ? CFDictionaryGetValue(item, kSecAttrAccount) : NULL;
	if (account != NULL && CFGetTypeID(account) == CFStringGetTypeID() &&
		CFStringGetCString(account, path, sizeof(path), kCFStringEncodingUTF8))
		fn(arg, path);
}

static err_t macos_each(keychain_path_fn *fn, void *arg, struct buf *why)
{
	CFMutableDictionaryRef q = query(NULL);
	CFTypeRef found = NULL;
	if (q == NULL)
		return E_MEM;
	CFDictionarySetValue(q, kSecReturnAttributes, kCFBooleanTrue);
	CFDictionarySetValue(q, kSecMatchLimit, kSecMatchLimitAll);
	OSStatus status = SecItemCopyMatching(q, &found);
	CFRelease(q);
	if (status == errSecItemNotFound)
		return OK;
	if (status != errSecSuccess)
		return say(status, why);
	bool is_list = found != NULL && CFGetTypeID(found) == CFArrayGetTypeID();
	for (CFIndex i = 0; is_list && i < CFArrayGetCount(found); i++)
		tell(CFArrayGetValueAtIndex(found, i), fn, arg);
	if (found != NULL)
		CFRelease(found);
	return is_list ? OK : E_IO;
}

const struct keychain_place keychain_macos = {
	"macos", "macOS keychain", false, macos_get, macos_put, macos_forget, macos_each};
