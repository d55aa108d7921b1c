# Writes a C++ file with the commit that the sources are at:
#   cmake -DOUTPUT=commit.cpp -DSOURCES=folder -DGIT=git -DCOMMIT=name -P commit.cmake
# COMMIT: a name given by hand. Empty without it, and outside a checkout.
if(NOT COMMIT AND GIT)
  execute_process(COMMAND ${GIT} rev-parse --short=12 HEAD WORKING_DIRECTORY ${SOURCES}
    OUTPUT_VARIABLE COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
file(WRITE ${OUTPUT} "// Made by src/cmake/commit.cmake.
#include \"launch/cli/version/commit.h\"

namespace ncclprobe::cli {

std::string_view commit() {
  return \"${COMMIT}\";
}

} // namespace ncclprobe::cli
")
