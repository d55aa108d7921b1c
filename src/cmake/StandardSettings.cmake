# Language level, warnings and sanitizers for our own code.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()

option(NCCLPROBE_WERROR "Warnings are errors" OFF)
# Reading headers takes longer than anything else. Without precompiled headers, each source shows whether it
# includes what it uses.
option(NCCLPROBE_UNITY "Compile the sources of a library or test in groups" ON)
set(CMAKE_UNITY_BUILD_BATCH_SIZE 24)
option(NCCLPROBE_FUZZ "Build the fuzzers (clang only; see tests/fuzz/run.sh)" OFF)
option(NCCLPROBE_SANITIZE "Build with AddressSanitizer and UndefinedBehaviorSanitizer" OFF)

add_library(ncclprobe_settings INTERFACE)
target_compile_options(ncclprobe_settings INTERFACE
  # -pthread: some libraries need it, and the precompiled headers are valid only with the same
  # flags.
  $<$<COMPILE_LANGUAGE:CXX>:-pthread -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wno-missing-field-initializers>
  # g++ collects garbage less often: a fifth less time for large groups of sources, with 0.1 to 0.3 GB more memory
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<COMPILE_LANGUAGE:CXX>>:--param=ggc-min-heapsize=300000>
  # g++ 12 warns about overlaps in std::string's operator+ that do not exist (GCC bug 105651)
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>,$<COMPILE_LANGUAGE:CXX>>:-Wno-restrict>
  # and, when it optimises fully, about sizes there
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>,$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-Wno-stringop-overflow;-Wno-array-bounds>
  # in a group of sources, every file but the group's own looks like a header
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:${NCCLPROBE_UNITY}>,$<COMPILE_LANGUAGE:CXX>>:-Wno-subobject-linkage>
  # nor can its optimiser follow std::optional (GCC bug 80635)
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<NOT:$<CONFIG:Debug>>,$<COMPILE_LANGUAGE:CXX>>:-Wno-maybe-uninitialized>
  $<$<AND:$<BOOL:${NCCLPROBE_WERROR}>,$<COMPILE_LANGUAGE:CXX>>:-Werror>)
target_include_directories(ncclprobe_settings INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
# More than a hundred programs are linked, most of them tests.
find_program(NCCLPROBE_MOLD mold)
if(NCCLPROBE_MOLD AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 12.1)
  target_link_options(ncclprobe_settings INTERFACE $<$<LINK_LANGUAGE:CXX>:-fuse-ld=mold>)
endif()
if(NCCLPROBE_SANITIZE)
  target_compile_options(ncclprobe_settings INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer>)
  target_link_options(ncclprobe_settings INTERFACE -fsanitize=address,undefined)
endif()
if(NCCLPROBE_FUZZ)
  target_compile_options(ncclprobe_settings INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined>)
  target_link_options(ncclprobe_settings INTERFACE -fsanitize=address,undefined)
endif()
