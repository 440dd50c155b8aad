# SPDX-License-Identifier: Apache-2.0
include(${CMAKE_CURRENT_SOURCE_DIR}/support/fuzz.cmake)
ss_unit_test(test_model USES plan)
ss_unit_test(test_model_file USES plan)
ss_unit_test(test_layout USES plan)
ss_unit_test(test_plan_run USES plan SOURCES unit/test_plan_run.c
    support/plan_interp.c support/plan_reference.c)
ss_unit_test(test_plan USES plan)
ss_unit_test(test_plan_order USES plan)
ss_unit_test(test_plan_tokens USES plan)
ss_unit_test(test_plan_totals USES plan)
ss_unit_test(test_plan_validate USES plan)
ss_unit_test(test_plan_text USES plan)
ss_fuzz_test(fuzz_model CORPUS model USES plan)
