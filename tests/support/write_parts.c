/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write_parts OUT [POINTS [RANKS]]: a part folder of planted points, equal in
 * every run, with a line on stdout after each write that returned. The crash
 * proof kills it; golden and Python tests read what it leaves.
 */
#include <stdio.h>
#include <stdlib.h>

#include "store/store.h"
#include "support/store_sample.h"

#define RUN_ID "00000000-0000-4000-8000-000000000001"

static int complain(void)
{
    fprintf(stderr, "%s\n", ss_error_text());
    return 1;
}

static void say(const char *word, int index)
{
    printf("%s %04d\n", word, index);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    int points = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 24;
    int ranks = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 4;
    struct sample_shape shape = {
        .ranks = ranks, .blocks_per_variant = 3, .steps = 5};
    struct ss_run_data run;
    if (argc < 2 || ss_part_create(argv[1]) != SS_OK)
        return complain();
    sample_run(RUN_ID, ranks, points, &run);
    if (ss_part_write_run(argv[1], &run) != SS_OK)
        return complain();
    say("renamed", 0);
    ss_run_data_free(&run);
    for (int i = 1; i <= points; i++) {
        struct ss_point_data point;
        shape.wide = i % 2 == 0;
        sample_point(i, shape, &point);
        if (ss_part_write_point(argv[1], RUN_ID, &point) != SS_OK)
            return complain();
        say("renamed", i);
        ss_point_data_free(&point);
    }
    return 0;
}
