# Finds CUDA, and the headers of NCCL, CUPTI and cuBLAS. Only src/nvidia includes it, and only with
# NCCLPROBE_NVIDIA. Searches NCCLPROBE_CUDA_ROOT, $CUDA_HOME, /usr/local/cuda, then the system's own folders
# (Debian's nvidia-cuda-toolkit). NCCLPROBE_CUDA_ROOT may also be the folder of pip's wheels
# (.../site-packages/nvidia/cu13). Libraries other than the CUDA runtime are loaded at run time, so only their
# headers are needed here.
set(NCCLPROBE_CUDA_ROOT "" CACHE PATH "CUDA toolkit, or the folder of its pip wheels")
set(NCCLPROBE_CUDA_ARCHS "" CACHE STRING
    "Compute capabilities to build for, such as \"90\" or \"80;90\"; empty: all that are supported")

set(nvidia_off "or configure without the NVIDIA backend: -DNCCLPROBE_NVIDIA=OFF")

set(cuda_roots "")
foreach(root "${NCCLPROBE_CUDA_ROOT}" "$ENV{CUDA_HOME}" /usr/local/cuda)
  if(root AND IS_DIRECTORY "${root}")
    list(APPEND cuda_roots "${root}")
  endif()
endforeach()
# Wheels put each component into its own folder beside the toolkit's.
set(cuda_places "")
foreach(root ${cuda_roots})
  list(APPEND cuda_places "${root}" "${root}/cuda_runtime" "${root}/cuda_nvcc" "${root}/nccl"
       "${root}/cuda_cupti" "${root}/cublas" "${root}/../cublas" "${root}/../nccl" "${root}/../cuda_cupti" "${root}/extras/CUPTI"
       "${root}/targets/${CMAKE_SYSTEM_PROCESSOR}-linux")
endforeach()

# The compiler, before enable_language(): nvcc is often not on PATH.
if(NOT CMAKE_CUDA_COMPILER)
  find_program(NCCLPROBE_NVCC nvcc HINTS ${cuda_places} PATH_SUFFIXES bin NO_DEFAULT_PATH)
  find_program(NCCLPROBE_NVCC nvcc)
  mark_as_advanced(NCCLPROBE_NVCC)
  if(NOT NCCLPROBE_NVCC)
    message(FATAL_ERROR "NCCLPROBE_NVIDIA is ON, but nvcc was not found (searched NCCLPROBE_CUDA_ROOT, "
                        "CUDA_HOME, /usr/local/cuda and PATH). Install the CUDA toolkit or set "
                        "-DNCCLPROBE_CUDA_ROOT=..., ${nvidia_off}")
  endif()
  set(CMAKE_CUDA_COMPILER ${NCCLPROBE_NVCC})
endif()

# Architectures: machine code for each, and PTX of the newest for future GPUs. An older nvcc does
# not know the newest ones.
execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --list-gpu-arch OUTPUT_VARIABLE known_architectures
                RESULT_VARIABLE nvcc_failed ERROR_VARIABLE nvcc_words)
if(nvcc_failed)
  message(FATAL_ERROR "NCCLPROBE_NVIDIA is ON, but ${CMAKE_CUDA_COMPILER} does not run: ${nvcc_words}; "
                      "repair it or set -DNCCLPROBE_CUDA_ROOT=..., ${nvidia_off}")
endif()
set(wanted_architectures ${NCCLPROBE_CUDA_ARCHS})
if(NOT wanted_architectures)
  set(wanted_architectures 75 80 86 89 90 100 120)
endif()
set(architectures "")
foreach(architecture ${wanted_architectures})
  if(known_architectures MATCHES "compute_${architecture}(\n|$)")
    list(APPEND architectures ${architecture})
  elseif(NCCLPROBE_CUDA_ARCHS)
    message(FATAL_ERROR "NCCLPROBE_CUDA_ARCHS names ${architecture}, which ${CMAKE_CUDA_COMPILER} does not "
                        "know; use a newer CUDA toolkit or remove it, ${nvidia_off}")
  endif()
