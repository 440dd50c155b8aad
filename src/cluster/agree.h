/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_CLUSTER_AGREE_H
#define SS_CLUSTER_AGREE_H

#include "cluster/rt.h"

/**
 * Collective error agreement: all ranks return the same status, the largest
 * contributed (ties: the lowest rank), and hold the same error text: "rank 2
 * on node07: cannot allocate 18.2 GB (out of memory)", with " (and 3 more
 * ranks)" where others failed too; where all ranks failed alike, the text
 * alone. One allreduce of 8 bytes when all is well, plus another and one
 * broadcast otherwise. The rank named is the logical one, the launcher's before
 * there is an order. A text that was agreed on before is kept as it is. Called
 * before and after every collective set-up and between blocks; never inside a
 * timed region. If the agreement itself fails the transport's status is
 * returned.
 */
enum ss_status ss_agree_all(struct ss_rt *rt, enum ss_status mine);

/**
 * The same 64-bit word on all ranks? SS_OK, or SS_ERR_CONFIG naming the first
 * rank and host that differs: "rank 3 on n2: another <what> (0x.., rank 0 has
 * 0x..)".
 */
enum ss_status ss_agree_word_all(struct ss_rt *rt, uint64_t word,
                                 const char *what);

/** SIGTERM, SIGINT, SIGHUP (unless ignored, as under nohup): the handler only
 * sets a flag. */
void ss_stop_install(void);
/** "stopped by SIGINT", out of the text of an SS_ERR_STOPPED. */
void ss_stop_words(const char *text, char *out, size_t size);
int ss_stop_requested(void);
/** As ss_agree_all, and SS_ERR_STOPPED if any rank was asked to stop. */
enum ss_status ss_agree_or_stop_all(struct ss_rt *rt, enum ss_status mine);

#endif
