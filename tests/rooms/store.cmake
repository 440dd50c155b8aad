# SPDX-License-Identifier: Apache-2.0
add_library(ss_store_sample STATIC support/store_sample.c
    support/store_folder.c)
target_include_directories(ss_store_sample PUBLIC ${CMAKE_CURRENT_LIST_DIR}/..)
target_link_libraries(ss_store_sample PUBLIC ss_store PRIVATE ss_options)

ss_unit_test(test_store USES store LIBS ss_store_sample)

add_executable(write_parts support/write_parts.c)
target_link_libraries(write_parts PRIVATE ss_store_sample ss_options)
