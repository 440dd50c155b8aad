# SPDX-License-Identifier: Apache-2.0
ss_unit_test(test_model USES plan)
ss_unit_test(test_model_file USES plan)
ss_unit_test(test_layout USES plan)
