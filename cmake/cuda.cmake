# Enables CUDA as ORRERY_CUDA says and sets ORRERY_HAS_CUDA. The compiler is CUDACXX, nvcc on the
# path, or the toolkit's usual place. Nothing here is required on machines without nvcc.
set(ORRERY_HAS_CUDA OFF)
set(ORRERY_CUDA_COMPILE_OPTIONS)
string(TOUPPER "${ORRERY_CUDA}" ORRERY_CUDA)
if(NOT ORRERY_CUDA MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR "ORRERY_CUDA is AUTO, ON or OFF, not ${ORRERY_CUDA}")
endif()
if(ORRERY_CUDA STREQUAL "OFF" OR (ORRERY_FUZZ AND NOT ORRERY_TESTS))
    return()
endif()

if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    find_program(ORRERY_NVCC nvcc HINTS "$ENV{CUDA_HOME}/bin" "$ENV{CUDA_PATH}/bin"
                                        /usr/local/cuda/bin /opt/cuda/bin)
    if(ORRERY_NVCC)
        set(CMAKE_CUDA_COMPILER "${ORRERY_NVCC}")
    endif()
endif()
# Another host compiler than g++ is used for what it is good at (clang: fuzzing), without CUDA.
if(CMAKE_CUDA_COMPILER AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(CMAKE_CUDA_HOST_COMPILER "${CMAKE_CXX_COMPILER}")
endif()
# Where a GPU is: code of sm_80 and sm_90a, and PTX of sm_80, which other devices compile when they
# load it. Elsewhere that PTX is enough, in half the time. Sources with Hopper's own instructions
# are compiled for sm_90a, too (ORRERY_HOPPER_OPTIONS): only that checks the instructions.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(architectures 80-virtual)
    if(EXISTS /dev/nvidiactl)
        set(architectures 80 90a-real)
    endif()
    set(CMAKE_CUDA_ARCHITECTURES ${architectures} CACHE STRING "CUDA architectures")
endif()
set(ORRERY_HOPPER_OPTIONS)
if(CMAKE_CUDA_ARCHITECTURES STREQUAL 80-virtual)
    set(ORRERY_HOPPER_OPTIONS --generate-code=arch=compute_90a,code=[sm_90a])
endif()
include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
    if(ORRERY_CUDA STREQUAL "ON")
        message(FATAL_ERROR "ORRERY_CUDA is ON, but nvcc is not on the path, nor in /usr/local/cuda")
    endif()
    message(STATUS "nvcc was not found: without CUDA kernels")
    return()
endif()

enable_language(CUDA)
# CMake before 3.26 does not know that nvcc has C++20.
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
endif()
set(CMAKE_CUDA_STANDARD 20)
if(ORRERY_CCACHE)
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${ORRERY_LAUNCHER})
endif()
# No multiply-add behind our back: an explicit fma() is one, everything else gives the bits that
# the host gives.
set(ORRERY_CUDA_COMPILE_OPTIONS --fmad=false --expt-relaxed-constexpr -Wno-deprecated-gpu-targets
    -Werror=all-warnings
    -Xcompiler=-Wall,-Wextra,-Wno-missing-field-initializers,-Wno-unknown-pragmas,-ffp-contract=off)
set(ORRERY_HAS_CUDA ON)
