// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "plugin/cuda/kernel_recorder.h"

#include "backend/contract_world.h"
#include "base/clock.h"
#include "nvidia/factory.h"
#include "nvidia/gpus.h"
#include "support/catch.h"
#include "support/spool_rows.h"

#include <filesystem>
#include <string>
#include <thread>
#include <unistd.h>

using namespace ncclprobe;

namespace {

std::string said_by_recorder;

void keep_words(const std::string& words) {
  said_by_recorder += words + "\n";
}

contract::ContractSubject one_gpu() {
  contract::ContractSubject subject;
  subject.name = "nvidia";
  subject.make = [](const backend::Options& options) { return nvidia::make_backend(options); };
  subject.devices = 1;
  return subject;
}

std::filesystem::path new_spool() {
  said_by_recorder.clear();
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / fmt::format("kernels-{}.spool", getpid());
  std::filesystem::remove(path);
  return path;
}

} // namespace

TEST_CASE("the plugin records kernels on a GPU through CUPTI, in windows, on the host's clock") {
  NCCLPROBE_NEEDS_GPUS(1);
  plugin::prepare_kernel_recording();
  contract::World world(one_gpu(), 1);
  backend::Stream& stream = world.stream(0);
  const std::filesystem::path path = new_spool();
  plugin::Limits limits;
  limits.steps = 1;
  limits.every = 100;
  std::int64_t first_ns = 0, last_ns = 0;
  {
    plugin::KernelRecorder recorder(0, path, limits, nullptr, keep_words);
    auto windows = [&] { return support::rows_in<trace::KernelWindowRow>(path).size(); };
    stream.spin(1'000'000); // before any window
    support::wait_until_idle(stream);
    for (std::uint64_t window = 0; window < 3; ++window) {
      recorder.follow({true, window * 100, false});
      std::this_thread::sleep_for(std::chrono::seconds(1)); // nothing says that CUPTI is ready
      first_ns = first_ns == 0 ? base::monotonic_ns() : first_ns;
      for (int i = 0; i < 5; ++i)
        stream.spin(1'000'000);
      support::wait_until_idle(stream);
      last_ns = base::monotonic_ns();
      recorder.follow({true, window * 100 + 50, false});
      while (windows() <= window && said_by_recorder.empty())
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      stream.spin(1'000'000); // between windows
      support::wait_until_idle(stream);
    }
  }

  CHECK(said_by_recorder.empty());
  const auto kernels = support::rows_in<trace::KernelRow>(path);
  CHECK(kernels.size() == 15);
  constexpr std::int64_t k_conversion_ns = 20'000; // CUPTI's, of GPU time to host time
  for (const trace::KernelRow& row : kernels) {
    CHECK(static_cast<std::int64_t>(row.start_ns) >= first_ns - k_conversion_ns);
    CHECK(static_cast<std::int64_t>(row.start_ns) + row.duration_ns <= last_ns + k_conversion_ns);
    CHECK(row.duration_ns >= 900'000);
  }
  CHECK(support::rows_in<trace::LossRow>(path).empty());
  std::filesystem::remove(path);
}

TEST_CASE("the plugin records the kernels of a CUDA graph that was made before it began") {
  NCCLPROBE_NEEDS_GPUS(1);
  plugin::prepare_kernel_recording();
  contract::World world(one_gpu(), 1);
  backend::Stream& stream = world.stream(0);
  const std::vector<backend::Stream*> streams{&stream};
  auto graph = world.backend().capture(std::span(&streams, 1), [&] {
    for (int i = 0; i < 3; ++i)
      stream.spin(1'000'000);
  });
  const std::filesystem::path path = new_spool();
  {
    plugin::KernelRecorder recorder(0, path, {}, nullptr, keep_words);
    recorder.follow({true, 0, false});
    std::this_thread::sleep_for(std::chrono::seconds(1)); // nothing says that CUPTI is ready
    for (int i = 0; i < 2; ++i)
      graph->launch();
    support::wait_until_idle(stream);
    recorder.follow({true, 1, true});
  }

  CHECK(said_by_recorder.empty());
  const auto kernels = support::rows_in<trace::KernelRow>(path);
  CHECK(kernels.size() == 6);
  for (const trace::KernelRow& row : kernels)
    CHECK(row.graph_node != 0);
  std::filesystem::remove(path);
}
