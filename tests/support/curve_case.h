/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_TESTS_CURVE_CASE_H
#define SS_TESTS_CURVE_CASE_H

#include "support/run_case.h"

/*
 * A synthetic run of known costs: four ranks on two nodes, sizes 1, 2 and 4,
 * weak and strong. Weak T by group: 100 102 104 110; 110 120; 130 ms; compute
 * alone of the ranks: 98 100 102 108 ms. Strong: 100, 60, 40 ms. Block medians
 * wobble by up to 6e-4 around these; their interval is 4e-4 to either side.
 */
#define CURVE_BLOCKS 13
#define CURVE_STEPS 3

ss_case_ms curve_weak_ms;
/** Appends one point ("weak" points have sampled blocks and terms). */
void curve_add(struct ss_run_data *run, const char *mode, int size);
/** The whole run, points in no good order; planned_points is right. */
void curve_open(struct ss_run_data *run);

#endif
