// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// The places in which the dynamic loader searches for libraries.
namespace ncclprobe::base {

// The files in a loader's cache (/etc/ld.so.cache of glibc 2.2 and later), in its order. Nothing if
// it is not a cache, or is truncated.
std::vector<std::string> files_of_loader_cache(std::string_view content);

// Its default folders, for all machines and distributions.
std::span<const std::string_view> loader_folders();

// Whether dlopen(name) would find a file. A path is used as it is. Any other name is searched in
// LD_LIBRARY_PATH, the loader's cache, its default folders, and `beside`: the folders of programs
// and libraries that may have their own search path.
bool loader_finds(const std::string& name, std::string_view ld_library_path,
                  const std::vector<std::filesystem::path>& beside = {},
                  const std::filesystem::path& root = "/");

} // namespace ncclprobe::base
