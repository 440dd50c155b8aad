# SPDX-License-Identifier: Apache-2.0
ss_unit_test(test_localise USES probe
    SOURCES unit/test_localise.c support/sim_pairs.c TIMEOUT 120)
