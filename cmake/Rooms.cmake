# SPDX-License-Identifier: Apache-2.0
# Warnings and sanitizers of every target of ours.
add_library(ss_options INTERFACE)
target_compile_definitions(ss_options INTERFACE _GNU_SOURCE)
target_compile_options(ss_options INTERFACE -Wall -Wextra -Wshadow -Wconversion
    -Wvla -Wformat=2 -Wstrict-prototypes -Wmissing-prototypes
    -fno-common $<$<CONFIG:RelWithDebInfo>:-O2>)
option(SS_WERROR "warnings are errors" ON)
if(SS_WERROR)
    target_compile_options(ss_options INTERFACE -Werror)
endif()
if(SS_SANITIZE)
    target_compile_options(ss_options INTERFACE
        -fsanitize=${SS_SANITIZE} -fno-omit-frame-pointer)
    target_link_options(ss_options INTERFACE -fsanitize=${SS_SANITIZE})
endif()

# ss_room(NAME [USES room...] [LIBS target...] SOURCES file...)
# A static library ss_NAME. Only the folders of the rooms it uses are on its
# include path (under build/rooms), so a wrong include does not compile.
function(ss_room name)
    cmake_parse_arguments(A "" "" "USES;LIBS;SOURCES" ${ARGN})
    set(view ${CMAKE_BINARY_DIR}/rooms/${name})
    file(MAKE_DIRECTORY ${view})
    file(CREATE_LINK ${CMAKE_SOURCE_DIR}/src/${name} ${view}/${name} SYMBOLIC)
    add_library(ss_${name} STATIC ${A_SOURCES})
    target_include_directories(ss_${name} PUBLIC ${view})
    target_link_libraries(ss_${name} PRIVATE ss_options)
    foreach(used ${A_USES})
        target_link_libraries(ss_${name} PUBLIC ss_${used})
    endforeach()
    target_link_libraries(ss_${name} PUBLIC ${A_LIBS})
endfunction()

# ss_unit_test(NAME USES room... [LIBS target...] [SOURCES file...])
# tests/unit/NAME.c (or SOURCES) as one cmocka program, label unit.
function(ss_unit_test name)
    cmake_parse_arguments(A "" "TIMEOUT;LABEL" "USES;LIBS;SOURCES;ARGS" ${ARGN})
    if(NOT A_SOURCES)
        set(A_SOURCES unit/${name}.c)
    endif()
    if(NOT A_TIMEOUT)
        set(A_TIMEOUT 60)
    endif()
    if(NOT A_LABEL)
        set(A_LABEL unit)
    endif()
    add_executable(${name} ${A_SOURCES})
    foreach(used ${A_USES})
        target_link_libraries(${name} PRIVATE ss_${used})
    endforeach()
    target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
    target_link_libraries(${name} PRIVATE ss_options cmocka ${A_LIBS})
    add_test(NAME ${name} COMMAND ${name} ${A_ARGS}
        WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set_tests_properties(${name} PROPERTIES TIMEOUT ${A_TIMEOUT}
        LABELS ${A_LABEL} SKIP_RETURN_CODE 77)
endfunction()

# ss_mpi_test(NAME NP counts... USES room... [SOURCES file...])
# tests/mpi/NAME.c under mpirun at each count, label mpi.
function(ss_mpi_test name)
    cmake_parse_arguments(A "" "TIMEOUT" "NP;USES;LIBS;SOURCES" ${ARGN})
    if(NOT A_SOURCES)
        set(A_SOURCES mpi/${name}.c)
    endif()
    if(NOT A_TIMEOUT)
        set(A_TIMEOUT 60)
    endif()
    add_executable(${name} ${A_SOURCES})
    foreach(used ${A_USES})
        target_link_libraries(${name} PRIVATE ss_${used})
    endforeach()
    target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
    target_link_libraries(${name} PRIVATE ss_options cmocka ${A_LIBS})
    foreach(np ${A_NP})
        add_test(NAME ${name}_np${np}
            COMMAND ${CMAKE_SOURCE_DIR}/tests/support/mpirun ${np}
                $<TARGET_FILE:${name}>
            WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
        set_tests_properties(${name}_np${np} PROPERTIES TIMEOUT ${A_TIMEOUT}
            LABELS mpi PROCESSORS 2 SKIP_RETURN_CODE 77
            ENVIRONMENT TEST_MPIEXEC=${MPIEXEC_EXECUTABLE})
    endforeach()
endfunction()
