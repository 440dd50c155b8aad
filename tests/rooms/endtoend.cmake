# SPDX-License-Identifier: Apache-2.0
# End to end: the program as users start it, with bad input, kills, signals,
# several hosts and a terminal.
find_program(SS_BATS bats)
find_program(SS_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)

# ss_e2e_test(NAME COMMAND ... [TIMEOUT s] [LABEL l] [ALONE])
# ALONE: it keeps both cores busy, or its bounds want them; others mostly wait
# for deadlines and may do so side by side.
function(ss_e2e_test name)
    cmake_parse_arguments(A "ALONE" "TIMEOUT;LABEL" "COMMAND" ${ARGN})
    set(processors 1)
    if(A_ALONE)
        set(processors 2)
    endif()
    if(NOT A_LABEL)
        set(A_LABEL e2e)
    endif()
    add_test(NAME e2e_${name} COMMAND ${A_COMMAND})
    set_tests_properties(e2e_${name} PROPERTIES LABELS ${A_LABEL}
        TIMEOUT ${A_TIMEOUT} PROCESSORS ${processors} SKIP_RETURN_CODE 77 ENVIRONMENT
        "SS_PROGRAM=$<TARGET_FILE:stepscale>;SS_WRITE_PARTS=$<TARGET_FILE:write_parts>;SS_KILL_SHIM=$<TARGET_FILE:kill_shim>;SS_THREAD_JOB=$<TARGET_FILE:thread_job>;NO_LOCKS=$<TARGET_FILE:no_locks>")
endfunction()

add_library(no_locks MODULE support/no_locks.c)
target_compile_definitions(no_locks PRIVATE _GNU_SOURCE)
target_link_libraries(no_locks PRIVATE ${CMAKE_DL_LIBS} ss_options)

# Many points in one process: the sweep over the threads runtime.
add_executable(thread_job ${CMAKE_CURRENT_LIST_DIR}/../endtoend/thread_job.c)
target_link_libraries(thread_job PRIVATE ss_sweep ss_options)

if(TARGET stepscale)
    set(e2e ${CMAKE_CURRENT_LIST_DIR}/../endtoend)
    set(scripts ${CMAKE_CURRENT_LIST_DIR}/../scripts)
    if(SS_BATS)
        foreach(name bad_input bad_files bad_surroundings terminal help)
            ss_e2e_test(${name} TIMEOUT 400
                COMMAND ${SS_BATS} ${scripts}/${name}.bats)
        endforeach()
    endif()
    if(SS_PYTHON)
        ss_e2e_test(stop TIMEOUT 300 COMMAND ${SS_PYTHON} ${e2e}/stop.py)
        ss_e2e_test(disks TIMEOUT 400 COMMAND ${SS_PYTHON} ${e2e}/disks.py)
        ss_e2e_test(validate TIMEOUT 300
            COMMAND ${SS_PYTHON} ${e2e}/validate.py)
        ss_e2e_test(resume TIMEOUT 300
            COMMAND ${SS_PYTHON} ${e2e}/resume.py)
        ss_e2e_test(probe_facts ALONE TIMEOUT 300
            COMMAND ${SS_PYTHON} ${e2e}/probe_facts.py)
        ss_e2e_test(launcher TIMEOUT 300
            COMMAND ${SS_PYTHON} ${e2e}/launcher.py)
        # every k alone, every 50th under mpirun; all of them: tests/full/kills
        ss_e2e_test(kills_solo TIMEOUT 200
            COMMAND ${SS_PYTHON} ${e2e}/kills.py writer 1 1)
        ss_e2e_test(kills_threads ALONE TIMEOUT 300
            COMMAND ${SS_PYTHON} ${e2e}/kills.py threads 6 25)
        ss_e2e_test(kills_mpi ALONE TIMEOUT 300
            COMMAND ${SS_PYTHON} ${e2e}/kills.py writer 4 50)
        ss_e2e_test(kills_random TIMEOUT 200
            COMMAND ${SS_PYTHON} ${e2e}/kills.py random 6)
        # who was killed; 20 of each engine: tests/full/kills
        ss_e2e_test(lost TIMEOUT 200
            COMMAND ${SS_PYTHON} ${e2e}/lost.py 2)
        # 20,000 of them: tests/run --full mutations
        ss_e2e_test(mutations ALONE TIMEOUT 300
            COMMAND ${SS_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/../full/mutations
                $<TARGET_FILE:stepscale> 60)
        ss_e2e_test(mutations_full ALONE TIMEOUT 3600 LABEL full
            COMMAND ${SS_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/../full/mutations
                $<TARGET_FILE:stepscale>)
        ss_e2e_test(kills_full ALONE TIMEOUT 3600 LABEL full
            COMMAND ${CMAKE_CURRENT_LIST_DIR}/../full/kills)
    endif()
    ss_e2e_test(cluster_run ALONE TIMEOUT 300
        COMMAND ${e2e}/cluster_run.sh $<TARGET_FILE:stepscale>)
    set_tests_properties(e2e_cluster_run PROPERTIES LABELS "e2e;cluster")
    if(SS_PYTHON AND NOT SS_SANITIZE AND NOT MPI_EXECUTABLE_SUFFIX)
        # A second build, against MPICH.
        ss_e2e_test(mpich ALONE TIMEOUT 500
            COMMAND ${e2e}/mpich.sh ${CMAKE_SOURCE_DIR}
                ${CMAKE_BINARY_DIR}/mpich $<TARGET_FILE:stepscale>)
    endif()
    if(SS_PYTHON)
        # a real Slurm, and every way in which a job can end
        set(slurm_label "e2e;cluster")
        if(SS_SANITIZE) # slow ranks, and Slurm's own deadlines
            set(slurm_label full)
        endif()
        ss_e2e_test(cluster_slurm ALONE TIMEOUT 400
            COMMAND ${SS_PYTHON} ${e2e}/cluster_slurm.py)
        ss_e2e_test(cluster_ends ALONE TIMEOUT 400
            COMMAND ${SS_PYTHON} ${e2e}/cluster_ends.py --jobs 4 each)
        set_tests_properties(e2e_cluster_slurm PROPERTIES
            LABELS "${slurm_label}")
        set_tests_properties(e2e_cluster_ends PROPERTIES LABELS "e2e;cluster")
        ss_e2e_test(cluster_full ALONE TIMEOUT 3600 LABEL full
            COMMAND ${CMAKE_CURRENT_LIST_DIR}/../full/cluster)
    endif()
endif()
