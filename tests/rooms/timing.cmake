# SPDX-License-Identifier: Apache-2.0
ss_unit_test(test_stats USES timing base LIBS m)
ss_unit_test(test_stats_many USES timing base LIBS m)
ss_unit_test(test_sim_intervals USES timing base LIBS m TIMEOUT 120)
