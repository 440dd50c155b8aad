# SPDX-License-Identifier: Apache-2.0
add_library(ss_store_sample STATIC support/store_sample.c
    support/store_folder.c support/h5_damage.c)
target_include_directories(ss_store_sample PUBLIC ${CMAKE_CURRENT_LIST_DIR}/..)
target_link_libraries(ss_store_sample PUBLIC ss_store PRIVATE ss_options)

ss_unit_test(test_store USES store LIBS ss_store_sample)
ss_unit_test(test_store_damage USES store LIBS ss_store_sample)
ss_unit_test(test_store_torture USES store LIBS ss_store_sample)
ss_unit_test(test_store_provenance USES store)

add_executable(write_parts support/write_parts.c)
target_link_libraries(write_parts PRIVATE ss_store_sample ss_options)
