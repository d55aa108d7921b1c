// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "plugin/capture/captured_child.h"
#include "plugin/nvtx/played_nvtx.h"
#include "trace/spool_reader.h"

#include "support/catch.h"
#include "support/spool_rows.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace ncclprobe;
using namespace ncclprobe::plugin;
using namespace ncclprobe::captured;

const char* const captured::k_library = NCCLPROBE_PROFILER;

namespace {

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

  Child child = in_child(folder.path, {}, [](abi::ProfilerV5& profiler) {
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

  Child child =
      in_child(folder.path, {{"NCCLPROBE_CAPTURE", "full"}}, [](abi::ProfilerV5& profiler) {
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
  for (const auto& [rank, row] : support::ranked_rows<trace::FactRow>(folder.files()[0]))
    CHECK(rank == 3);
  const auto facts = facts_in(folder.files()[0]);
  CHECK(facts.find("level")->second == "full");
  CHECK(facts.find("plugin_interface")->second == "5");
  CHECK(facts.find("NCCL_ALGO")->second == "RING");
  CHECK(facts.find("NCCL_TOKEN")->second == "(set)");
  CHECK_THAT(facts.find("command")->second, ContainsSubstring("test_plugin_capture"));
}

TEST_CASE("a program that ends without closing its communicators loses nothing") {
  Folder folder;

  Child child =
      in_child(folder.path, {{"NCCLPROBE_CAPTURE", "full"}}, [](abi::ProfilerV5& profiler) {
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

  Child child = in_child(folder.path, {}, [](abi::ProfilerV5& profiler) {
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

TEST_CASE("a killed program leaves where it hung") {
  Folder folder;

  Child child = in_child(folder.path, {}, [](abi::ProfilerV5& profiler) {
    void* context = nullptr;
    int mask = 0;
    profiler.init(&context, 42, &mask, nullptr, 1, 4, 3, nullptr);
    all_reduce(profiler, context, 1);
    abi::DescriptorV5 channel{}; // of its kernel, which does not end
    channel.type = abi::k_channel;
    channel.parent = last_operation;
    channel.channel = {0, 5};
    void* handle = nullptr;
    profiler.start_event(context, &handle, &channel);
    abi::DescriptorV5 descriptor{}; // NCCL does not return from this one
    descriptor.type = abi::k_point_to_point;
    descriptor.point_to_point = {"Send", nullptr, "ncclInt8", 7, 2, 1};
    profiler.start_event(context, &handle, &descriptor);
    std::this_thread::sleep_for(std::chrono::milliseconds(2500));
    return raise(SIGKILL);
  });

  CHECK(WTERMSIG(child.status) == SIGKILL);
  REQUIRE(folder.files().size() == 1);
  CHECK(operations_in(folder.files()[0]) == 2);
  std::map<std::uint32_t, std::set<std::uint32_t>> open; // channels, by operation
  std::uint64_t last_ns = 0;
  for (const auto& row : support::rows_in<trace::NcclOpenRow>(folder.files()[0])) {
    open[row.nccl_operation].insert(row.channels);
    CHECK(row.at_ns >= last_ns); // looks follow each other
    last_ns = row.at_ns;
  }
  CHECK(open == std::map<std::uint32_t, std::set<std::uint32_t>>{{1, {1}}, {2, {0}}});
}

TEST_CASE("rank 0 says once that it records, and where") {
  Folder folder;

  Child child = in_child(folder.path, {}, [](abi::ProfilerV5& profiler) {
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

  Child no_folder = in_child(folder.path, {}, open);
  CHECK(no_folder.status == 0);
  CHECK_THAT(no_folder.words, ContainsSubstring("cannot write"));
  std::filesystem::remove(folder.path);
  Child no_level = in_child(folder.path, {{"NCCLPROBE_CAPTURE", "everything"}}, open);
  CHECK(no_level.status == 0);
  CHECK_THAT(no_level.words, ContainsSubstring("operations, kernels and full"));
  CHECK(folder.files().empty());
}

#ifndef __SANITIZE_ADDRESS__ // its own memory is beyond such a limit
TEST_CASE("a job that leaves no memory goes on without") {
  Folder folder;

  Child child = in_child(folder.path, {}, [](abi::ProfilerV5& profiler) {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlim_t bytes = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + (1 << 20);
    const rlimit limit{bytes, bytes};
    if (setrlimit(RLIMIT_AS, &limit) != 0)
      return 1;
    void* context = &profiler;
    int mask = 0;
    return profiler.init(&context, 1, &mask, nullptr, 1, 2, 0, nullptr) != 0 ? 0 : 2;
  });

  CHECK(child.status == 0);
  CHECK_THAT(child.words, ContainsSubstring("nothing is recorded"));
}
#endif

TEST_CASE("recording stops after a time or a number of bytes, and the trace says what it lacks") {
  struct Case {
    const char* variable;
    const char* value;
    const char* reason;
  };
  for (const Case& limit :
       {Case{"NCCLPROBE_CAPTURE_FOR", "50ms", "50 ms, the limit of time"},
        Case{"NCCLPROBE_CAPTURE_MAX_BYTES", "16777216", "16777216 bytes, the limit of size"}}) {
    CAPTURE(limit.variable);
    Folder folder;

    Child child = in_child(folder.path, {{limit.variable, limit.value}}, [](auto& profiler) {
      void* context = nullptr;
      int mask = 0;
      if (profiler.init(&context, 42, &mask, nullptr, 1, 4, 3, nullptr) != 0)
        return 1;
      std::uint64_t made = 0;
      for (; all_reduce(profiler, context, made) == 0; ++made)
        if (made % 1'000 == 0)
          usleep(1'000); // the queue must not overflow
      if (mask != 0x6)   // channels cost nothing any more
        return 2;
      for (int i = 0; i < 9; ++i)
        all_reduce(profiler, context, made);
      return 0;
    });

    CHECK(child.status == 0);
    REQUIRE(folder.files().size() == 1);
    const std::filesystem::path file = folder.files()[0];
    const auto facts = facts_in(file);
    REQUIRE(facts.count("missing") == 1);
    CHECK_THAT(facts.find("missing")->second, ContainsSubstring(limit.reason));
    REQUIRE(facts.count("left_out") == 1);
    const std::size_t left_out = std::stoul(facts.find("left_out")->second);
    CHECK(left_out >= 10);
    std::uint64_t lost = 0;
    for (const trace::LossRow& row : support::rows_in<trace::LossRow>(file))
      lost += row.count;
    const auto rows = support::rows_in<trace::NcclOperationRow>(file);
    REQUIRE_FALSE(rows.empty());
    // Each operation is recorded, or left out, or was lost and counted.
    CHECK(rows.size() + left_out + lost >= rows.back().sequence + 10);
    CHECK(std::filesystem::file_size(file) <= 16 << 20);
  }
}

TEST_CASE("the last seconds are kept, also by a program that is killed") {
  Folder folder;

  Child child = in_child(folder.path, {{"NCCLPROBE_CAPTURE_LAST", "200ms"}}, [&](auto& profiler) {
    void* context = nullptr;
    int mask = 0;
    profiler.init(&context, 42, &mask, "job", 1, 4, 3, nullptr);
    const nvtx::PlayedNvtx nvtx;
    auto* inject = reinterpret_cast<int (*)(nvtx::GetExportTable)>(
        dlsym(dlopen(k_library, RTLD_NOW | RTLD_NOLOAD), "InitializeInjectionNvtx2"));
    if (inject == nullptr || inject(nvtx::PlayedNvtx::get_export_table) != 1)
      return 1;
    std::uint64_t made = 0;
    auto first = [&] {
      auto files = folder.files();
      return files.empty() ? std::string() : files[0].filename().string();
    };
    while (first().find(".last-3.spool") == std::string::npos) {
      nvtx.push("step");
      all_reduce(profiler, context, made++), usleep(1'000);
      nvtx.pop();
    }
    sleep(1); // a job that stands: nothing is deleted
    return raise(SIGKILL);
  });

  CHECK(WTERMSIG(child.status) == SIGKILL);
  const auto files = folder.files();
  REQUIRE(files.size() == 4); // three in turns, and the one of the whole process
  std::vector<trace::NcclOperationRow> rows;
  for (std::size_t i = 0; i < 3; ++i) {
    for (const auto& row : support::rows_in<trace::NcclOperationRow>(files[i])) {
      CHECK(support::text_in(files[i], row.function) == "AllReduce");
      rows.push_back(row);
    }
    CHECK(support::rows_in<trace::CommunicatorRow>(files[i]).empty());
    const auto ranges = support::rows_in<trace::RangeRow>(files[i]);
    CHECK_FALSE(ranges.empty());
    for (const trace::RangeRow& range : ranges)
      CHECK(support::text_in(files[i], range.name) == "step");
  }
  REQUIRE_FALSE(rows.empty());
  CHECK(rows.front().sequence > 0);
  for (std::size_t i = 1; i < rows.size(); ++i)
    REQUIRE(rows[i].sequence == rows[i - 1].sequence + 1);
  CHECK(support::rows_in<trace::CommunicatorRow>(files[3]).size() == 1);
  CHECK(facts_in(files[3]).find("kept")->second == "the last 200 ms");
}

TEST_CASE("a limit that is none is said, and nothing is recorded") {
  for (const auto& [name, value] : Variables{{"NCCLPROBE_CAPTURE_FOR", "60"},
                                             {"NCCLPROBE_CAPTURE_LAST", "0s"},
                                             {"NCCLPROBE_CAPTURE_MAX_BYTES", "2G"}}) {
    Folder folder;
    Child child = in_child(folder.path, {{name, value}}, [](abi::ProfilerV5& profiler) {
      void* context = nullptr;
      int mask = 0;
      return profiler.init(&context, 1, &mask, nullptr, 1, 2, 0, nullptr) != 0 ? 0 : 1;
    });
    CHECK(child.status == 0);
    CHECK_THAT(child.words, ContainsSubstring(name + " is " + value));
    CHECK(folder.files().empty());
  }
}
