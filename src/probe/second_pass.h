/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_PROBE_SECOND_PASS_H
#define SS_PROBE_SECOND_PASS_H

#include "analysis/localise.h"
#include "probe/tournament.h"

/** Looks at suspects before anyone is accused; a cycle is one round of the
 * bootstrap. */
#define SS_SECOND_CYCLES 4
#define SS_SECOND_PARTS 4

/** The suspects of the first pass; pure. Empty where nobody is suspected. */
enum ss_status ss_second_pass_open(const struct ss_link_sample *sample, int n,
                                   const struct ss_localise_rule *rule,
                                   struct ss_suspects_list *out);
/** An empty list with room for as many: what other ranks fill. */
enum ss_status ss_second_pass_blank(int nodes, struct ss_suspects_list *out);
void ss_second_pass_close(struct ss_suspects_list *list);

#endif
