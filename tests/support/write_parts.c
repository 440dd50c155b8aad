/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write_parts OUT [POINTS [RANKS [merge]]]: a part folder of planted points,
 * equal in every run, with a line on stdout after each write that returned. The
 * crash proof kills it; golden and Python tests read what it leaves.
 */
#include <stdio.h>
#include <stdlib.h>

#include "store/store.h"
#include "support/parts_sample.h"

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

static enum ss_status write_run(const char *out, int points, int ranks)
{
    struct ss_run_data run;
    enum ss_status status;
    sample_run(PARTS_RUN_ID, ranks, points, &run);
    status = ss_part_write_run(out, &run);
    ss_run_data_free(&run);
    return status;
}

static enum ss_status write_points(const char *out, int points, int ranks)
{
    for (int i = 1; i <= points; i++) {
        struct ss_point_data point;
        enum ss_status status;
        parts_point(i, ranks, &point);
        status = ss_part_write_point(out, PARTS_RUN_ID, &point);
        ss_point_data_free(&point);
        SS_TRY(status);
        say("renamed", i);
    }
    return SS_OK;
}

int main(int argc, char **argv)
{
    int points = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 24;
    int ranks = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 4;
    struct ss_run_end end = {.verdict_code = 0, .verdict_json = "{}"};
    if (argc < 2 || ss_part_create(argv[1]) != SS_OK ||
        write_run(argv[1], points, ranks) != SS_OK)
        return complain();
    say("renamed", 0);
    if (write_points(argv[1], points, ranks) != SS_OK)
        return complain();
    if (argc > 4 && ss_merge(argv[1], NULL, 0, &end) != SS_OK)
        return complain();
    return 0;
}
