/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_TIMING_PHASE_H
#define SS_TIMING_PHASE_H

enum ss_phase {
#define PHASE(name, words) SS_PHASE_##name,
#include "timing/phase.def"
#undef PHASE
    SS_PHASES
};

/** Dimensions of a layout; also the index of transfer_by. */
enum ss_dim { SS_DIM_DP, SS_DIM_TP, SS_DIM_PP, SS_DIM_EP, SS_DIM_CP, SS_DIMS };

/** The three variants of a plan (DESIGN section 2, Controls). */
enum ss_variant {
    SS_WHOLE,        /**< everything */
    SS_COMPUTE_ONLY, /**< collectives skipped */
    SS_COMM_ONLY,    /**< compute skipped */
    SS_VARIANTS
};

const char *ss_phase_name(enum ss_phase phase); /**< "dp_comm" */
const char *ss_dim_name(enum ss_dim dim);       /**< "dp" */
const char *ss_variant_name(enum ss_variant v); /**< "whole" */
enum ss_phase ss_dim_phase(enum ss_dim dim);    /**< dp -> dp_comm */

#endif
