# SPDX-License-Identifier: Apache-2.0
include_guard(GLOBAL)
option(SS_FUZZ "build fuzz targets with libFuzzer (needs clang)" OFF)
set(SS_FUZZ_SECONDS 60 CACHE STRING "seconds a fuzz target runs")

# A fuzzing build: cmake -DCMAKE_C_COMPILER=clang -DSS_FUZZ=ON
#   -DSS_SANITIZE=address,undefined,fuzzer-no-link
#
# ss_fuzz_test(NAME CORPUS folder USES room... [ARGS option...])
# tests/fuzz/NAME.c. With SS_FUZZ a libFuzzer program that runs for
# SS_FUZZ_SECONDS from the corpus; else any compiler builds a program that
# replays the corpus (folder below tests/fixtures) once.
function(ss_fuzz_test name)
    cmake_parse_arguments(A "" "CORPUS" "USES;ARGS" ${ARGN})
    set(corpus ${CMAKE_SOURCE_DIR}/tests/fixtures/${A_CORPUS})
    add_executable(${name} ${CMAKE_SOURCE_DIR}/tests/fuzz/${name}.c)
    foreach(used ${A_USES})
        target_link_libraries(${name} PRIVATE ss_${used})
    endforeach()
    target_link_libraries(${name} PRIVATE ss_options)
    if(SS_FUZZ)
        target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
        target_link_options(${name} PRIVATE -fsanitize=fuzzer)
        set(work ${CMAKE_CURRENT_BINARY_DIR}/${name}.corpus)
        file(MAKE_DIRECTORY ${work})
        set(args -max_total_time=${SS_FUZZ_SECONDS} -max_len=4096
            -timeout=10 ${A_ARGS} ${work} ${corpus})
    else()
        target_sources(${name} PRIVATE
            ${CMAKE_SOURCE_DIR}/tests/fuzz/replay_main.c)
        set(args ${corpus})
    endif()
    add_test(NAME ${name} COMMAND ${name} ${args}
        WORKING_DIRECTORY ${CMAKE_BINARY_DIR})
    math(EXPR limit "${SS_FUZZ_SECONDS} + 60")
    set_tests_properties(${name} PROPERTIES TIMEOUT ${limit} LABELS fuzz)
endfunction()
