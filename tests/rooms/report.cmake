# SPDX-License-Identifier: Apache-2.0
include(${CMAKE_CURRENT_SOURCE_DIR}/support/fuzz.cmake)
# here and not with the store: what the reader lets pass is reported too
ss_fuzz_test(fuzz_store_content CORPUS store_content
    USES report cluster store store_sample
    ARGS -detect_leaks=0 -len_control=0) # libhdf5 keeps its free lists
foreach(name test_report_text test_report_json)
    ss_unit_test(${name} USES report
        SOURCES unit/${name}.c support/report_case.c)
endforeach()
add_test(NAME report_formats
    COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/scripts/report_formats.py
        ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/report/report.json
        ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/report/report.csv)
set_tests_properties(report_formats PROPERTIES LABELS script TIMEOUT 30)
