# SPDX-License-Identifier: Apache-2.0
foreach(name test_report_text test_report_json)
    ss_unit_test(${name} USES report
        SOURCES unit/${name}.c support/report_case.c)
endforeach()
add_test(NAME report_formats
    COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/scripts/report_formats.py
        ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/report/report.json
        ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/report/report.csv)
set_tests_properties(report_formats PROPERTIES LABELS script TIMEOUT 30)
