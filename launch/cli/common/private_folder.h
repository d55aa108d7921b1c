// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace ncclprobe::cli {

// A new folder for temporary files, which this user alone can read. Gone with the object.
class PrivateFolder {
public:
  PrivateFolder();
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  const std::filesystem::path& path() const { return path_; } // empty: it could not be made

private:
  std::filesystem::path path_;
};

} // namespace ncclprobe::cli
