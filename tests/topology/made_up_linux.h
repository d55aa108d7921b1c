// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/scratch_folder.h"

#include <fstream>
#include <map>
#include <string>

namespace ncclprobe::topology_test {

// A root folder with its own /sys and /proc.
class MadeUpLinux {
public:
  using Files = std::map<std::string, std::string>; // name -> content

  std::filesystem::path root() const { return folder_.path(); }

  void write(const std::string& path, const std::string& content) {
    std::filesystem::path file = folder_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << content << "\n";
  }

  void link(const std::string& from, const std::string& to) {
    std::filesystem::path file = folder_ / from;
    std::filesystem::create_directories(file.parent_path());
    std::filesystem::create_symlink(folder_ / to, file);
  }

  // `place` is where it hangs: "pci0000:16/0000:16:01.0/0000:17:00.0".
  void pci(const std::string& place, const Files& files) {
    std::string folder = "sys/devices/" + place;
    for (const auto& [name, content] : files)
      write(folder + "/" + name, content);
    link("sys/bus/pci/devices/" + std::filesystem::path(place).filename().string(), folder);
  }

private:
  support::ScratchFolder folder_;
};

} // namespace ncclprobe::topology_test
