/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_TESTS_RT_CASES_H
#define SS_TESTS_RT_CASES_H

#include "cluster/rt.h"

/**
 * What every runtime must do, as functions that each rank runs: the same list
 * over threads and over real MPI, at any number of ranks. A failed check is
 * SS_ERR_VERIFY with the line.
 */
struct rt_case {
    const char *name;
    ss_rank_fn run;
};
extern const struct rt_case rt_cases[];
extern const size_t rt_cases_count;

/* Of rt_cases_world.c. */
enum ss_status rt_case_agreement(struct ss_rt *rt, void *arg);
enum ss_status rt_case_words(struct ss_rt *rt, void *arg);
enum ss_status rt_case_clocks(struct ss_rt *rt, void *arg);
enum ss_status rt_case_logical_world(struct ss_rt *rt, void *arg);
enum ss_status rt_case_own_place(struct ss_rt *rt, void *arg);

#define RT_CHECK(cond)                                                         \
    do {                                                                       \
        if (!(cond))                                                           \
            return ss_fail(SS_ERR_VERIFY, "rank %d of %d: %s:%d: %s",          \
                           rt->rank, rt->size, __FILE__, __LINE__, #cond);     \
    } while (0)

#endif
