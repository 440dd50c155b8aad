# SPDX-License-Identifier: Apache-2.0
ss_unit_test(test_gpu_peaks USES health LIBS m)
ss_unit_test(test_cuda_places USES engine)
ss_unit_test(test_gemm_cache USES engine)
if(SS_HAVE_CUDA)
    ss_unit_test(test_cuda_host USES engine LIBS m)
    ss_unit_test(test_cuda_fuse USES engine LIBS m)
    # The rest needs a device and is skipped, with the reason, without one.
    ss_unit_test(test_gpu_kernels USES engine LIBS m LABEL gpu TIMEOUT 120
        SOURCES gpu/test_gpu_kernels.c gpu/gpu_array.c)
    ss_unit_test(test_gpu_maps USES engine LIBS m LABEL gpu TIMEOUT 120
        SOURCES gpu/test_gpu_maps.c gpu/gpu_array.c)
    ss_mpi_test(test_gpu_engine NP 1 2 4 8 16 TIMEOUT 180 USES engine LIBS m
        SOURCES gpu/test_gpu_engine.c gpu/gpu_training.c
            support/rank_main.c
            support/engine_rig.c support/host_cases.c
            support/host_training.c)
    foreach(np 1 2 4 8 16)
        set_tests_properties(test_gpu_engine_np${np} PROPERTIES LABELS gpu
            RESOURCE_LOCK gpu)
    endforeach()
    # compute-sanitizer over every kernel, where it is installed
    add_test(NAME gpu_sanitize
        COMMAND ${CMAKE_SOURCE_DIR}/tests/gpu/sanitize
            $<TARGET_FILE:test_gpu_kernels> $<TARGET_FILE:test_gpu_maps>)
    set_tests_properties(gpu_sanitize PROPERTIES LABELS gpu TIMEOUT 300
        RESOURCE_LOCK gpu SKIP_RETURN_CODE 77)
endif()
