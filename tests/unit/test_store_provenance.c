/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which variables are taken, how ranks are listed, and that a large world is
 * diffed in no time (a time limit is the test's own; none is asserted).
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "store/provenance.h"

static const struct ss_variable_row *find(const struct ss_variable_row *rows,
                                          int n, const char *name,
                                          const char *value)
{
    for (int i = 0; i < n; i++) {
        if (strcmp(rows[i].name, name) == 0 &&
            strcmp(rows[i].value, value) == 0)
            return &rows[i];
    }
    fail_msg("no row %s=%s", name, value);
    return NULL;
}

static void only_what_matters_is_collected(void **state)
{
    char *environment[] = {
        (char *)"UCX_TLS=rc", (char *)"HOME=/root", (char *)"NCCL_ALGO=Ring",
        (char *)"OMPI_COMM_WORLD_RANK=3", (char *)"OMPI_COMM_WORLD_RANKS=no",
        /* what Open MPI and Slurm give each host or rank */
        (char *)"OMPI_MCA_orte_jobfam_session_dir=/tmp/1",
        (char *)"OMPI_MCA_orte_local_daemon_uri=1;tcp",
        (char *)"OMPI_MCA_ess_base_vpid=1",
        (char *)"OMPI_FILE_LOCATION=/tmp/1/0", (char *)"SLURM_TASK_PID=7",
        (char *)"SLURM_TOPOLOGY_ADDR=n1",
        (char *)"SLURM_LAUNCH_NODE_IPADDR=192.0.2.1", (char *)"SLURM_PROCID=3",
        (char *)"SLURM_JOB_ID=12", (char *)"LD_LIBRARY_PATH=/a:/b",
        (char *)"LD_LIBRARY_PATH_2=no", (char *)"SS_MEASURE_SEED=1\n2", NULL};
    struct ss_buf out;
    const char *text;
    (void)state;
    ss_buf_init(&out, 1 << 16);
    assert_int_equal(ss_variables_collect(environment, &out), SS_OK);
    text = ss_buf_text(&out);
    assert_non_null(strstr(text, "(binary)=xxh64 "));
    assert_non_null(strstr(text, "(cpuset)="));
    assert_non_null(strstr(text, "\nLD_LIBRARY_PATH=/a:/b\nNCCL_ALGO=Ring\n"
                                 "OMPI_COMM_WORLD_RANKS=no\nSLURM_JOB_ID=12\n"
                                 "SS_MEASURE_SEED=1 2\nUCX_TLS=rc\n"));
    assert_null(strstr(text, "HOME"));
    assert_null(strstr(text, "PROCID"));
    assert_null(strstr(text, "/tmp/1"));
    assert_null(strstr(text, "_vpid"));
    assert_null(strstr(text, "_uri"));
    assert_null(strstr(text, "SLURM_TASK_PID"));
    assert_null(strstr(text, "ADDR"));
    assert_null(strstr(text, "PATH_2"));
    ss_buf_free(&out);
    assert_int_equal(ss_mem_live(), 0);
}

static void values_are_listed_with_their_ranks(void **state)
{
    static const char *const texts[] = {"A=1\nB=x\n",     "A=1\nB=x\n",
                                        "A=1\nB=y\nC=\n", "A=1\nB=x\n",
                                        "A=1\nB=x\n",     "A=1\nB=y\nC=\n"};
    struct ss_variable_row *rows;
    int n;
    (void)state;
    assert_int_equal(ss_variables_diff(texts, 6, &rows, &n), SS_OK);
    assert_int_equal(n, 5);
    assert_string_equal(find(rows, n, "A", "1")->ranks, "all");
    assert_int_equal(find(rows, n, "A", "1")->differs, 0);
    assert_string_equal(find(rows, n, "B", "x")->ranks, "0-1,3-4");
    assert_string_equal(find(rows, n, "B", "y")->ranks, "2,5");
    assert_int_equal(find(rows, n, "B", "y")->differs, 1);
    assert_string_equal(find(rows, n, "C", "")->ranks, "2,5");
    assert_string_equal(find(rows, n, "C", "(unset)")->ranks, "0-1,3-4");
    assert_int_equal(find(rows, n, "C", "(unset)")->differs, 1);
    ss_free(rows);
    assert_int_equal(ss_mem_live(), 0);
}

static void nothing_gives_no_rows(void **state)
{
    static const char *const texts[] = {"", ""};
    struct ss_variable_row *rows;
    int n;
    (void)state;
    assert_int_equal(ss_variables_diff(texts, 2, &rows, &n), SS_OK);
    assert_int_equal(n, 0);
    ss_free(rows);
}

static void long_values_keep_their_difference(void **state)
{
    char a[600];
    char b[600];
    const char *texts[2] = {a, b};
    struct ss_variable_row *rows;
    int n;
    (void)state;
    memset(a, 'v', sizeof a);
    memcpy(a, "LONG=", 5);
    a[sizeof a - 1] = '\0';
    memcpy(b, a, sizeof b);
    b[sizeof b - 2] = 'w';
    assert_int_equal(ss_variables_diff(texts, 2, &rows, &n), SS_OK);
    assert_int_equal(n, 2);
    assert_string_not_equal(rows[0].value, rows[1].value);
    assert_int_equal(strlen(rows[0].value), sizeof rows[0].value - 2);
    ss_free(rows);
}

static void a_long_rank_list_is_cut_visibly(void **state)
{
    enum { N = 200 };
    const char *texts[N];
    struct ss_variable_row *rows;
    int n;
    (void)state;
    for (int i = 0; i < N; i++)
        texts[i] = i % 2 ? "A=odd\n" : "A=even\n";
    assert_int_equal(ss_variables_diff(texts, N, &rows, &n), SS_OK);
    assert_int_equal(n, 2);
    assert_int_equal(strncmp(rows[0].ranks, "0,2,4,6,", 8), 0);
    assert_string_equal(rows[0].ranks + strlen(rows[0].ranks) - 3, "...");
    ss_free(rows);
}

/* 16,384 ranks of 50 variables, one of them different on each rank of four. */
static void a_large_world_is_diffed(void **state)
{
    enum { N = 16384, LINES = 50 };
    const size_t bytes = (size_t)LINES * 40;
    const char **texts = ss_alloc(N, sizeof *texts, "a test");
    char *memory = ss_alloc(4, bytes, "a test");
    struct ss_variable_row *rows;
    int n;
    (void)state;
    assert_non_null(texts);
    assert_non_null(memory);
    for (int k = 0; k < 4; k++) {
        char *p = memory + (size_t)k * bytes;
        for (int i = 0; i < LINES; i++)
            p += snprintf(p, 40, "SLURM_VARIABLE_%02d=value %d\n", i,
                          i == 7 ? k : 0);
    }
    for (int i = 0; i < N; i++)
        texts[i] = memory + (size_t)(i / 4096) * bytes;
    assert_int_equal(ss_variables_diff(texts, N, &rows, &n), SS_OK);
    assert_int_equal(n, LINES + 3);
    assert_string_equal(find(rows, n, "SLURM_VARIABLE_07", "value 1")->ranks,
                        "4096-8191");
    ss_free(rows);
    ss_free(memory);
    ss_free(texts);
}

static void put_file(const char *folder, const char *name, const char *text)
{
    char path[256];
    assert_true(ss_format(path, sizeof path, "%s/%s", folder, name));
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* A planted root, home and library folder. */
static void files_of_nccl_are_told_apart_by_content(void **state)
{
    char root[] = "/tmp/ss-prov-XXXXXX", etc[64], home[64], named[64], path[64];
    char *environment[] = {home, named, path, NULL};
    char command[96];
    struct ss_buf out;
    (void)state;
    assert_non_null(mkdtemp(root));
    ss_format(etc, sizeof etc, "%s/etc", root);
    assert_int_equal(mkdir(etc, 0700), 0);
    ss_format(home, sizeof home, "HOME=%s", root);
    ss_format(named, sizeof named, "NCCL_CONF_FILE=%s/mine", root);
    ss_format(path, sizeof path, "LD_LIBRARY_PATH=/nowhere::%s", root);
    ss_buf_init(&out, 1 << 16);
    assert_int_equal(ss_files_collect(root, environment, &out), SS_OK);
    assert_string_equal(ss_buf_text(&out), "");
    assert_int_equal(ss_files_collect(root, NULL, &out), SS_OK);
    assert_string_equal(ss_buf_text(&out), "");
    put_file(etc, "nccl.conf", "NCCL_DEBUG=INFO\n");
    put_file(root, ".nccl.conf", "");
    put_file(root, "mine", "NCCL_DEBUG=WARN\n");
    put_file(root, "libnccl-net.so", "x");
    put_file(root, "libnet.so", "x");
    assert_int_equal(ss_files_collect(root, environment, &out), SS_OK);
    ss_format(command, sizeof command, "(file) %s/libnccl-net.so=xxh64 ", root);
    /* of "NCCL_DEBUG=INFO\n" and of nothing, by libxxhash through Python */
    assert_non_null(strstr(ss_buf_text(&out), "(file) /etc/nccl.conf=xxh64 "
                                              "927592d00b97492e, 16 bytes\n"));
    assert_non_null(strstr(ss_buf_text(&out), "(file) ~/.nccl.conf=xxh64 "
                                              "ef46db3751d8e999, 0 bytes\n"));
    assert_non_null(strstr(ss_buf_text(&out), "(file) NCCL_CONF_FILE=xxh64 "
                                              "67e2c660c2b4ffb1, 16 bytes\n"));
    assert_non_null(strstr(ss_buf_text(&out), command));
    assert_null(strstr(ss_buf_text(&out), "libnet"));
    ss_buf_free(&out);
    ss_format(command, sizeof command, "rm -r %s", root);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
}

static int count_line(const char *text, const char *start)
{
    const char *at = strstr(text, start);
    return at ? 1 + count_line(at + 1, start) : 0;
}

/* One that is opened now is there, once, by its real path. */
static void libraries_are_named_with_path_and_build(void **state)
{
    struct ss_buf out;
    (void)state;
    void *opened = dlopen("libmpi.so.40", RTLD_LAZY);
    if (!opened) {
        skip();
        return;
    }
    ss_buf_init(&out, 1 << 16);
    assert_int_equal(ss_libraries_collect(&out), SS_OK);
    const char *line = strstr(ss_buf_text(&out), "(library) libmpi.so.40=/");
    assert_non_null(line);
    assert_int_equal(count_line(ss_buf_text(&out), "(library) libmpi.so"), 1);
    assert_true(strcspn(line, "\n") > 60);
    assert_non_null(strstr(line, " build "));
    ss_buf_free(&out);
    dlclose(opened);
}

static void versions_name_what_is_in_the_process(void **state)
{
    struct ss_variable_row *rows;
    int n;
    (void)state;
    assert_int_equal(ss_versions_collect("Open MPI 4.1.4", &rows, &n), SS_OK);
    find(rows, n, "mpi", "Open MPI 4.1.4");
    for (int i = 0; i < n; i++)
        assert_string_equal(rows[i].ranks, "all");
    assert_true(n >= 5);
    ss_free(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_matters_is_collected),
        cmocka_unit_test(values_are_listed_with_their_ranks),
        cmocka_unit_test(nothing_gives_no_rows),
        cmocka_unit_test(long_values_keep_their_difference),
        cmocka_unit_test(a_long_rank_list_is_cut_visibly),
        cmocka_unit_test(a_large_world_is_diffed),
        cmocka_unit_test(files_of_nccl_are_told_apart_by_content),
        cmocka_unit_test(libraries_are_named_with_path_and_build),
        cmocka_unit_test(versions_name_what_is_in_the_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
