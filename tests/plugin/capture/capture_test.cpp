// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "plugin/profiler/abi.h"
#include "trace/rows.h"
#include "trace/spool_reader.h"

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
#include <sys/wait.h>
#include <unistd.h>

using namespace ncclprobe;
using namespace ncclprobe::plugin;

// The built library, loaded and called as NCCL does in a program that does not know it. Each
// program is a child process, because the library stays until its process ends.
namespace {

struct Child {
  int status = 0;
  std::string words; // on stderr
};

template <typename Act>
Child in_child(const std::filesystem::path& folder, const char* level, Act act) {
  std::filesystem::path words = folder.string() + ".stderr";
  pid_t child = fork();
  if (child == 0) {
    if (std::freopen(words.c_str(), "w", stderr) == nullptr)
      _exit(98);
    setenv("NCCLPROBE_CAPTURE_DIR", folder.c_str(), 1);
    if (level != nullptr)
      setenv("NCCLPROBE_CAPTURE", level, 1);
    void* library = dlopen(NCCLPROBE_PROFILER, RTLD_NOW | RTLD_LOCAL);
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
    return all;
  }
};

int all_reduce(abi::ProfilerV5& profiler, void* context, std::uint64_t sequence) {
  abi::DescriptorV5 descriptor{};
  descriptor.type = abi::k_collective;
  descriptor.collective = {sequence,      "AllReduce", nullptr, nullptr, 1024,    0,
                           "ncclFloat32", 2,           16,      "RING",  "SIMPLE"};
  void* handle = nullptr;
  profiler.start_event(context, &handle, &descriptor);
  return handle == nullptr || profiler.stop_event(handle) != 0 ? 3 : 0;
}

std::size_t operations_in(const std::filesystem::path& file) {
  std::size_t count = 0;
  auto read = trace::read_spool(file, [&](const trace::SpoolBlock& block) {
    if (block.table == trace::Table::nccl_operation) {
      count += block.rows;
      CHECK(block.rank == 3);
    }
  });
  REQUIRE(read);
  return count;
}

} // namespace

TEST_CASE("a job that is not ours leaves a spool for each process") {
  Folder folder;

  Child child = in_child(folder.path, nullptr, [](abi::ProfilerV5& profiler) {
    void* context = nullptr;
    int mask = 0;
    if (profiler.init(&context, 42, &mask, "job", 1, 4, 3, nullptr) != 0 || mask != 0x46)
      return 1;
    for (std::uint64_t i = 0; i < 100; ++i)
      if (all_reduce(profiler, context, i) != 0)
        return 2;
    return profiler.finalize(context);
  });

  CHECK(child.status == 0);
  CHECK(child.words.empty()); // rank 0 speaks for all
  auto files = folder.files();
  REQUIRE(files.size() == 1);
  CHECK_THAT(files[0].filename().string(), Catch::Matchers::StartsWith("rank-3-"));
  CHECK(files[0].extension() == ".spool");
  CHECK(operations_in(files[0]) == 100);
}

TEST_CASE("a captured job says what recorded it and with which variables") {
  Folder folder;

  Child child = in_child(folder.path, "full", [](abi::ProfilerV5& profiler) {
    setenv("NCCL_ALGO", "RING", 1);
    setenv("NCCL_TOKEN", "secret", 1);
    void* context = nullptr;
    int mask = 0;
    if (profiler.init(&context, 42, &mask, nullptr, 1, 4, 3, nullptr) != 0)
      return 1;
    setenv("NCCL_ALGO", "TREE", 1); // later changes are not what NCCL has read
    return profiler.finalize(context);
  });

  CHECK(child.status == 0);
  REQUIRE(folder.files().size() == 1);
  std::map<std::string, std::string> facts;
  for (const auto& [rank, row] : support::ranked_rows<trace::FactRow>(folder.files()[0])) {
    CHECK(rank == 3);
    facts[support::text_in(folder.files()[0], row.name)] =
        support::text_in(folder.files()[0], row.value);
  }
  CHECK(facts["level"] == "full");
  CHECK(facts["plugin_interface"] == "5");
  CHECK(facts["NCCL_ALGO"] == "RING");
  CHECK(facts["NCCL_TOKEN"] == "(set)");
  CHECK_THAT(facts["command"], ContainsSubstring("test_plugin_capture"));
}

TEST_CASE("a program that ends without closing its communicators loses nothing") {
  Folder folder;

  Child child = in_child(folder.path, "full", [](abi::ProfilerV5& profiler) {
    void* context = nullptr;
    int mask = 0;
    if (profiler.init(&context, 42, &mask, nullptr, 1, 4, 3, nullptr) != 0 || mask != 0xDE)
      return 1;
    return all_reduce(profiler, context, 1);
  });

  CHECK(child.status == 0);
  REQUIRE(folder.files().size() == 1);
  CHECK(operations_in(folder.files()[0]) == 1);
}

TEST_CASE("a killed program leaves what is older than a moment") {
  Folder folder;

  Child child = in_child(folder.path, nullptr, [](abi::ProfilerV5& profiler) {
    void* context = nullptr;
    int mask = 0;
    profiler.init(&context, 42, &mask, nullptr, 1, 4, 3, nullptr);
    all_reduce(profiler, context, 1);
    sleep(1); // five times the writer's period
    return raise(SIGKILL);
  });

  CHECK(WTERMSIG(child.status) == SIGKILL);
  REQUIRE(folder.files().size() == 1);
  CHECK(operations_in(folder.files()[0]) == 1);
}

TEST_CASE("rank 0 says once that it records, and where") {
  Folder folder;

  Child child = in_child(folder.path, nullptr, [](abi::ProfilerV5& profiler) {
    void* context = nullptr;
    int mask = 0;
    return profiler.init(&context, 1, &mask, nullptr, 1, 2, 0, nullptr) +
           profiler.init(&context, 2, &mask, nullptr, 1, 2, 0, nullptr);
  });

  CHECK(child.status == 0);
  CHECK_THAT(child.words, ContainsSubstring(folder.path.string()));
  CHECK(std::count(child.words.begin(), child.words.end(), '\n') == 1);
}

TEST_CASE("where nothing can be written, or the level is none, the job goes on without") {
  Folder folder;
  std::ofstream(folder.path) << "a file";
  auto open = [](abi::ProfilerV5& profiler) {
    void* context = &profiler;
    int mask = 0;
    int refused = profiler.init(&context, 1, &mask, nullptr, 1, 2, 0, nullptr);
    return refused != 0 && context == nullptr ? 0 : 1;
  };

  Child no_folder = in_child(folder.path, nullptr, open);
  CHECK(no_folder.status == 0);
  CHECK_THAT(no_folder.words, ContainsSubstring("cannot write"));
  std::filesystem::remove(folder.path);
  Child no_level = in_child(folder.path, "everything", open);
  CHECK(no_level.status == 0);
  CHECK_THAT(no_level.words, ContainsSubstring("operations, kernels and full"));
  CHECK(folder.files().empty());
}
