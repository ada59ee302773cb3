/* SPDX-License-Identifier: ISC */
/*
 * CoreFoundation - as much of Apple's interface as keychain_macos.c calls, over plain memory, so
 * that it is compiled and run where there is no macOS
 *
 * Written from the public documentation of the functions.  Objects count their references, so that
 * a leak or a use after release is seen.
 */
#ifndef STUB_COREFOUNDATION_H
#define STUB_COREFOUNDATION_H

#include <stdint.h>

typedef const void *CFTypeRef;
typedef const struct stub_object *CFStringRef, *CFDataRef, *CFDictionaryRef, *CFArrayRef,
	*CFBooleanRef;
typedef struct stub_object *CFMutableDictionaryRef;
typedef const struct stub_object *CFAllocatorRef;
typedef long CFIndex;
typedef unsigned char Boolean;
typedef unsigned long CFTypeID;
typedef uint32_t CFStringEncoding;
typedef struct {
	int unused;
} CFDictionaryKeyCallBacks, CFDictionaryValueCallBacks;

#define kCFAllocatorDefault   ((CFAllocatorRef)0)
#define kCFStringEncodingUTF8 0x08000100u
extern const CFDictionaryKeyCallBacks kCFTypeDictionaryKeyCallBacks;
extern const CFDictionaryValueCallBacks kCFTypeDictionaryValueCallBacks;
extern const CFBooleanRef kCFBooleanTrue;

void CFRelease(CFTypeRef cf);
CFTypeID CFGetTypeID(CFTypeRef cf);
CFTypeID CFDataGetTypeID(void);
CFTypeID CFArrayGetTypeID(void);
CFTypeID CFStringGetTypeID(void);
CFStringRef CFStringCreateWithCString(CFAllocatorRef a, const char *s, CFStringEncoding e);
Boolean CFStringGetCString(CFStringRef s, char *out, CFIndex room, CFStringEncoding e);
CFDataRef CFDataCreate(CFAllocatorRef a, const uint8_t *bytes, CFIndex n);
const uint8_t *CFDataGetBytePtr(CFDataRef d);
CFIndex CFDataGetLength(CFDataRef d);
CFMutableDictionaryRef CFDictionaryCreateMutable(CFAllocatorRef a, CFIndex capacity,
	const CFDictionaryKeyCallBacks *keys, const CFDictionaryValueCallBacks *values);
void CFDictionarySetValue(CFMutableDictionaryRef d, const void *key, const void *value);
const void *CFDictionaryGetValue(CFDictionaryRef d, const void *key);
CFIndex CFArrayGetCount(CFArrayRef a);
const void *CFArrayGetValueAtIndex(CFArrayRef a, CFIndex i);

#endif
