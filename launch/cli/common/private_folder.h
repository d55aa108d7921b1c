// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace ncclprobe::cli {

// A new folder for temporary files that only this user can read. The destructor removes it.
class PrivateFolder {
public:
  PrivateFolder();
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  const std::filesystem::path& path() const { return path_; } // empty: it could not be created

private:
  std::filesystem::path path_;
};

} // namespace ncclprobe::cli
