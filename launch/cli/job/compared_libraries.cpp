// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/job/compared_libraries.h"

#include "analysis/results/loaded_libraries.h"
#include "base/hash.h"
#include "launch/cli/common/option_values.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <unistd.h>

namespace ncclprobe::cli {

Result<workload::Axis> parse_compared_library(const std::string& text) {
  auto axis = workload::parse_axis(text);
  if (!axis)
    return fail(Error{Errc::invalid_argument, fmt::format("'{}' is not NAME=PATH,PATH", text),
                      "for example nccl=/opt/nccl-2.27/lib/libnccl.so.2, or "
                      "worker=/opt/ncclprobe-cuda12/bin/ncclprobe-worker"});
  NCCLPROBE_TRY(check_library_name(axis->name));
  return axis;
}

Result<void> check_library_files(const std::vector<workload::Axis>& libraries) {
  for (const workload::Axis& library : libraries)
    for (const std::string& path : library.values) {
      const bool is_program = library.name == model::k_worker_program;
      if (!is_program && !path.empty() && path.find('/') == std::string::npos)
        continue;
      std::error_code none;
      const char* problem = path.find('/') == std::string::npos             ? "has no folder"
                            : !std::filesystem::is_regular_file(path, none) ? "is not a file"
                            : access(path.c_str(), R_OK) != 0               ? "cannot be read"
                            : is_program && access(path.c_str(), X_OK) != 0 ? "cannot be executed"
                                                                            : nullptr;
      if (problem != nullptr)
        return fail(Error{Errc::not_found,
                          fmt::format("--compare-library {}: '{}' {}", library.name, path, problem),
                          is_program
                              ? "name an ncclprobe-worker that is there on every host, such as "
                                "/opt/ncclprobe-cuda12/bin/ncclprobe-worker"
                              : "name a shared library that is there on every host, such as "
                                "/opt/nccl/lib/libnccl.so.2"});
    }
  return {};
}

namespace {

// Size of the file and hash of its contents; empty if it cannot be read.
std::string contents_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  base::Hash hash;
  std::uint64_t bytes = 0;
  std::vector<std::uint64_t> words(std::size_t{1} << 17);
  while (file) {
    std::ranges::fill(words, 0);
    file.read(reinterpret_cast<char*>(words.data()),
              static_cast<std::streamsize>(words.size() * sizeof words[0]));
    auto size = static_cast<std::size_t>(file.gcount());
    for (std::size_t i = 0; i < (size + sizeof words[0] - 1) / sizeof words[0]; ++i)
      hash.step(words[i]);
    bytes += size;
  }
  return file.bad() || bytes == 0 ? "" : fmt::format("{} bytes, {:016x}", bytes, hash.value());
}

// The libraries in a folder of the loader's search path that can matter to a run.
std::vector<std::string> libraries_in(const std::string& folders) {
  constexpr std::array<std::string_view, 5> k_names{"libnccl.so", "libgloo.so", "libcudart.so",
                                                    "libcublas.so", "libcublasLt.so"};
  std::vector<std::string> found;
  for (std::size_t at = 0; at <= folders.size();) {
    std::size_t end = std::min(folders.find(':', at), folders.size());
    std::error_code none;
    for (std::filesystem::directory_iterator entry(folders.substr(at, end - at), none), last;
         !none && entry != last; entry.increment(none))
      if (std::ranges::any_of(k_names, [&](std::string_view name) {
            return entry->path().filename().string().starts_with(name);
          }))
        found.push_back(entry->path().string());
    at = end + 1;
  }
  std::ranges::sort(found);
  return found;
}

} // namespace

std::vector<model::Setting> contents_of_files(const RunOptions& options) {
  std::vector<model::Setting> files;
  std::map<std::string, std::string> contents; // many links lead to the same large file
  auto contents_at = [&](const std::string& path) {
    std::error_code missing;
    const std::string file = std::filesystem::canonical(path, missing).string();
    auto [known, fresh] = contents.try_emplace(missing ? path : file);
    if (fresh)
      known->second = contents_of(path);
    return known->second;
  };
  auto add = [&](const std::string& path) {
    bool known = std::ranges::find(files, path, &model::Setting::name) != files.end();
    if (!known && path.find('/') != std::string::npos)
      files.push_back({path, contents_at(path)});
  };
  for (const model::Setting& library : options.libraries)
    add(library.value);
  for (const workload::Axis& library : options.compared_libraries)
    for (const std::string& path : library.values)
      add(path);
  auto add_all_in = [&](const std::string& folders) {
    for (const std::string& path : libraries_in(folders))
      add(path);
  };
  for (const workload::Axis& axis : options.axes)
    if (axis.name == analysis::k_loader_path)
      std::ranges::for_each(axis.values, add_all_in);
  for (const auto& combination : options.settings)
    for (const model::Setting& setting : combination)
      if (setting.name == analysis::k_loader_path)
        add_all_in(setting.value);
  return files;
}

} // namespace ncclprobe::cli
