# SPDX-License-Identifier: Apache-2.0
ss_unit_test(test_net_counters USES health LIBS ss_store_sample)
ss_unit_test(test_ports USES health analysis)
ss_unit_test(test_local USES health LIBS ss_store_sample)
