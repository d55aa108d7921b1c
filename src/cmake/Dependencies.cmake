# Everything comes from the system; nothing is downloaded. launch/setup.sh lists the packages.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(tl-expected REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(Boost REQUIRED) # headers only: Boost.Math, Boost.Graph
find_package(Eigen3 REQUIRED NO_MODULE) # headers only
find_package(tomlplusplus REQUIRED)
find_package(CLI11 REQUIRED)
if(NCCLPROBE_MPI)
  find_package(MPI REQUIRED COMPONENTS C)
endif()
find_package(HDF5 REQUIRED COMPONENTS C)
find_package(Gloo REQUIRED)
find_package(pugixml REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(DEFLATE REQUIRED IMPORTED_TARGET libdeflate) # chunks of traces
pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc)
pkg_check_modules(DW REQUIRED IMPORTED_TARGET libdw) # stacks of other processes
pkg_check_modules(RE2 REQUIRED IMPORTED_TARGET re2) # expressions over other programs' logs, in linear time
# SHA-256 of tuner tables. Static, because it also goes into a library that NCCL loads into any program.
find_library(NETTLE_STATIC libnettle.a)
find_path(NETTLE_INCLUDE nettle/sha2.h)
if(NOT NETTLE_STATIC OR NOT NETTLE_INCLUDE)
  message(FATAL_ERROR "Nettle's static library is missing; launch/setup.sh installs it (nettle-dev)")
endif()
add_library(nettle_static STATIC IMPORTED GLOBAL)
set_target_properties(nettle_static PROPERTIES IMPORTED_LOCATION ${NETTLE_STATIC} INTERFACE_INCLUDE_DIRECTORIES ${NETTLE_INCLUDE})
if(HDF5_IS_PARALLEL)
  message(FATAL_ERROR "The HDF5 found is the parallel build, which would pull MPI into the report "
                      "program. Install the serial one (libhdf5-dev) and unset HDF5_ROOT/HDF5_PREFER_PARALLEL.")
endif()
