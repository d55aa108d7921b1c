# A folder is a library, and it links only the layers that it may see (ARCHITECTURE.md).

# Compiled once for all libraries. Programs and tests are compiled with other options.
add_library(ncclprobe_headers OBJECT EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/precompiled.cpp)
target_link_libraries(ncclprobe_headers PRIVATE ncclprobe_settings fmt::fmt spdlog::spdlog tl::expected)
target_precompile_headers(ncclprobe_headers PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${CMAKE_CURRENT_LIST_DIR}/precompiled.h>)

# ncclprobe_library(<folder> SOURCES a.cpp ... LINKS base analysis/steps ... [PRIVATE_LINKS lib ...])
# LINKS: our own libraries by their folder (without src/), or imported targets that our headers need.
function(ncclprobe_library folder)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  string(REPLACE / _ name ${folder})
  add_library(ncclprobe_${name} STATIC ${ARG_SOURCES})
  set_target_properties(ncclprobe_${name} PROPERTIES UNITY_BUILD ${NCCLPROBE_UNITY})
  ncclprobe_link(ncclprobe_${name} PUBLIC ${ARG_LINKS})
  ncclprobe_link(ncclprobe_${name} PRIVATE ${ARG_PRIVATE_LINKS})
  target_link_libraries(ncclprobe_${name} PUBLIC ncclprobe_settings)
  # Only in the product: a test may narrow a number that it has chosen itself.
  target_compile_options(ncclprobe_${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wconversion>)
  target_precompile_headers(ncclprobe_${name} REUSE_FROM ncclprobe_headers)
  set_target_properties(ncclprobe_${name} PROPERTIES PCH_WARN_INVALID OFF) # then they are compiled as usual
endfunction()

# target_link_libraries that takes our folder names as well as other targets.
function(ncclprobe_link target visibility)
  foreach(library ${ARGN})
    if(library MATCHES "^[a-z0-9_/]+$" AND (EXISTS ${PROJECT_SOURCE_DIR}/src/${library}/CMakeLists.txt
                                            OR EXISTS ${PROJECT_SOURCE_DIR}/${library}/CMakeLists.txt))
      string(REPLACE / _ library ncclprobe_${library})
    endif()
    target_link_libraries(${target} ${visibility} ${library})
  endforeach()
endfunction()

# ncclprobe_program(<name> SOURCES ... LINKS ...): an installed executable. All programs are in one
# folder of the build tree, as after installation, because they look for each other in their own
# folder.
function(ncclprobe_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  ncclprobe_link(${name} PRIVATE ${ARG_LINKS} ncclprobe_settings)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  set(component programs)
  if(name MATCHES "-worker-cuda")
    set(component worker) # a package takes it alone from the build of another toolkit
  endif()
  install(TARGETS ${name} RUNTIME DESTINATION bin COMPONENT ${component})
  if(NCCLPROBE_PACKAGE)
    # Libraries that a .tar.gz brings along. The old kind of run path, which their own libraries are searched in too.
    set(run_path "$ORIGIN/../lib/ncclprobe")
    if(name MATCHES "-worker")
      string(APPEND run_path ":$ORIGIN/../lib/ncclprobe/worker") # what Gloo alone needs
    endif()
    set_target_properties(${name} PROPERTIES INSTALL_RPATH "${run_path}")
    target_link_options(${name} PRIVATE LINKER:--disable-new-dtags)
  endif()
endfunction()
