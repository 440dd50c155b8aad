# SPDX-License-Identifier: Apache-2.0
include(${CMAKE_CURRENT_SOURCE_DIR}/support/fuzz.cmake)
ss_fuzz_test(fuzz_nccl_log CORPUS nccl_log USES engine)
ss_unit_test(test_engine_list USES engine)
ss_unit_test(test_nccl_ras USES engine)
ss_unit_test(test_engine_null USES engine LIBS m
    SOURCES unit/test_engine_null.c support/engine_rig.c)
ss_unit_test(test_null_cost USES engine LIBS m
    SOURCES unit/test_null_cost.c support/engine_rig.c)
ss_unit_test(test_engine_faults USES engine
    SOURCES unit/test_engine_faults.c support/engine_rig.c)
ss_unit_test(test_engine_host USES engine LIBS m
    SOURCES unit/test_engine_host.c support/engine_rig.c support/host_cases.c
        support/host_training.c)
ss_unit_test(test_host_kernels USES engine LIBS m)
ss_mpi_test(test_engine_mpi NP 1 2 4 USES engine LIBS m
    SOURCES mpi/test_engine_mpi.c support/rank_main.c support/engine_rig.c
        support/host_cases.c
        support/host_training.c)

# Not a test: a table of costs, run by hand or by tests/run --full.
add_executable(bench_engine bench/bench_engine.c)
target_link_libraries(bench_engine PRIVATE ss_engine ss_options
    PkgConfig::OPENBLAS)
