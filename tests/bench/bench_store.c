/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_store [RANKS [STEPS [ROUNDS]]]: time and memory of writing and reading
 * one large part (default 4,096 ranks x 200 steps x 3 variants). Each round
 * measures twice, and the ratio of the two medians (A/A) stands beside each
 * figure: what differs by less is noise. Never pass or fail.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "store/read_file.h"
#include "store/store.h"
#include "support/store_folder.h"
#include "support/store_sample.h"

#define ROUNDS_MAX 32

struct series {
    const char *name;
    double ms[2][ROUNDS_MAX];
    int n;
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, by_value);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static void print_series(struct series *s)
{
    double a = median(s->ms[0], s->n);
    double b = median(s->ms[1], s->n);
    printf("%-34s %9.1f ms   A/A %.3f\n", s->name, a, b / a);
}

static double peak_mb(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1e3;
}

static void must(enum ss_status status)
{
    if (status == SS_OK)
        return;
    fprintf(stderr, "%s\n", ss_error_text());
    abort();
}

static void time_write(const char *out, struct ss_point_data *point, double *ms)
{
    int64_t start = ss_clock_ns();
    must(ss_part_write_point(out, "bench", point));
    *ms = (double)(ss_clock_ns() - start) / 1e6;
    point->meta.index++;
}

static void time_read(const char *out, double *ms)
{
    struct ss_run_data run;
    int64_t start = ss_clock_ns();
    must(ss_run_read(out, SS_READ_ALL, &run, NULL));
    *ms = (double)(ss_clock_ns() - start) / 1e6;
    ss_run_data_free(&run);
}

static double raw_mb(const struct ss_point_data *p)
{
    double ranks = p->n_ranks;
    return (ranks * (double)p->n_steps * 4 +
            ranks * p->n_blocks * sizeof *p->block_rank +
            ranks * sizeof *p->rank + (double)p->n_terms * sizeof *p->terms +
            p->n_checks * (double)sizeof *p->check) /
           1e6;
}

static void print_size(const char *folder, const struct ss_point_data *p)
{
    struct stat info;
    if (stat(folder_path(folder, "w.h5.part/0001.h5"), &info) == 0)
        printf("%-34s %9.1f MB on disk (forecast %.1f, raw %.1f)\n", "one part",
               (double)info.st_size / 1e6,
               ss_point_bytes(p->n_ranks, p->n_blocks, p->n_steps, p->n_terms) /
                   1e6,
               raw_mb(p));
}

static void bench(const char *folder, struct ss_point_data *point, int rounds)
{
    struct series write = {.name = "write a part (fsync included)"};
    struct series read = {.name = "read it (child process first)"};
    char many[512];
    char one[512];
    struct ss_run_data run;
    double before;
    snprintf(many, sizeof many, "%s", folder_path(folder, "w.h5"));
    snprintf(one, sizeof one, "%s", folder_path(folder, "r.h5"));
    sample_run("bench", point->n_ranks, 1, &run);
    must(ss_part_create(many));
    must(ss_part_create(one));
    must(ss_part_write_run(one, &run));
    before = peak_mb();
    must(ss_part_write_point(one, "bench", point));
    printf("%-34s %9.1f MB\n", "memory above the data, write",
           peak_mb() - before);
    for (int i = 0; i < rounds; i++) {
        for (int k = 0; k < 2; k++) {
            time_write(many, point, &write.ms[k][i]);
            time_read(one, &read.ms[k][i]);
        }
        write.n = read.n = i + 1;
    }
    print_series(&write);
    print_series(&read);
    print_size(folder, point);
    ss_run_data_free(&run);
}

int main(int argc, char **argv)
{
    int ranks = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 4096;
    int steps = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 200;
    int rounds = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 5;
    struct sample_shape shape = {
        .ranks = ranks, .blocks_per_variant = 20, .steps = steps / 20};
    struct ss_point_data point;
    void *folder;
    if (rounds < 1 || rounds > ROUNDS_MAX || folder_open(&folder) != 0)
        return 2;
    sample_point(1, shape, &point);
    printf("%d ranks x %lld steps (3 variants), %d rounds\n", ranks,
           (long long)point.n_steps, rounds);
    bench(folder, &point, rounds);
    ss_point_data_free(&point);
    return folder_close(&folder);
}
