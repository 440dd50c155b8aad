/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of phases, dimensions and variants: the words that files, JSON and
 * screens share. It lives with the timings because plans (which are pure) and
 * recorded samples must agree on them. It must not know any value.
 */
#include "timing/phase.h"

const char *ss_phase_name(enum ss_phase phase)
{
    static const char *const names[] = {
#define PHASE(name, words) #name,
#include "timing/phase.def"
#undef PHASE
    };
    return names[phase];
}

const char *ss_dim_name(enum ss_dim dim)
{
    static const char *const names[] = {"dp", "tp", "pp", "ep", "cp"};
    return names[dim];
}

const char *ss_variant_name(enum ss_variant v)
{
    static const char *const names[] = {"whole", "compute_only", "comm_only"};
    return names[v];
}

enum ss_phase ss_dim_phase(enum ss_dim dim)
{
    static const enum ss_phase phases[] = {SS_PHASE_dp_comm, SS_PHASE_tp_comm,
                                           SS_PHASE_pp_comm, SS_PHASE_ep_comm,
                                           SS_PHASE_cp_comm};
    return phases[dim];
}
