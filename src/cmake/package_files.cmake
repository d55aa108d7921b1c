# Run by cpack between installation and packing. A .deb gets the names of the packages that it needs; a .tar.gz gets
# the libraries themselves.
set(root ${CPACK_TEMPORARY_INSTALL_DIRECTORY})
if(CPACK_GENERATOR STREQUAL "DEB")
  set(root ${root}/usr)
endif()
file(GLOB programs ${root}/bin/ncclprobe*)
list(FILTER programs EXCLUDE REGEX "/ncclprobe-mpi$") # its MPI is that of the launcher
file(GLOB mpi_programs ${root}/bin/ncclprobe-mpi) # none with NCCLPROBE_MPI=OFF
if(NOT programs)
  message(FATAL_ERROR "package_files.cmake: no programs in ${root}/bin")
endif()

function(run_or_stop output)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${CPACK_TOPLEVEL_DIRECTORY} OUTPUT_VARIABLE text
    ERROR_VARIABLE problem RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "package_files.cmake: ${ARGN}: ${problem}")
  endif()
  set(${output} "${text}" PARENT_SCOPE)
endfunction()

if(CPACK_GENERATOR STREQUAL "DEB")
  # They belong to the .tar.gz.
  foreach(program ${programs} ${mpi_programs})
    file(RPATH_REMOVE FILE ${program})
  endforeach()
  file(WRITE ${CPACK_TOPLEVEL_DIRECTORY}/debian/control "Source: ncclprobe\n\nPackage: ncclprobe\nArchitecture: any\n")
  run_or_stop(found dpkg-shlibdeps -O -dDepends ${programs} -dRecommends ${mpi_programs})
  file(REMOVE_RECURSE ${CPACK_TOPLEVEL_DIRECTORY}/debian)
  string(REGEX MATCH "shlibs:Depends=([^\n]*)" ignored "${found}")
  set(CPACK_DEBIAN_PACKAGE_DEPENDS "${CMAKE_MATCH_1}")
  if(mpi_programs)
    string(REGEX MATCH "shlibs:Recommends=([^\n]*)" ignored "${found}")
    set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "openmpi-bin, ${CMAKE_MATCH_1}")
  endif()
  return()
endif()

# What each Linux has, and what would harm libraries that are loaded later (NCCL, the driver) if it was older than
# theirs, stays out: the C and C++ runtimes.
set(left_out "^ld-linux" "^lib(c|m|dl|rt|pthread|resolv|util|stdc\\+\\+|gcc_s)\\.so")
set(mpi "^lib(mpi|mpi_.*|open-rte|open-pal)\\.so")

# copy_libraries(<folder> <programs> <patterns of names that stay out>): all that the programs need, and that is not there already.
function(copy_libraries folder programs left_out)
  file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${programs}
    RESOLVED_DEPENDENCIES_VAR libraries UNRESOLVED_DEPENDENCIES_VAR missing
    PRE_EXCLUDE_REGEXES ${left_out} DIRECTORIES /usr/lib /usr/local/lib)
  if(missing)
    message(FATAL_ERROR "package_files.cmake: these libraries were not found: ${missing}")
  endif()
  foreach(library ${libraries})
    get_filename_component(name ${library} NAME) # as programs name it
    if(NOT EXISTS ${root}/lib/ncclprobe/${name})
      file(MAKE_DIRECTORY ${folder})
      file(REAL_PATH ${library} file)
      file(COPY_FILE ${file} ${folder}/${name})
    endif()
  endforeach()
endfunction()

copy_libraries(${root}/lib/ncclprobe "${programs}" "${left_out};${mpi}")
# Gloo is linked with Open MPI on Debian 13. Only workers look into this folder, so that ncclprobe-mpi has the launcher's MPI.
set(workers ${programs})
list(FILTER workers INCLUDE REGEX "/ncclprobe-worker-")
copy_libraries(${root}/lib/ncclprobe/worker "${workers}" "${left_out}")
