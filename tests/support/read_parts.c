/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_parts OUT [RANKS]: reads what write_parts left, however it ended, and
 * prints "renamed NNNN" for each point that is, bit for bit, what was written.
 */
#include <stdio.h>
#include <stdlib.h>

#include "store/store.h"
#include "support/parts_sample.h"

int main(int argc, char **argv)
{
    int ranks = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 4;
    struct ss_run_data run;
    struct ss_buf notes;
    int bad = 0;
    ss_buf_init(&notes, 1 << 20);
    if (argc < 2 || ss_run_read(argv[1], SS_READ_ALL, &run, &notes) != SS_OK) {
        fprintf(stderr, "%s\n", ss_error_text());
        return 1;
    }
    printf("renamed 0000\n");
    for (int i = 0; i < run.n_points; i++) {
        struct ss_point_data want;
        parts_point(run.point[i].meta.index, ranks, &want);
        if (sample_points_equal(&want, &run.point[i]))
            printf("renamed %04d\n", want.meta.index);
        else
            bad = 1;
        ss_point_data_free(&want);
    }
    fputs(ss_buf_text(&notes), stderr);
    ss_buf_free(&notes);
    ss_run_data_free(&run);
    return bad;
}
