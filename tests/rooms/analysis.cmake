# SPDX-License-Identifier: Apache-2.0
include(${CMAKE_CURRENT_SOURCE_DIR}/support/fuzz.cmake)
ss_unit_test(test_attribution USES analysis)
ss_unit_test(test_arrivals USES analysis)
ss_unit_test(test_analyse USES analysis
    SOURCES unit/test_analyse.c support/curve_case.c support/run_case.c)
ss_unit_test(test_analyse_edges USES analysis
    SOURCES unit/test_analyse_edges.c support/curve_case.c support/run_case.c)
ss_unit_test(test_findings USES analysis
    SOURCES unit/test_findings.c support/run_case.c)
ss_unit_test(test_stragglers USES analysis
    SOURCES unit/test_stragglers.c support/run_case.c TIMEOUT 120)
ss_unit_test(test_startup USES analysis)
ss_unit_test(test_coll_rate USES analysis)
ss_unit_test(test_paths USES analysis)
ss_unit_test(test_rules USES analysis)
ss_unit_test(test_verdict USES analysis)
ss_fuzz_test(fuzz_rules CORPUS rules USES analysis)
