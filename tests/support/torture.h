/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_TESTS_TORTURE_H
#define SS_TESTS_TORTURE_H

/*
 * Runs a function again and again, each time with the next allocation of this
 * thread failing, until it gets through. Each failed run must say so and must
 * leave nothing behind; the last run must succeed and leave nothing either.
 * Include after cmocka.h.
 */
#include <stdbool.h>

#include "base/mem.h"
#include "base/status.h"

/** Does its whole job, frees all of it, and returns the status. */
typedef enum ss_status ss_torture_fn(void *arg);

#define SS_TORTURE_MAX 100000L

/** Returns the number of allocations of an undisturbed run (each failed once).
 */
static inline long ss_torture(ss_torture_fn *run, void *arg)
{
    for (long n = 1; n < SS_TORTURE_MAX; n++) {
        long live = ss_mem_live();
        long calls = ss_mem_calls();
        enum ss_status status;
        bool hit;
        ss_error_set(NULL);
        ss_mem_fail_at(n);
        status = run(arg);
        ss_mem_fail_at(0);
        hit = ss_mem_calls() - calls >= n;
        if (ss_mem_live() != live)
            fail_msg("allocation %ld failed: %ld blocks are left behind", n,
                     ss_mem_live() - live);
        if (!hit && status != SS_OK)
            fail_msg("no allocation failed, but the run did: %s",
                     ss_error_text());
        if (!hit)
            return n - 1;
        if (status == SS_OK)
            fail_msg("allocation %ld failed and nobody noticed", n);
        if (ss_error_text()[0] == '\0')
            fail_msg("allocation %ld failed without an error text", n);
    }
    fail_msg("still failing after %ld allocations", SS_TORTURE_MAX);
    return -1;
}

#endif
