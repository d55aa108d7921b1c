// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/paths.h"

namespace ncclprobe::support {

std::string source_dir() {
  return NCCLPROBE_SOURCE_DIR;
}
std::string bin_dir() {
  return NCCLPROBE_BIN_DIR;
}

} // namespace ncclprobe::support
