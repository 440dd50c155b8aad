/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_CLUSTER_LINKS_H
#define SS_CLUSTER_LINKS_H

#include <stddef.h>

/** Ports of this host that have a link: "eth0,mlx5_0/1". What does not fit is
 * left out, and so are interfaces that come and go with containers. */
void ss_links_up(const char *sys, char *out, size_t size);
/** Those of `before` that are not in `now`. Pure. */
void ss_links_lost(const char *before, const char *now, char *out, size_t size);

#endif
