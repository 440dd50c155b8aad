/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_PROBE_CASES_H
#define TESTS_SUPPORT_PROBE_CASES_H

#include "cluster/rt.h"

/** A whole probe over this runtime into the file `out` (its .part folder is
 * left); `settings`: "key=value", NULL-ended. Collective. */
enum ss_status probe_case_all(struct ss_rt *rt, const char *out,
                              const char *const *settings);
/**
 * Rank 0, afterwards: `n` ends of `level` met, each with each other, both ways;
 * every row makes sense; the parts are read, analysed and judged. "": good,
 * else what is wrong.
 */
const char *probe_case_check(const char *out, const char *level, int n,
                             const char *const *libraries);

#endif
