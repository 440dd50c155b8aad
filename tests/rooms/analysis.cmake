# SPDX-License-Identifier: Apache-2.0
ss_unit_test(test_attribution USES analysis)
ss_unit_test(test_arrivals USES analysis)
ss_unit_test(test_analyse USES analysis
    SOURCES unit/test_analyse.c support/run_case.c)
ss_unit_test(test_stragglers USES analysis
    SOURCES unit/test_stragglers.c support/run_case.c TIMEOUT 120)
