message(STATUS "ncclprobe ${PROJECT_VERSION}")
