/* SPDX-License-Identifier: ISC */
/*
 * vec - the frame of a vector program: where the files are, what was counted, how it ends
 *
 * Two kinds of program use it.  Those with vectors in the tree always run.  Those that read the
 *shared folder end with 77 (skipped) and one line that says why when the folder is absent.  Both
 *end with `N passed, N failed`; a program that checked nothing has failed.
 *
 *	int main(void)
 *	{
 *		vec_need_shared();
 *		...  vec_check(ok, "mlkem_768_test.json", tc_id);  ...
 *		return vec_done();
 *	}
 */
#ifndef TESTS_VECTORS_VEC_H
#define TESTS_VECTORS_VEC_H

#include "json.h"

/* Path of a file in the shared vectors folder ($BOWLINE_VECTORS, else ../shared/vectors); gives
 * memory. */
char *vec_path(const char *name);
/* Ends the program as skipped when the shared folder is not there. */
void vec_need_shared(void);
/* A JSON file of the shared folder.  A missing or damaged one counts as a failure and gives NULL.
 */
struct json_doc *vec_load(const char *name);
/* A whole file of the shared folder; gives memory with a NUL behind.  The same on failure. */
char *vec_file(const char *name, size_t *n);

/* Counts one check; prints the failing ones. */
void vec_check(bool ok, const char *name, int64_t number);
/* Hex text to bytes, for vectors that stand in the program; ends the program when it is not hex of
 * n bytes. */
void vec_hex(uint8_t *out, size_t n, const char *hex);
/* bytes equal the hex text */
bool vec_eq_hex(const uint8_t *p, size_t n, const char *hex);
/* For `return`: prints the counts; 1 when something failed or nothing ran. */
int vec_done(void);

#endif