endforeach()
list(SORT architectures COMPARE NATURAL)
list(GET architectures -1 newest_architecture)
set(CMAKE_CUDA_ARCHITECTURES ${architectures})
list(REMOVE_ITEM CMAKE_CUDA_ARCHITECTURES ${newest_architecture})
list(TRANSFORM CMAKE_CUDA_ARCHITECTURES APPEND "-real")
list(APPEND CMAKE_CUDA_ARCHITECTURES ${newest_architecture}) # machine code and PTX

# An older nvcc accepts no g++ newer than itself, and reports that only deep in CMake's output.
execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --version OUTPUT_VARIABLE nvcc_words)
string(REGEX MATCH "release ([0-9]+\\.[0-9]+)" nvcc_release "${nvcc_words}")
set(nvcc_release "${CMAKE_MATCH_1}")
if(NOT nvcc_release)
  message(FATAL_ERROR "NCCLPROBE_NVIDIA is ON, but ${CMAKE_CUDA_COMPILER} --version names no release of CUDA. "
                      "Is it nvcc? Set -DNCCLPROBE_CUDA_ROOT=..., ${nvidia_off}")
endif()
if(nvcc_release VERSION_LESS 11.8)
  message(FATAL_ERROR "NCCLPROBE_NVIDIA is ON, but ${CMAKE_CUDA_COMPILER} is CUDA ${nvcc_release}, and "
                      "11.8 or later is needed. Install a newer toolkit and set "
                      "-DNCCLPROBE_CUDA_ROOT=..., ${nvidia_off}")
