# SPDX-License-Identifier: Apache-2.0
ss_unit_test(test_localise USES probe
    SOURCES unit/test_localise.c support/sim_pairs.c TIMEOUT 120)
ss_unit_test(test_localise_soak USES probe
    SOURCES unit/test_localise_soak.c TIMEOUT 120)
ss_unit_test(test_probe USES probe
    SOURCES unit/test_probe.c support/probe_cases.c)
ss_unit_test(test_colls USES probe)
ss_unit_test(test_links USES commands LIBS PkgConfig::JANSSON m)
ss_mpi_test(test_probe_mpi NP 2 4 5 USES probe
    SOURCES mpi/test_probe_mpi.c support/probe_cases.c support/rank_main.c)

# Healthy probes played again from their meetings, for tests/full/probe.
add_executable(resample_pairs support/resample_pairs.c)
target_include_directories(resample_pairs PRIVATE ${CMAKE_SOURCE_DIR}/tests)
target_link_libraries(resample_pairs PRIVATE ss_probe ss_options)

# Virtual hosts with shaped links. tests/run --full probe runs more, on a quiet
# machine (bandwidth is measured, so other load shows).
if(TARGET stepscale)
    # short forms, alone on the machine; skipped where others hold its cores
    foreach(form slow_host:8:9s slow_pair:6:9s uniform:3:5s healthy:4:6s)
        string(REPLACE : ";" form ${form})
        list(GET form 0 case)
        add_test(NAME e2e_probe_${case} COMMAND
            ${CMAKE_CURRENT_LIST_DIR}/../cluster/probe.sh
            $<TARGET_FILE:stepscale> ${form})
        set_tests_properties(e2e_probe_${case} PROPERTIES LABELS "e2e;cluster"
            TIMEOUT 120 RUN_SERIAL TRUE SKIP_RETURN_CODE 77
            ENVIRONMENT BUSY=skip)
    endforeach()
    add_test(NAME e2e_probe_full COMMAND
        ${CMAKE_CURRENT_LIST_DIR}/../full/probe $<TARGET_FILE:stepscale>
        $<TARGET_FILE:resample_pairs>)
    set_tests_properties(e2e_probe_full PROPERTIES LABELS full TIMEOUT 3600
        PROCESSORS 2)
endif()
