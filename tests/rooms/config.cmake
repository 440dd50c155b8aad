# SPDX-License-Identifier: Apache-2.0
include(${CMAKE_CURRENT_SOURCE_DIR}/support/fuzz.cmake)
ss_unit_test(test_config USES config base)
ss_unit_test(test_config_dump USES config base)
ss_unit_test(test_config_values USES config base)
ss_unit_test(test_config_yaml USES config base)
ss_unit_test(test_config_sizes USES config base)
ss_fuzz_test(fuzz_config CORPUS config USES config base)
