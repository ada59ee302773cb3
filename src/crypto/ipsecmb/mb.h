/* SPDX-License-Identifier: ISC */
/*
 * mb - libipsec-mb behind the faces of pick.h
 *
 * Without it in the build every question says no; nothing else of Bowline knows whether it is
 * there.
 */
#ifndef CRYPTO_IPSECMB_MB_H
#define CRYPTO_IPSECMB_MB_H

#include "build_config.h"
#include "crypto/pick.h"

#if HAVE_IPSECMB

bool mb_has_started(void); /* asks without starting it */
bool mb_runs(void);        /* the library could be started on this CPU */
bool mb_has_vaes(void);    /* wide AES and carry-less multiplication */
bool mb_has_avx512(void);
bool mb_has_ifma(void);

/* NULL when it does not run. */
const struct pick_gcm *mb_gcm(void);
const struct pick_ctr *mb_ctr(void);
const struct pick_cbc *mb_cbc(void);
const struct pick_poly1305 *mb_poly1305(void);
const struct pick_hmacs *mb_hmacs(void);

/* For the files of this folder: the one manager, started at the first call; NULL when that failed.
 */
struct IMB_MGR;
struct IMB_MGR *mb_manager(void);
/* The same with the narrow code that uses the CPU's SHA instructions; NULL where it has none. */
struct IMB_MGR *mb_manager_sha(void);

#else

static inline bool mb_has_started(void)
{
	return false;
}

static inline bool mb_runs(void)
{
	return false;
}

static inline bool mb_has_vaes(void)
{
	return false;
}

static inline bool mb_has_ifma(void)
{
	return false;
}

static inline const struct pick_gcm *mb_gcm(void)
{
	return NULL;
}

static inline const struct pick_ctr *mb_ctr(void)
{
	return NULL;
}

static inline const struct pick_cbc *mb_cbc(void)
{
	return NULL;
}

static inline const struct pick_poly1305 *mb_poly1305(void)
{
	return NULL;
}

static inline const struct pick_hmacs *mb_hmacs(void)
{
	return NULL;
}

#endif

#endif
