# SPDX-License-Identifier: Apache-2.0
ss_unit_test(test_sweep USES sweep)
ss_unit_test(test_between USES sweep LIBS m)
