# SPDX-License-Identifier: Apache-2.0
# The cuda engine is optional: it wants nvcc, the CUDA runtime, cuBLASLt and
# NCCL. What is missing is said once, and the build goes on without it.
set(SS_HAVE_CUDA OFF)
if(NOT SS_CUDA)
    return()
endif()
set(CUDAToolkit_ROOT_HINTS $ENV{CUDA_HOME} $ENV{CUDA_PATH} /usr/local/cuda)
find_package(CUDAToolkit 12.0 QUIET)
find_program(SS_NVCC nvcc HINTS ${CUDAToolkit_BIN_DIR} PATH_SUFFIXES bin
    PATHS ${CUDAToolkit_ROOT_HINTS})
find_path(NCCL_INCLUDE_DIR nccl.h
    HINTS $ENV{NCCL_HOME} $ENV{NCCL_ROOT} ${CUDAToolkit_INCLUDE_DIRS}
    PATHS ${CUDAToolkit_ROOT_HINTS} PATH_SUFFIXES include)
find_library(NCCL_LIBRARY NAMES nccl libnccl.so.2
    HINTS $ENV{NCCL_HOME} $ENV{NCCL_ROOT} ${CUDAToolkit_LIBRARY_DIR}
    PATHS ${CUDAToolkit_ROOT_HINTS} PATH_SUFFIXES lib lib64)
if(NOT CUDAToolkit_FOUND OR NOT SS_NVCC OR NOT TARGET CUDA::cublasLt)
    message(STATUS "cuda engine: not built (no CUDA 12 or newer with cuBLASLt)")
    return()
endif()
if(NOT NCCL_INCLUDE_DIR OR NOT NCCL_LIBRARY)
    message(STATUS "cuda engine: not built (no NCCL; set NCCL_HOME)")
    return()
endif()
file(STRINGS ${NCCL_INCLUDE_DIR}/nccl.h nccl_lines
    REGEX "^#define NCCL_(MAJOR|MINOR|PATCH) +[0-9]+")
list(JOIN nccl_lines " " nccl_lines)
string(REGEX REPLACE
    ".*MAJOR +([0-9]+).*MINOR +([0-9]+).*PATCH +([0-9]+).*" "\\1.\\2.\\3"
    nccl_version "${nccl_lines}")
if(nccl_version VERSION_LESS 2.18)
    message(STATUS "cuda engine: not built (NCCL ${nccl_version}, 2.18 wanted)")
    return()
endif()
set(SS_HAVE_CUDA ON)
set(SS_BUILD_CUDA "${CUDAToolkit_VERSION}")
set(SS_BUILD_NCCL "${nccl_version}")
message(STATUS "cuda engine: CUDA ${SS_BUILD_CUDA}, NCCL ${SS_BUILD_NCCL}")

# Machine code for what people run, and PTX for what comes later.
set(architectures 80 90)
if(CUDAToolkit_VERSION VERSION_LESS 13.0)
    list(PREPEND architectures 70)
endif()
if(CUDAToolkit_VERSION VERSION_GREATER_EQUAL 12.8)
    list(APPEND architectures 100)
endif()
set(SS_CUDA_ARCHITECTURES "${architectures}" CACHE STRING
    "compute capabilities that kernels are compiled for, e.g. 90")

add_library(ss_cudart INTERFACE)
target_include_directories(ss_cudart SYSTEM INTERFACE
    ${CUDAToolkit_INCLUDE_DIRS})
target_link_libraries(ss_cudart INTERFACE CUDA::cudart_static)
# cuBLASLt and NCCL are loaded when the engine opens; where they lie here is
# where they are looked for first.
get_filename_component(nccl_folder ${NCCL_LIBRARY} DIRECTORY)
add_library(ss_accelerator INTERFACE)
target_include_directories(ss_accelerator SYSTEM INTERFACE ${NCCL_INCLUDE_DIR})
target_link_options(ss_accelerator INTERFACE
    -Wl,-rpath,${CUDAToolkit_LIBRARY_DIR}:${nccl_folder})

# ss_nvcc_object(FILE.cu OUT): one object file. Not CMake's CUDA language: that
# would make every program's linker that of CUDA.
function(ss_nvcc_object source out)
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${source}.o)
    set(code)
    foreach(cc ${SS_CUDA_ARCHITECTURES})
        list(APPEND code -gencode=arch=compute_${cc},code=sm_${cc})
    endforeach()
    list(GET SS_CUDA_ARCHITECTURES -1 newest)
    list(APPEND code
        -gencode=arch=compute_${newest},code=compute_${newest})
    add_custom_command(OUTPUT ${object}
        COMMAND ${SS_NVCC} -c -O3 -lineinfo -std=c++17 ${code}
            -Xcompiler=-fPIC,-fno-exceptions,-Wall,-Wextra
            -I${CMAKE_BINARY_DIR}/rooms/kernels
            -I${CMAKE_BINARY_DIR}/rooms/base
            -MD -MF ${object}.d -o ${object}
            ${CMAKE_CURRENT_SOURCE_DIR}/${source}
        DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${source}
        DEPFILE ${object}.d
        COMMENT "nvcc ${source}" VERBATIM)
    set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT TRUE
        GENERATED TRUE)
    set(${out} ${object} PARENT_SCOPE)
endfunction()
