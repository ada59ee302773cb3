/* SPDX-License-Identifier: ISC */
/*
 * mb - start of libipsec-mb
 *
 * One manager a process, made at the first use, and one more for the SHA instructions (hmac.c).
 * Most functions used here take it only as a table of functions, so that threads can share it;
 * those that keep jobs in it (poly1305.c, hmac.c) guard themselves.
 */
#include <stdatomic.h>

#include <intel-ipsec-mb.h>

#include "crypto/ipsecmb/mb.h"

/* A manager is started once; what failed is not tried again. */
struct started {
	_Atomic(IMB_MGR *) manager;
	atomic_bool has_failed;
};

static struct started widest, sha;

static void init_widest(IMB_MGR *m)
{
	IMB_ARCH arch;
	init_mb_mgr_auto(m, &arch);
}

/* A manager that works on this CPU, or NULL. */
static IMB_MGR *start(void (*init)(IMB_MGR *m))
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
	init(m);
	bool passed = imb_get_errno(m) == 0 && (!(m->features & IMB_FEATURE_SELF_TEST) ||
						       (m->features & IMB_FEATURE_SELF_TEST_PASS));
	if (passed)
		return m;
	free_mb_mgr(m);
	return NULL;
}

static IMB_MGR *started(struct started *s, void (*init)(IMB_MGR *m))
{
	IMB_MGR *known = atomic_load(&s->manager);
	if (known != NULL || atomic_load(&s->has_failed))
		return known;
	IMB_MGR *mine = start(init);
	if (mine == NULL) {
		atomic_store(&s->has_failed, true);
		return NULL;
	}
	if (atomic_compare_exchange_strong(&s->manager, &known, mine))
		return mine;
	free_mb_mgr(mine); /* another thread was first */
	return known;
}

IMB_MGR *mb_manager(void)
{
	return started(&widest, init_widest);
}

IMB_MGR *mb_manager_sha(void)
{
	const IMB_MGR *m = mb_manager();
	if (m == NULL || (m->features & IMB_FEATURE_SHANI) == 0)
		return NULL;
	return started(&sha, init_mb_mgr_sse);
}

static bool has(uint64_t features)
{
	const IMB_MGR *m = mb_manager();
	return m != NULL && (m->features & features) == features;
}

bool mb_has_started(void)
{
	return atomic_load(&widest.manager) != NULL;
}

bool mb_runs(void)
{
	return mb_manager() != NULL;
}

bool mb_has_vaes(void)
{
	return has(IMB_FEATURE_VAES | IMB_FEATURE_VPCLMULQDQ | IMB_FEATURE_AVX512_SKX);
}

bool mb_has_avx512(void)
{
	return has(IMB_FEATURE_AVX512_SKX);
}

bool mb_has_ifma(void)
{
	return has(IMB_FEATURE_AVX512_IFMA | IMB_FEATURE_AVX512_SKX);
}