endif()
# All ways to name another g++; launch/preset.sh knows those of the environment.
set(cuda_host_compiler "${CMAKE_CUDA_HOST_COMPILER}$ENV{CUDAHOSTCXX}$ENV{NVCC_CCBIN}")
set(nvcc_flags "${CMAKE_CUDA_FLAGS} $ENV{CUDAFLAGS} $ENV{NVCC_PREPEND_FLAGS} $ENV{NVCC_APPEND_FLAGS}")
if(nvcc_release VERSION_LESS 12.0 AND NOT cuda_host_compiler AND NOT nvcc_flags MATCHES "-ccbin|--compiler-bindir")
  execute_process(COMMAND g++ -dumpversion OUTPUT_VARIABLE gxx_version OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(gxx_version VERSION_GREATER_EQUAL 12)
    message(FATAL_ERROR "NCCLPROBE_NVIDIA is ON, but nvcc of CUDA ${nvcc_release} needs g++ 11 or older, and g++ here "
                        "is ${gxx_version}. Install g++-11 and set -DCMAKE_CUDA_HOST_COMPILER=g++-11, which "
                        "only compiles *.cu files, or use a newer CUDA toolkit, ${nvidia_off}")
  endif()
endif()

enable_language(CUDA)
set(CMAKE_CUDA_STANDARD 17) # the newest that CUDA 11 reads; only *.cu files and their headers
set(CMAKE_CUDA_STANDARD_REQUIRED ON)

# ncclprobe_find_nvidia(header|library <variable> <file> <what> <package hint>): beside the compiler
# that was chosen first, so that versions match.
get_filename_component(nvcc_real ${CMAKE_CUDA_COMPILER} REALPATH)
get_filename_component(nvcc_bin ${nvcc_real} DIRECTORY)
get_filename_component(nvcc_root ${nvcc_bin} DIRECTORY)
list(APPEND cuda_places "${nvcc_root}" "${nvcc_root}/targets/${CMAKE_SYSTEM_PROCESSOR}-linux"
     "${nvcc_root}/extras/CUPTI")
function(ncclprobe_find_nvidia kind variable file what hint)
  if(kind STREQUAL "header")
    find_path(${variable} ${file} HINTS ${cuda_places} PATH_SUFFIXES include NO_DEFAULT_PATH)
    find_path(${variable} ${file})
  else()
    find_library(${variable} ${file} HINTS ${cuda_places}
                 PATH_SUFFIXES lib64 lib lib/${CMAKE_LIBRARY_ARCHITECTURE} NO_DEFAULT_PATH)
    find_library(${variable} ${file})
  endif()
  mark_as_advanced(${variable})
  if(NOT ${variable})
    message(FATAL_ERROR "NCCLPROBE_NVIDIA is ON, but ${what} was not found beside "
                        "${CMAKE_CUDA_COMPILER} or in the system's folders. ${hint} or set -D${variable}=..., "
                        "${nvidia_off}")
  endif()
endfunction()
ncclprobe_find_nvidia(header NCCLPROBE_CUDART_INCLUDE cuda_runtime_api.h "cuda_runtime_api.h"
                      "Install the CUDA runtime's development package (cuda-cudart-dev)")
ncclprobe_find_nvidia(library NCCLPROBE_CUDART_STATIC libcudart_static.a "libcudart_static.a"
                      "Install the CUDA runtime's development package (cuda-cudart-dev)")
ncclprobe_find_nvidia(header NCCLPROBE_NCCL_INCLUDE nccl.h "nccl.h" "Install libnccl-dev")
ncclprobe_find_nvidia(header NCCLPROBE_CUPTI_INCLUDE cupti.h "cupti.h"
                      "Install CUPTI's development package (cuda-cupti-dev)")
ncclprobe_find_nvidia(header NCCLPROBE_CUBLAS_INCLUDE cublasLt.h "cublasLt.h"
                      "Install cuBLAS's development package (libcublas-dev)")

# Include folders of the NVIDIA backend's sources and tests. Warnings in the vendor's headers are not ours.
add_library(ncclprobe_nvidia_headers INTERFACE)
target_include_directories(ncclprobe_nvidia_headers SYSTEM INTERFACE
  ${NCCLPROBE_CUDART_INCLUDE} ${NCCLPROBE_NCCL_INCLUDE} ${NCCLPROBE_CUPTI_INCLUDE}
  ${NCCLPROBE_CUBLAS_INCLUDE})

# For the summary that CMake prints at the end, and for what `--version` says of the backend.
function(ncclprobe_header_version variable file pattern)
  set(numbers "")
  if(EXISTS ${file})
    file(STRINGS ${file} numbers REGEX "#define ${pattern} ")
  endif()
  string(REGEX REPLACE "[^0-9;]" "" numbers "${numbers}")
  string(REPLACE ";" "." numbers "${numbers}")
  set(${variable} "${numbers}" CACHE INTERNAL "")
endfunction()
ncclprobe_header_version(NCCLPROBE_NCCL_VERSION ${NCCLPROBE_NCCL_INCLUDE}/nccl.h "NCCL_(MAJOR|MINOR|PATCH)")
ncclprobe_header_version(NCCLPROBE_CUPTI_VERSION ${NCCLPROBE_CUPTI_INCLUDE}/cupti_version.h "CUPTI_API_VERSION")
ncclprobe_header_version(NCCLPROBE_CUBLAS_VERSION ${NCCLPROBE_CUBLAS_INCLUDE}/cublas_api.h "CUBLAS_VER_(MAJOR|MINOR|PATCH)")
set(NCCLPROBE_CUDA_VERSION ${CMAKE_CUDA_COMPILER_VERSION} CACHE INTERNAL "")
list(JOIN architectures "," architectures)
set(NCCLPROBE_CUDA_ARCHITECTURES "${architectures}+PTX" CACHE INTERNAL "")
set(NCCLPROBE_NCCL_HEADER "${NCCLPROBE_NCCL_INCLUDE}/nccl.h (${NCCLPROBE_NCCL_VERSION})" CACHE INTERNAL "")
set(NCCLPROBE_CUPTI_HEADER "${NCCLPROBE_CUPTI_INCLUDE}/cupti.h" CACHE INTERNAL "")
