/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which network ports of this host have a link, from sysfs. A rank that hangs
 * compares with what there was at its start: a cable that was pulled names the
 * host, where silence could not. Must not judge; many hosts have ports that
 * were never plugged in.
 */
#include "cluster/links.h"

#include <dirent.h>
#include <string.h>

#include "base/str.h"

static void add(char *out, size_t size, const char *name)
{
    size_t at = strlen(out);
    if (at + strlen(name) + 2 <= size)
        (void)ss_format(out + at, size - at, "%s%s", at ? "," : "", name);
}

static bool reads(const char *path, const char *beginning)
{
    struct ss_buf text;
    bool good = ss_read_file(path, 64, &text) == SS_OK &&
                strncmp(ss_buf_text(&text), beginning, strlen(beginning)) == 0;
    ss_buf_free(&text);
    ss_error_set(NULL); /* a port that is down may refuse the question */
    return good;
}

static bool comes_and_goes(const char *name)
{
    static const char *const kinds[] = {".",   "lo",   "veth", "docker", "br-",
                                        "tap", "cali", "cni",  "virbr"};
    for (size_t i = 0; i < SS_COUNT_OF(kinds); i++)
        if (strncmp(name, kinds[i], strlen(kinds[i])) == 0)
            return true;
    return false;
}

static void interfaces(const char *sys, char *out, size_t size)
{
    char path[512];
    if (!ss_format(path, sizeof(path), "%s/class/net", sys))
        return;
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (!comes_and_goes(entry->d_name) &&
            ss_format(path, sizeof(path), "%s/class/net/%s/carrier", sys,
                      entry->d_name) &&
            reads(path, "1"))
            add(out, size, entry->d_name);
    if (dir)
        (void)closedir(dir);
}

static void ports_of(const char *sys, const char *adapter, char *out,
                     size_t size)
{
    char path[512], name[128];
    if (!ss_format(path, sizeof(path), "%s/class/infiniband/%s/ports", sys,
                   adapter))
        return;
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (entry->d_name[0] != '.' &&
            ss_format(path, sizeof(path),
                      "%s/class/infiniband/%s/ports/%s/state", sys, adapter,
                      entry->d_name) &&
            reads(path, "4:") && /* ACTIVE */
            ss_format(name, sizeof(name), "%s/%s", adapter, entry->d_name))
            add(out, size, name);
    if (dir)
        (void)closedir(dir);
}

void ss_links_up(const char *sys, char *out, size_t size)
{
    char path[512];
    out[0] = '\0';
    interfaces(sys, out, size);
    if (!ss_format(path, sizeof(path), "%s/class/infiniband", sys))
        return;
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (entry->d_name[0] != '.')
            ports_of(sys, entry->d_name, out, size);
    if (dir)
        (void)closedir(dir);
}

static bool holds(const char *list, const char *name, size_t len)
{
    while (*list) {
        size_t word = strcspn(list, ",");
        if (word == len && strncmp(list, name, len) == 0)
            return true;
        list += word + (list[word] == ',');
    }
    return false;
}

void ss_links_lost(const char *before, const char *now, char *out, size_t size)
{
    char name[128];
    out[0] = '\0';
    while (*before) {
        size_t len = strcspn(before, ",");
        if (!holds(now, before, len) &&
            ss_format(name, sizeof(name), "%.*s", (int)len, before))
            add(out, size, name);
        before += len + (before[len] == ',');
    }
}
