/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzz target once on every file of the folders given, so that the
 * corpus is a regression test under any compiler. A target that crashes is
 * the failure; an empty or missing folder is one too.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>

#include "base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FILE_MAX ((size_t)16 << 20)

static int replay_file(const char *path)
{
    struct ss_buf buf;
    if (ss_read_file(path, FILE_MAX, &buf) != SS_OK)
        return 0;
    LLVMFuzzerTestOneInput((const uint8_t *)ss_buf_text(&buf), buf.len);
    ss_buf_free(&buf);
    return 1;
}

static int replay_folder(const char *folder)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    int done = 0;
    while (dir && (entry = readdir(dir)) != NULL) {
        char path[4096];
        if (entry->d_name[0] == '.')
            continue;
        if (ss_format(path, sizeof path, "%s/%s", folder, entry->d_name))
            done += replay_file(path);
    }
    if (dir)
        closedir(dir);
    return done;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        int done = replay_folder(argv[i]);
        printf("%s: %d inputs replayed\n", argv[i], done);
        if (done == 0)
            return 1;
    }
    return argc > 1 ? 0 : 1;
}
