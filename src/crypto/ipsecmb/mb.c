/* SPDX-License-Identifier: ISC */
/*
 * mb - start of libipsec-mb
 *
 * One manager a process, made at the first use.  The functions used here take it only as a table of
 * functions, so that threads can share it, with one exception (poly1305.c) that guards itself.
 */
#include <stdatomic.h>

#include <intel-ipsec-mb.h>

#include "crypto/ipsecmb/mb.h"

static _Atomic(IMB_MGR *) manager;
static atomic_bool has_failed; /* not tried again */

/* A manager that works on this CPU, or NULL. */
static IMB_MGR *start(void)
{
	/* The structs of the header are compiled in: another version may lay them out differently.
	 */
	if (imb_get_version() != IMB_VERSION_NUM)
		return NULL;
	uint64_t need = IMB_FEATURE_AESNI | IMB_FEATURE_PCLMULQDQ | IMB_FEATURE_SSE4_2;
	if ((imb_get_feature_flags() & need) != need)
		return NULL;
	IMB_MGR *m = alloc_mb_mgr(0);
	if (m == NULL)
		return NULL;
	IMB_ARCH arch;
	init_mb_mgr_auto(m, &arch);
	bool passed = imb_get_errno(m) == 0 && (!(m->features & IMB_FEATURE_SELF_TEST) ||
						       (m->features & IMB_FEATURE_SELF_TEST_PASS));
	if (passed)
		return m;
	free_mb_mgr(m);
	return NULL;
}

IMB_MGR *mb_manager(void)
{
	IMB_MGR *known = atomic_load(&manager);
	if (known != NULL || atomic_load(&has_failed))
		return known;
	IMB_MGR *mine = start();
	if (mine == NULL) {
		atomic_store(&has_failed, true);
		return NULL;
	}
	if (atomic_compare_exchange_strong(&manager, &known, mine))
		return mine;
	free_mb_mgr(mine); /* another thread was first */
	return known;
}

static bool has(uint64_t features)
{
	const IMB_MGR *m = mb_manager();
	return m != NULL && (m->features & features) == features;
}

bool mb_has_started(void)
{
	return atomic_load(&manager) != NULL;
}

bool mb_runs(void)
{
	return mb_manager() != NULL;
}

bool mb_has_vaes(void)
{
	return has(IMB_FEATURE_VAES | IMB_FEATURE_VPCLMULQDQ | IMB_FEATURE_AVX512_SKX);
}

bool mb_has_ifma(void)
{
	return has(IMB_FEATURE_AVX512_IFMA | IMB_FEATURE_AVX512_SKX);
}
