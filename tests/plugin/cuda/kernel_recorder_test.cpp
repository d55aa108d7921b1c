// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "plugin/capture/captured_child.h"
#include "plugin/cuda/fake_cupti.h"

#include <chrono>
#include <csignal>
#include <thread>

using namespace ncclprobe;
using namespace ncclprobe::captured;

// Kernels of a program that does not know the library: the built library, with a stand-in for CUPTI
// that the program has loaded.
namespace {

struct Fake {
  void* library = dlopen(FAKE_CUPTI, RTLD_NOW | RTLD_LOCAL);
  template <typename Function>
  Function* get(const char* name) const {
    return reinterpret_cast<Function*>(dlsym(library, name));
  }
  decltype(&fake_kernel) kernel = get<decltype(fake_kernel)>("fake_kernel");
  decltype(&fake_copy) copy = get<decltype(fake_copy)>("fake_copy");
  decltype(&fake_other_tool) other_tool = get<decltype(fake_other_tool)>("fake_other_tool");
  decltype(&fake_is_recording) is_recording = get<decltype(fake_is_recording)>("fake_is_recording");
  decltype(&fake_subscriptions) subscriptions =
      get<decltype(fake_subscriptions)>("fake_subscriptions");
  decltype(&fake_timestamp) timestamp = get<decltype(fake_timestamp)>("fake_timestamp");
  decltype(&fake_dropped) dropped = get<decltype(fake_dropped)>("fake_dropped");
};

// Waits for an event, however long it takes; ctest ends a test that waits for ever.
template <typename Holds>
void wait_until(Holds holds) {
  while (!holds())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void* open_job(abi::ProfilerV5& profiler) {
  void* context = nullptr;
  int mask = 0;
  return profiler.init(&context, 42, &mask, "job", 1, 4, 3, nullptr) == 0 ? context : nullptr;
}

std::filesystem::path kernels_of(const Folder& folder) {
  for (const std::filesystem::path& file : folder.files())
    if (file.string().ends_with(".cuda.spool"))
      return file;
  FAIL("no spool of kernels");
  return {};
}

std::uint64_t losses(const std::filesystem::path& file, trace::LossKind kind) {
  std::uint64_t count = 0;
  for (const trace::LossRow& row : support::rows_in<trace::LossRow>(file))
    count += row.kind == kind ? row.count : 0;
  return count;
}

const Variables k_cuda{{"NCCLPROBE_CAPTURE_CUDA", "1"}};

Variables with(Variables more) {
  more.insert(k_cuda.begin(), k_cuda.end());
  return more;
}

} // namespace

TEST_CASE("kernels and copies of a program are recorded on the clock of NCCL's events") {
  Folder folder;

  Child child = in_child(folder.path, k_cuda, [](abi::ProfilerV5& profiler) {
    const Fake cupti;
    if (open_job(profiler) == nullptr)
      return 1;
    wait_until([&] { return cupti.is_recording() == 1; });
    const std::uint64_t now_ns = cupti.timestamp();
    timespec host{};
    clock_gettime(CLOCK_MONOTONIC_RAW, &host);
    if (static_cast<std::uint64_t>(host.tv_sec) - now_ns / 1'000'000'000 > 3600)
      return 2;
    static const char gemm[] = "_ZN7cutlass4gemmEv";
    static const char reduce[] =
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)";
    cupti.kernel(gemm, 1'000, 3'000, 7);
    cupti.kernel(reduce, 2'000, 9'000, 20);
    cupti.kernel(gemm, 4'000, 6'000'000'000, 7);
    cupti.kernel(gemm, 5'000, 0, 7); // no times
    cupti.copy(1, 4096, 500, 900);
    return 0;
  });

  REQUIRE(child.status == 0);
  CHECK(child.words.empty());
  const std::filesystem::path file = kernels_of(folder);
  const auto kernels = support::ranked_rows<trace::KernelRow>(file);
  REQUIRE(kernels.size() == 4);
  for (const auto& [rank, row] : kernels)
    CHECK(rank == 3);
  const auto& [first, reduction] = std::pair(kernels[0].second, kernels[1].second);
  CHECK(support::text_in(file, first.name) == "cutlass::gemm()");
  CHECK(first.start_ns == 1'000);
  CHECK(first.duration_ns == 2'000);
  CHECK(first.grid == 4);
  CHECK(first.block == 32);
  CHECK(first.flags == 0);
  CHECK(reduction.flags == trace::k_communication);
  CHECK(reduction.stream != first.stream);
  CHECK(kernels[2].second.duration_ns == trace::k_long_duration);
  CHECK(support::rows_in<trace::LongRow>(file).at(0).duration_ns == 5'999'996'000);
  CHECK(kernels[3].second.flags == trace::k_no_times);
  const auto copies = support::rows_in<trace::CopyRow>(file);
  REQUIRE(copies.size() == 1);
  CHECK(copies[0].kind == trace::CopyKind::host_to_device);
  CHECK(copies[0].bytes == 4096);
  CHECK(support::rows_in<trace::StreamRow>(file).size() == 2);
  CHECK(support::rows_in<trace::KernelWindowRow>(file).size() == 1);
  CHECK(losses(file, trace::LossKind::no_times) == 1);
  CHECK(facts_in(file).find("kernels")->second == "all");
}

TEST_CASE("CUPTI is subscribed to in some steps of many, and free at other times") {
  Folder folder;

  Child child = in_child(
      folder.path, with({{"NCCLPROBE_CAPTURE_STEPS", "2"}, {"NCCLPROBE_CAPTURE_EVERY", "50"}}),
      [](abi::ProfilerV5& profiler) {
        const Fake cupti;
        void* context = open_job(profiler);
        std::uint64_t made = 0;
        auto steps_until = [&](auto holds) {
          while (!holds()) {
            all_reduce(profiler, context, made++); // a step of one operation
            cupti.kernel("gemm", 1'000 * made, 1'000 * made + 500, 7);
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          }
        };
        if (cupti.subscriptions() != 0)
          return 1; // no step is known yet
        for (int window = 1; window <= 3; ++window) {
          steps_until([&] { return cupti.subscriptions() == window; });
          steps_until([&] { return cupti.is_recording() == 0; });
        }
        return 0;
      });

  REQUIRE(child.status == 0);
  const std::filesystem::path file = kernels_of(folder);
  const auto windows = support::rows_in<trace::KernelWindowRow>(file);
  REQUIRE(windows.size() == 3);
  for (std::size_t i = 0; i < windows.size(); ++i) {
    CHECK(windows[i].start_ns < windows[i].end_ns);
    CHECK((i == 0 || windows[i - 1].end_ns < windows[i].start_ns));
  }
  CHECK_FALSE(support::rows_in<trace::KernelRow>(file).empty());
  CHECK(facts_in(file).find("kernels")->second == "2 steps of every 50");
}

TEST_CASE("another tool that has CUPTI is named, and the job goes on without kernels") {
  Folder folder;

  Child child = in_child(folder.path, k_cuda, [&](abi::ProfilerV5& profiler) {
    const Fake cupti;
    cupti.other_tool("nsys");
    void* context = open_job(profiler);
    for (std::uint64_t i = 0; i < 10; ++i)
      all_reduce(profiler, context, i);
    wait_until([&] {
      for (const auto& file : folder.files())
        if (file.string().ends_with(".cuda.spool") && facts_in(file).count("missing") == 1)
          return true;
      return false;
    });
    cupti.kernel("gemm", 1'000, 2'000, 7); // of the other tool's time
    cupti.other_tool(nullptr);             // it ends: the rest is recorded
    wait_until([&] { return cupti.is_recording() == 1; });
    cupti.kernel("gemm", 3'000, 4'000, 7);
    return 0;
  });

  REQUIRE(child.status == 0);
  CHECK_THAT(child.words, ContainsSubstring("another tool uses CUPTI"));
  CHECK_THAT(child.words, ContainsSubstring("nsys"));
  CHECK(std::ranges::count(child.words, '\n') == 1);
  const std::filesystem::path file = kernels_of(folder);
  CHECK_THAT(facts_in(file).find("missing")->second, ContainsSubstring("nsys"));
  const auto kernels = support::rows_in<trace::KernelRow>(file);
  REQUIRE(kernels.size() == 1);
  CHECK(kernels[0].start_ns == 3'000);
}

TEST_CASE("a tool that gave CUPTI no name is not named by CUPTI's words for that") {
  Folder folder;

  Child child = in_child(folder.path, k_cuda, [&](abi::ProfilerV5& profiler) {
    const Fake cupti;
    cupti.other_tool("CUPTI for <not provided>");
    void* context = open_job(profiler);
    all_reduce(profiler, context, 0);
    wait_until([&] {
      for (const auto& file : folder.files())
        if (file.string().ends_with(".cuda.spool") && facts_in(file).count("missing") == 1)
          return true;
      return false;
    });
    return 0;
  });

  REQUIRE(child.status == 0);
  CHECK_THAT(child.words, ContainsSubstring("CUPTI does not name it"));
}

TEST_CASE("kernels take bounded memory and disk, and what is lost is counted") {
  Folder folder;
  constexpr std::uint64_t k_kernels = 400'000; // 32 MB of rows, 60 MB of records

  Child child = in_child(folder.path, with({{"NCCLPROBE_CAPTURE_MAX_BYTES", "33554432"}}),
                         [](abi::ProfilerV5& profiler) {
                           const Fake cupti;
                           open_job(profiler);
                           wait_until([&] { return cupti.is_recording() == 1; });
                           for (std::uint64_t i = 0; i < k_kernels; ++i)
                             cupti.kernel("gemm", 1'000 + i, 2'000 + i, 7);
                           return cupti.dropped() < k_kernels ? 0 : 1;
                         });

  REQUIRE(child.status == 0);
  const std::filesystem::path file = kernels_of(folder);
  CHECK(std::filesystem::file_size(file) <= 16 << 20);
  const std::size_t kept = support::rows_in<trace::KernelRow>(file).size();
  CHECK(kept > 0);
  CHECK(kept < k_kernels);
  CHECK(losses(file, trace::LossKind::file) + losses(file, trace::LossKind::dropped_by_library) >
        0);
}

TEST_CASE("a killed program leaves its kernels, but for those of a moment") {
  Folder folder;

  Child child = in_child(folder.path, k_cuda, [&](abi::ProfilerV5& profiler) {
    const Fake cupti;
    open_job(profiler);
    wait_until([&] { return cupti.is_recording() == 1; });
    for (std::uint64_t i = 0; i < 100; ++i)
      cupti.kernel("gemm", 1'000 * i + 1, 1'000 * i + 500, 7);
    wait_until(
        [&] { return support::rows_in<trace::KernelRow>(kernels_of(folder)).size() == 100; });
    return raise(SIGKILL);
  });

  CHECK(WTERMSIG(child.status) == SIGKILL);
  CHECK(support::rows_in<trace::KernelRow>(kernels_of(folder)).size() == 100);
}

TEST_CASE("CUDA finds its entry point in the library that NCCL loads") {
  Folder folder;

  Child child = in_child(folder.path, k_cuda, [](abi::ProfilerV5& profiler) {
    const Fake cupti;
    void* library = dlopen(k_library, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    auto* start = reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"));
    if (start == nullptr || start() != 1 || cupti.subscriptions() != 0)
      return 1; // nothing is recorded yet
    open_job(profiler);
    wait_until([&] { return cupti.is_recording() == 1; });
    return 0;
  });

  CHECK(child.status == 0);
}

TEST_CASE("a process whose CUPTI cannot be used goes on without kernels, and says so") {
  Folder folder;
  const std::filesystem::path other = folder.path.parent_path() / "libcupti.so.13";
  Dl_info math{}; // some library, with that name
  REQUIRE(dladdr(dlsym(dlopen("libm.so.6", RTLD_NOW), "cos"), &math) != 0);
  std::filesystem::copy_file(std::filesystem::canonical(math.dli_fname), other);

  Child child = in_child(folder.path, k_cuda, [&](auto& profiler) {
    if (dlopen(other.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr)
      return 9;
    void* context = open_job(profiler);
    const int result = all_reduce(profiler, context, 0);
    wait_until([&] { return facts_in(kernels_of(folder)).count("missing") == 1; });
    return result;
  });

  CHECK(child.status == 0);
  CHECK_THAT(child.words, ContainsSubstring("kernels are not recorded: " + other.string() +
                                            " has no function cupti"));
}
