/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A folder of its own for each test that touches the disk.
 */
#include "support/store_folder.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int folder_open(void **state)
{
    const char *base = getenv("TMPDIR");
    char name[256];
    snprintf(name, sizeof name, "%s/stepscale-test-XXXXXX",
             base ? base : "/tmp");
    if (!mkdtemp(name))
        return -1;
    *state = strdup(name);
    return *state ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *info, int flag,
                      struct FTW *place)
{
    (void)info;
    (void)flag;
    (void)place;
    return remove(path);
}

int folder_close(void **state)
{
    int bad = nftw(*state, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(*state);
    return bad;
}

const char *folder_path(const char *folder, const char *name)
{
    static char paths[8][512];
    static int next;
    next = (next + 1) % 8;
    snprintf(paths[next], sizeof paths[next], "%s/%s", folder, name);
    return paths[next];
}

void folder_put(const char *folder, const char *name, const void *bytes,
                size_t len)
{
    FILE *file = fopen(folder_path(folder, name), "wb");
    if (!file || fwrite(bytes, 1, len, file) != len || fclose(file) != 0)
        abort();
}
