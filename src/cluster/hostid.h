/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_CLUSTER_HOSTID_H
#define SS_CLUSTER_HOSTID_H

#include <stddef.h>
#include <stdint.h>

/**
 * Who this host is, as far as a process can see. Containers and virtual hosts
 * on one kernel share the boot id; a time namespace shifts their clocks.
 * Internal to this room.
 */
struct ss_host_id {
    char name[64];
    char boot_id[40];  /**< "unknown" where the kernel does not say */
    uint64_t clock_ns; /**< inode of the time namespace, 0: none */
};

void ss_host_identify(struct ss_host_id *out);
/** FNV-1a of a text, continued from `seed`, finished by ss_mix64. */
uint64_t ss_host_hash(const char *text, uint64_t seed);
/** Equal on ranks that may share memory: name, boot id, time namespace. */
uint64_t ss_host_word(const struct ss_host_id *id);
/** Equal on ranks that read one CLOCK_MONOTONIC_RAW: boot id, namespace. */
uint64_t ss_host_clock_word(const struct ss_host_id *id);

/** "Open MPI v4.1.4, package: ..." -> "Open MPI v4.1.4"; one blank a gap. */
void ss_host_trim_version(const char *text, char *out, size_t size);

#endif
