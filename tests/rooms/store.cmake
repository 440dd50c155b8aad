# SPDX-License-Identifier: Apache-2.0
add_library(ss_store_sample STATIC support/store_sample.c
    support/store_equal.c support/store_folder.c support/h5_damage.c
    support/h5_hostile.c support/h5_strange.c)
target_include_directories(ss_store_sample PUBLIC ${CMAKE_CURRENT_LIST_DIR}/..)
target_link_libraries(ss_store_sample PUBLIC ss_store PRIVATE ss_options)

include(${CMAKE_CURRENT_LIST_DIR}/../support/fuzz.cmake)
ss_fuzz_test(fuzz_store_read CORPUS store_fuzz USES store store_sample)
ss_unit_test(test_store USES store LIBS ss_store_sample)
ss_unit_test(test_store_claim USES store LIBS ss_store_sample)
ss_unit_test(test_store_damage TIMEOUT 180 USES store LIBS ss_store_sample)
ss_unit_test(test_store_torture USES store LIBS ss_store_sample)
ss_unit_test(test_store_provenance USES store)

# Programs that leave and read planted part folders, for scripts.
foreach(program write_parts read_parts)
    add_executable(${program} support/${program}.c)
    target_link_libraries(${program} PRIVATE ss_store_sample ss_options)
endforeach()
add_library(kill_shim MODULE support/kill_shim.c)
target_compile_definitions(kill_shim PRIVATE _GNU_SOURCE)
target_link_libraries(kill_shim PRIVATE ${CMAKE_DL_LIBS})

add_test(NAME test_h5py COMMAND /usr/bin/python3
    ${CMAKE_CURRENT_SOURCE_DIR}/scripts/test_h5py.py $<TARGET_FILE:write_parts>)
set_tests_properties(test_h5py PROPERTIES TIMEOUT 60 LABELS unit
    SKIP_RETURN_CODE 77)

add_test(NAME golden_h5dump COMMAND
    ${CMAKE_CURRENT_SOURCE_DIR}/scripts/golden_h5dump.sh
    $<TARGET_FILE:write_parts>
    ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/store/result.h5dump)
set_tests_properties(golden_h5dump PROPERTIES TIMEOUT 60 LABELS unit
    SKIP_RETURN_CODE 77)

# Every kill instant of a few points; tests/run --full: of 24.
set(SS_KILL_POINTS 5 CACHE STRING "points of the crash proof of the store")
set(kill_points ${SS_KILL_POINTS})
if(SS_SANITIZE) # start-up is slow, and kills are the same
    set(kill_points 2)
endif()
add_test(NAME kill_writer COMMAND
    ${CMAKE_CURRENT_SOURCE_DIR}/scripts/kill_writer.sh
    $<TARGET_FILE:kill_shim> $<TARGET_FILE:write_parts>
    $<TARGET_FILE:read_parts> ${kill_points})
set_tests_properties(kill_writer PROPERTIES TIMEOUT 600 LABELS e2e
    PROCESSORS 2)

add_executable(bench_store bench/bench_store.c)
target_link_libraries(bench_store PRIVATE ss_store_sample ss_options)
