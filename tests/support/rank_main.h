/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_TESTS_RANK_MAIN_H
#define SS_TESTS_RANK_MAIN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cluster/rt.h"

/**
 * Runs a cmocka group on every rank of an mpirun as one test: output of
 * passing ranks is dropped, that of failing ranks is printed, each line with
 * its rank. Returns the exit code, equal on all ranks. Collective.
 */
int rank_main(int argc, char **argv, const char *name,
              const struct CMUnitTest *tests, size_t n);

/** The world, inside a test. */
struct ss_rt *rank_world(void);

#endif
