// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/scratch_folder.h"

#include <fstream>
#include <string_view>

namespace ncclprobe::support {

// A made-up /proc, /sys or /etc in a scratch folder.
class FileTree {
public:
  FileTree& file(const std::string& path, std::string_view content) {
    std::filesystem::path place = folder_ / path;
    std::filesystem::create_directories(place.parent_path());
    std::ofstream(place, std::ios::binary) << content;
    return *this;
  }
  const std::filesystem::path& root() const { return folder_.path(); }

private:
  ScratchFolder folder_;
};

} // namespace ncclprobe::support
