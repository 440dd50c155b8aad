# SPDX-License-Identifier: Apache-2.0
include(${CMAKE_CURRENT_SOURCE_DIR}/support/fuzz.cmake)
ss_unit_test(test_base_mem USES base)
ss_unit_test(test_base_str USES base)
ss_unit_test(test_base_units USES base)
ss_unit_test(test_base_random USES base LIBS m)
ss_unit_test(test_base_log USES base)
ss_fuzz_test(fuzz_units CORPUS units USES base)
