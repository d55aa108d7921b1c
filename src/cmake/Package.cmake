# Packages: `cpack -G DEB` and `cpack -G TGZ` in a build made with NCCLPROBE_PACKAGE=ON. launch/package.sh does it all.
# Workers for further toolkits come from build folders of their own, named in NCCLPROBE_PACKAGE_WORKERS.
set(NCCLPROBE_PACKAGE_WORKERS "" CACHE STRING "Other build folders whose worker goes into the packages")

install(FILES README.md CHANGELOG.md SECURITY.md CITATION.cff DESTINATION share/doc/ncclprobe)
install(FILES LICENSE DESTINATION share/doc/ncclprobe RENAME copyright)
install(DIRECTORY docs/ DESTINATION share/doc/ncclprobe/docs)
install(DIRECTORY examples DESTINATION share/doc/ncclprobe)
if(NOT NCCLPROBE_PACKAGE)
  return()
endif()

set(distribution "")
set(distribution_version "")
if(EXISTS /etc/os-release)
  file(STRINGS /etc/os-release release REGEX "^(ID|VERSION_ID)=")
  foreach(line ${release})
    if(line MATCHES "^ID=\"?([a-z]+)")
      set(distribution ${CMAKE_MATCH_1})
    elseif(line MATCHES "^VERSION_ID=\"?([0-9.]+)")
      set(distribution_version ${CMAKE_MATCH_1})
    endif()
  endforeach()
endif()

set(CPACK_PACKAGE_NAME ncclprobe)
set(CPACK_PACKAGE_VENDOR "The ncclprobe authors")
set(CPACK_PACKAGE_CONTACT "The ncclprobe authors <ncclprobe@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Profiler of communication between GPUs")
set(CPACK_PACKAGE_DESCRIPTION "ncclprobe measures how fast the GPUs of one machine, or of many, talk to each other through NCCL. It says
which settings make them faster, whether the machine is as fast as others of its kind, and what
communication costs a training step. It works without a GPU too.")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_GENERATOR "DEB;TGZ")
set(CPACK_INSTALL_CMAKE_PROJECTS "${PROJECT_BINARY_DIR};ncclprobe;ALL;/")
foreach(folder ${NCCLPROBE_PACKAGE_WORKERS})
  list(APPEND CPACK_INSTALL_CMAKE_PROJECTS "${folder};ncclprobe;worker;/")
endforeach()
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/src/cmake/package_files.cmake)
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/src/cmake/package_generator.cmake)

string(TOLOWER "${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}" platform)
set(CPACK_PACKAGE_FILE_NAME ncclprobe-${PROJECT_VERSION}-${platform})

# The libraries of two releases have different names: a .deb is for one of them.
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE "1~${distribution}${distribution_version}")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER ${CPACK_PACKAGE_CONTACT})
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "openssh-client, nvidia-driver-bin, libnccl2")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

include(CPack)
