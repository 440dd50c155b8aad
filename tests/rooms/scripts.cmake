# SPDX-License-Identifier: Apache-2.0
# Scripts of launch/, slurm/, tests/ and .ci/, with planted tools on PATH.
find_program(SS_BATS bats)
if(SS_BATS)
    foreach(name quickstart sbatch sweep drain health container mpirun read_hosts bind_device
            lint tests_run readme_report)
        add_test(NAME bats_${name}
            COMMAND ${SS_BATS} ${CMAKE_CURRENT_SOURCE_DIR}/scripts/${name}.bats)
        set_tests_properties(bats_${name} PROPERTIES LABELS script TIMEOUT 120)
    endforeach()
    if(TARGET stepscale)
        add_test(NAME bats_install COMMAND ${SS_BATS}
            ${CMAKE_CURRENT_SOURCE_DIR}/scripts/install.bats)
        set_tests_properties(bats_install PROPERTIES LABELS script TIMEOUT 120
            ENVIRONMENT SS_BUILD=${CMAKE_BINARY_DIR})
    endif()
endif()

# Host files grown by mutation; their reader is a script, so no libFuzzer.
find_program(SS_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(SS_PYTHON)
    add_test(NAME fuzz_hosts COMMAND ${SS_PYTHON}
        ${CMAKE_CURRENT_LIST_DIR}/../fuzz/fuzz_hosts.py
        ${CMAKE_SOURCE_DIR}/launch/read-hosts 5)
    set_tests_properties(fuzz_hosts PROPERTIES LABELS script TIMEOUT 60)
endif()

# results/README.md says what the program is made from.
add_executable(doc_tables support/doc_tables.c)
target_link_libraries(doc_tables PRIVATE ss_analysis ss_options)
add_test(NAME doc_tables
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/scripts/doc_tables.sh
        $<TARGET_FILE:doc_tables>)
set_tests_properties(doc_tables PROPERTIES LABELS script TIMEOUT 30)
