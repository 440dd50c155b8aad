/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_CLUSTER_SIBLINGS_H
#define SS_CLUSTER_SIBLINGS_H

#include "cluster/topology.h"

/** This process, so that others of its host can tell whether it still is:
 * number, start, and the namespace in which the number counts; all 0 where the
 * system does not say. */
void ss_process_identify(struct ss_process *out);
/** Has it ended (a zombie has)? Never of another host: the caller compares
 * hosts. False too where it cannot be told. */
bool ss_process_ended(const struct ss_process *process);

/** The ranks whose processes run beside this one on its host. */
struct ss_siblings;
enum ss_status ss_siblings_open(const struct ss_topology *topology, int rank,
                                struct ss_siblings **out);
/** Those that have ended, as "2,5-7"; "": none. From any thread; NULL knows
 * nobody. What does not fit is left out. */
void ss_siblings_gone(const struct ss_siblings *siblings, char *out,
                      size_t size);
void ss_siblings_close(struct ss_siblings *siblings);

#endif
