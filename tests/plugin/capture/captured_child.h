// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plugin/profiler/abi.h"
#include "trace/rows.h"

#include "support/catch.h"
#include "support/spool_rows.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

// The built library, loaded and called as NCCL does in a program that does not know it. Each
// program is a child process, because the library stays until its process ends.
namespace ncclprobe::captured {

namespace abi = plugin::abi;

extern const char* const k_library; // its path, in capture_test.cpp

struct Child {
  int status = 0;
  std::string words; // on stderr
};

using Variables = std::map<std::string, std::string>;

template <typename Act>
Child in_child(const std::filesystem::path& folder, const Variables& variables, Act act) {
  std::filesystem::path words = folder.string() + ".stderr";
  pid_t child = fork();
  if (child == 0) {
    if (std::freopen(words.c_str(), "w", stderr) == nullptr)
      _exit(98);
    setenv("NCCLPROBE_CAPTURE_DIR", folder.c_str(), 1);
    for (const auto& [name, value] : variables)
      setenv(name.c_str(), value.c_str(), 1);
    void* library = dlopen(k_library, RTLD_NOW | RTLD_LOCAL);
    auto* profiler = library == nullptr
                         ? nullptr
                         : static_cast<abi::ProfilerV5*>(dlsym(library, "ncclProfiler_v5"));
    if (profiler == nullptr)
      _exit(99);
    int result = act(*profiler);
    dlclose(library);  // as NCCL does with the last communicator
    std::exit(result); // NOLINT: the library's end is what is looked at
  }
  Child ended;
  REQUIRE(waitpid(child, &ended.status, 0) == child);
  std::stringstream text;
  text << std::ifstream(words).rdbuf();
  ended.words = text.str();
  std::filesystem::remove(words);
  return ended;
}

struct Folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("capture-" + std::to_string(getpid())) / "deeper";
  Folder() {
    std::filesystem::remove_all(path.parent_path());
    std::filesystem::create_directories(path.parent_path());
  }
  ~Folder() { std::filesystem::remove_all(path.parent_path()); }
  std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> all;
    if (std::filesystem::exists(path))
      for (const auto& entry : std::filesystem::directory_iterator(path))
        all.push_back(entry.path());
    std::sort(all.begin(), all.end());
    return all;
  }
};

inline void* last_operation = nullptr; // of a child

// 3: it was not recorded.
inline int all_reduce(abi::ProfilerV5& profiler, void* context, std::uint64_t sequence) {
  abi::DescriptorV5 descriptor{};
  descriptor.type = abi::k_collective;
  descriptor.collective = {sequence,      "AllReduce", nullptr, nullptr, 1024,    0,
                           "ncclFloat32", 2,           16,      "RING",  "SIMPLE"};
  void* handle = nullptr;
  profiler.start_event(context, &handle, &descriptor);
  last_operation = handle;
  return handle == nullptr || profiler.stop_event(handle) != 0 ? 3 : 0;
}

inline std::multimap<std::string, std::string> facts_in(const std::filesystem::path& file) {
  std::multimap<std::string, std::string> facts;
  for (const trace::FactRow& row : support::rows_in<trace::FactRow>(file))
    facts.emplace(support::text_in(file, row.name), support::text_in(file, row.value));
  return facts;
}

} // namespace ncclprobe::captured
