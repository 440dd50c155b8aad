# SPDX-License-Identifier: Apache-2.0
include(${CMAKE_CURRENT_SOURCE_DIR}/support/fuzz.cmake)
ss_fuzz_test(fuzz_topology CORPUS topology USES cluster)
ss_fuzz_test(fuzz_last_words CORPUS last_words USES cluster)
ss_unit_test(test_rt_detect USES cluster)
ss_unit_test(test_topology USES cluster)
ss_unit_test(test_clocksync USES cluster)
ss_unit_test(test_last_words USES cluster)
ss_unit_test(test_links_up USES cluster)
ss_unit_test(test_siblings USES cluster)
ss_unit_test(test_ended USES cluster)
ss_unit_test(test_rt_threads USES cluster
    SOURCES unit/test_rt_threads.c support/rt_cases.c
    support/rt_cases_world.c)
ss_mpi_test(test_rt_mpi NP 1 2 3 4 8 USES cluster
    SOURCES mpi/test_rt_mpi.c support/rank_main.c support/rt_cases.c
    support/rt_cases_world.c)
ss_unit_test(test_watchdog USES cluster)

# A real job that hangs; the script looks at its end.
add_executable(watchdog_program mpi/watchdog_program.c)
target_link_libraries(watchdog_program PRIVATE ss_cluster ss_options)
find_program(SS_BATS bats)
if(SS_BATS)
    add_test(NAME watchdog_bats
        COMMAND ${SS_BATS} ${CMAKE_CURRENT_SOURCE_DIR}/scripts/watchdog.bats)
    set_tests_properties(watchdog_bats PROPERTIES TIMEOUT 120 PROCESSORS 2
        LABELS mpi ENVIRONMENT "SS_PROGRAM=$<TARGET_FILE:watchdog_program>")
endif()

# Virtual hosts with clocks of their own.
add_executable(clock_program mpi/clock_program.c)
target_link_libraries(clock_program PRIVATE ss_cluster ss_options)
add_test(NAME cluster_clocks
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/cluster/clocks.sh
        $<TARGET_FILE:clock_program>)
set_tests_properties(cluster_clocks PROPERTIES TIMEOUT 60 PROCESSORS 2
    LABELS cluster SKIP_RETURN_CODE 77)
