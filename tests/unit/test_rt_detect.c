/* SPDX-License-Identifier: Apache-2.0 */
/* What the environment of a launcher says, before MPI_Init. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "cluster/hostid.h"
#include "cluster/rt.h"

#define ENV(...)                                                               \
    (char *const[])                                                            \
    {                                                                          \
        __VA_ARGS__, NULL                                                      \
    }

static void expect(char *const *environment, int found, const char *who)
{
    char launcher[32];
    assert_int_equal(ss_rt_detect(environment, launcher, sizeof(launcher)),
                     found);
    assert_string_equal(launcher, who);
}

static void no_launcher(void **state)
{
    (void)state;
    expect(ENV("HOME=/root"), 0, "none");
    expect(ENV("PMIX_RANKS=1"), 0, "none"); /* another name */
    expect((char *const[]){NULL}, 0, "none");
}

/* In a batch script, outside of srun: one process, however many tasks. */
static void batch_script(void **state)
{
    (void)state;
    expect(ENV("SLURM_JOB_ID=7", "SLURM_NTASKS=64"), 0, "none");
}

static void launchers(void **state)
{
    (void)state;
    expect(ENV("OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_RANK=0"), 1,
           "mpirun");
    expect(ENV("SLURM_STEP_ID=0", "SLURM_STEP_NUM_TASKS=4", "PMIX_RANK=3"), 1,
           "srun");
    expect(ENV("PMI_SIZE=2", "PMI_RANK=1"), 1, "a PMI launcher");
    expect(ENV("PMIX_RANK=1"), 1, "a PMIx launcher");
}

static void missing_pmi(void **state)
{
    (void)state;
    expect(ENV("SLURM_STEP_ID=0", "SLURM_STEP_NUM_TASKS=4"), -1, "srun");
    expect(ENV("SLURM_STEP_ID=0", "SLURM_NTASKS=4"), -1, "srun");
    expect(ENV("PMI_SIZE=2"), -1, "a PMI launcher");
    expect(ENV("OMPI_COMM_WORLD_SIZE=2"), -1, "mpirun");
}

static void a_step_of_one_task(void **state)
{
    (void)state;
    expect(ENV("SLURM_STEP_ID=0", "SLURM_STEP_NUM_TASKS=1", "SLURM_NTASKS=8"),
           0, "srun");
    expect(ENV("PMI_SIZE=one"), 0, "a PMI launcher");
}

static void versions(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"Open MPI v4.1.4, package: Debian OpenMPI", "Open MPI v4.1.4"},
        {"MPICH Version:      4.0.2\nMPICH Release date: x",
         "MPICH Version: 4.0.2"},
        {"", ""},
    };
    char out[64];
    for (size_t i = 0; i < SS_COUNT_OF(cases); i++) {
        ss_host_trim_version(cases[i][0], out, sizeof(out));
        assert_string_equal(out, cases[i][1]);
    }
    ss_host_trim_version("Open MPI v4.1.4", out, 5);
    assert_string_equal(out, "Open");
}

static void launched(void **state)
{
    (void)state;
    static char *const cases[][5] = {
        {"OMPI_COMM_WORLD_RANK=5", "OMPI_COMM_WORLD_SIZE=16",
         "OMPI_COMM_WORLD_LOCAL_SIZE=8"},
        {"PMIX_RANK=5", "SLURM_STEP_NUM_TASKS=16", "SLURM_STEP_NUM_NODES=2"},
        {"PMI_RANK=5", "PMI_SIZE=16", "MPI_LOCALNRANKS=8"},
        {"PMI_RANK=5", "PMI_SIZE=2", "MPI_LOCALNRANKS=none"},
        {"HOME=/", "PMIX_RANK=-3"},
    };
    const struct ss_launched expected[] = {
        {5, 16, 2}, {5, 16, 2}, {5, 16, 2}, {5, 2, 2}, {0, 1, 1}};
    for (size_t i = 0; i < SS_COUNT_OF(cases); i++) {
        struct ss_launched got;
        ss_rt_launched(cases[i], &got);
        assert_memory_equal(&got, &expected[i], sizeof(got));
    }
}

static void host_words(void **state)
{
    (void)state;
    struct ss_host_id a = {"n1", "boot", 7}, b = a;
    assert_int_equal(ss_host_word(&a), ss_host_word(&b));
    (void)ss_copy(b.name, sizeof(b.name),
                  "n2"); /* another host on the same kernel */
    assert_int_equal(ss_host_clock_word(&a), ss_host_clock_word(&b));
    assert_int_not_equal(ss_host_word(&a), ss_host_word(&b));
    b.clock_ns = 8; /* a time namespace of its own */
    assert_int_not_equal(ss_host_clock_word(&a), ss_host_clock_word(&b));
    (void)ss_copy(a.boot_id, sizeof(a.boot_id), "unknown");
    b = a;
    (void)ss_copy(b.name, sizeof(b.name),
                  "n2"); /* without a boot id only names tell */
    assert_int_not_equal(ss_host_clock_word(&a), ss_host_clock_word(&b));
}

static void solo(void **state)
{
    (void)state;
    struct ss_rt *rt;
    double value = 2.5, copy = 0;
    struct ss_request request;
    char byte;
    assert_int_equal(ss_rt_solo_open(&rt), SS_OK);
    assert_int_equal(rt->size, 1);
    assert_true(rt->host[0] != '\0');
    assert_int_equal(rt->ops->icollective(rt, SS_COLL_ALL_REDUCE, &value, &copy,
                                          1, SS_DT_F64, SS_RED_SUM, 0,
                                          &request),
                     SS_OK);
    assert_int_equal(rt->ops->wait(rt, &request), SS_OK);
    assert_true(copy == 2.5);
    assert_int_equal(rt->ops->recv(rt, &byte, 1, 0, 0), SS_ERR_TRANSPORT);
    ss_rt_close(rt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_launcher),        cmocka_unit_test(batch_script),
        cmocka_unit_test(launchers),          cmocka_unit_test(missing_pmi),
        cmocka_unit_test(a_step_of_one_task), cmocka_unit_test(versions),
        cmocka_unit_test(host_words),         cmocka_unit_test(solo),
        cmocka_unit_test(launched),
    };
    return cmocka_run_group_tests_name("rt_detect", tests, NULL, NULL);
}
