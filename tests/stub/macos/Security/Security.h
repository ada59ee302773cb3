/* SPDX-License-Identifier: ISC */
/* Security - as much of Apple's keychain interface as keychain_macos.c calls */
#ifndef STUB_SECURITY_H
#define STUB_SECURITY_H

#include <CoreFoundation/CoreFoundation.h>

typedef int32_t OSStatus;
enum {
	errSecSuccess = 0,
	errSecUserCanceled = -128,
	errSecNotAvailable = -25291,
	errSecAuthFailed = -25293,
	errSecDuplicateItem = -25299,
	errSecItemNotFound = -25300,
	errSecInteractionNotAllowed = -25308,
};
extern const CFStringRef kSecClass, kSecClassGenericPassword, kSecAttrService, kSecAttrAccount,
	kSecAttrLabel, kSecValueData, kSecReturnData, kSecReturnAttributes, kSecMatchLimit,
	kSecMatchLimitOne, kSecMatchLimitAll;

OSStatus SecItemAdd(CFDictionaryRef attributes, CFTypeRef *result);
OSStatus SecItemUpdate(CFDictionaryRef query, CFDictionaryRef changes);
OSStatus SecItemCopyMatching(CFDictionaryRef query, CFTypeRef *result);
OSStatus SecItemDelete(CFDictionaryRef query);
CFStringRef SecCopyErrorMessageString(OSStatus status, void *reserved);

#endif
