/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host identity. Three questions that look alike have different answers when
 * several hosts (containers, virtual hosts of a test) run on one kernel: who
 * shares memory, who shares a clock, who is one node. This file only reads
 * the facts; it knows nothing of MPI or of ranks.
 */
#include "cluster/hostid.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/random.h"
#include "base/str.h"

static void read_boot_id(char *out, size_t size)
{
    struct ss_buf text;
    ss_buf_init(&text, 256);
    enum ss_status status =
        ss_read_file("/proc/sys/kernel/random/boot_id", 256, &text);
    size_t len = strcspn(ss_buf_text(&text), "\n");
    if (status == SS_OK && len > 0)
        (void)ss_format(out, size, "%.*s", (int)len, ss_buf_text(&text));
    else
        (void)ss_copy(out, size, "unknown");
    ss_buf_free(&text);
}

void ss_host_identify(struct ss_host_id *out)
{
    memset(out, 0, sizeof(*out));
    if (gethostname(out->name, sizeof(out->name) - 1) != 0)
        (void)ss_copy(out->name, sizeof(out->name), "localhost");
    read_boot_id(out->boot_id, sizeof(out->boot_id));
    struct stat info;
    if (stat("/proc/self/ns/time", &info) == 0)
        out->clock_ns = (uint64_t)info.st_ino;
}

uint64_t ss_host_hash(const char *text, uint64_t seed)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ seed;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return ss_mix64(hash);
}

uint64_t ss_host_clock_word(const struct ss_host_id *id)
{
    /* Without a boot id only the name can tell kernels apart. */
    bool known = strcmp(id->boot_id, "unknown") != 0;
    return ss_host_hash(known ? id->boot_id : id->name, id->clock_ns);
}

uint64_t ss_host_word(const struct ss_host_id *id)
{
    return ss_host_hash(id->name, ss_host_clock_word(id));
}

void ss_host_trim_version(const char *text, char *out, size_t size)
{
    size_t used = 0;
    for (; *text && !strchr(",\n", *text) && used + 1 < size; text++) {
        bool blank = *text == ' ' || *text == '\t';
        if (!blank || (used > 0 && out[used - 1] != ' '))
            out[used++] = blank ? ' ' : *text;
    }
    out[used] = '\0';
}
