// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// A library that makes a file when it is loaded. HDF5 loads all that lie in HDF5_PLUGIN_PATH when
// it looks for a filter.
#include <cstdlib>
#include <fstream>

namespace {

struct Mark {
  Mark() {
    if (const char* path = std::getenv("NCCLPROBE_TEST_MARK_FILE"))
      std::ofstream(path) << "loaded";
  }
};
const Mark mark;

} // namespace
