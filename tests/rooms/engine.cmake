# SPDX-License-Identifier: Apache-2.0
ss_unit_test(test_engine_list USES engine)
ss_unit_test(test_engine_null USES engine LIBS m
    SOURCES unit/test_engine_null.c support/engine_rig.c)
ss_unit_test(test_engine_faults USES engine
    SOURCES unit/test_engine_faults.c support/engine_rig.c)
