/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_ENGINE_HOST_MEMORY_H
#define SS_ENGINE_HOST_MEMORY_H

/** Bytes that this host (or the cgroup) has left; INFINITY if unknown. */
double ss_host_available(void);
/** Pure: what /proc/meminfo says, -1 if nothing. */
double ss_host_parse_meminfo(const char *text);

#endif
