// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/common/private_folder.h"

#include <cstdlib>
#include <string>

namespace ncclprobe::cli {

PrivateFolder::PrivateFolder() {
  std::error_code none;
  std::string name = (std::filesystem::temp_directory_path(none) / "ncclprobe-XXXXXX").string();
  if (::mkdtemp(name.data()) != nullptr)
    path_ = name;
}

PrivateFolder::~PrivateFolder() {
  std::error_code ignored;
  if (!path_.empty())
    std::filesystem::remove_all(path_, ignored);
}

} // namespace ncclprobe::cli
