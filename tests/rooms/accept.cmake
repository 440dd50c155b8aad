# SPDX-License-Identifier: Apache-2.0
# Acceptance: the program itself under real MPI, judged by Python programs that
# know the design and not the sources.
find_program(SS_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(TARGET stepscale AND SS_PYTHON)
    foreach(name planted recompute order)
        add_test(NAME accept_${name}
            COMMAND ${SS_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/../accept/${name}.py
                $<TARGET_FILE:stepscale>)
        set_tests_properties(accept_${name} PROPERTIES LABELS accept
            TIMEOUT 900 PROCESSORS 2)
    endforeach()
    add_test(NAME real_clock
        COMMAND ${SS_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/../full/real_clock
            $<TARGET_FILE:stepscale>)
    set_tests_properties(real_clock PROPERTIES LABELS full TIMEOUT 600
        PROCESSORS 2)
endif()
