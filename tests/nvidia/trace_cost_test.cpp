// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "trace/spool_writer.h"

#include "backend/contract_world.h"
#include "base/clock.h"
#include "nvidia/factory.h"
#include "nvidia/gpus.h"
#include "support/catch.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <unistd.h>

using namespace ncclprobe;

// Not run alone: one arm of a comparison, one process each. NCCLPROBE_COST_TRACE names the level
// (unset: off); NCCL reads NCCL_PROFILER_PLUGIN. Prints "bytes microseconds" for all_reduce,
// batches of 100 launches, the median of the batches.
TEST_CASE("what tracing costs", "[.cost]") {
  NCCLPROBE_NEEDS_GPUS(2);
  constexpr int k_batches = 15;
  constexpr int k_launches = 100;
  const char* level = std::getenv("NCCLPROBE_COST_TRACE");
  auto path = std::filesystem::temp_directory_path() / fmt::format("cost-{}.spool", getpid());
  trace::SpoolWriter spool;
  REQUIRE(spool.open(path));
  std::unique_ptr<backend::Tracer> tracer;
  contract::ContractSubject subject;
  subject.make = [&](const backend::Options& options) {
    auto made = nvidia::make_backend(options);
    if (level != nullptr) {
      tracer = made->start_trace(
          {std::string_view(level) == "api" ? model::TraceLevel::api : model::TraceLevel::kernels,
           &spool,
           {{0, 0}, {1, 1}}});
      REQUIRE(tracer->missing().empty());
    }
    return made;
  };
  auto now_ns = [] { return static_cast<std::uint64_t>(base::monotonic_ns()); };
  {
    contract::World world(subject, 2);
    std::uint32_t operation = 0;
    for (std::uint64_t bytes :
         {std::uint64_t{8}, std::uint64_t{1} << 10, std::uint64_t{1} << 16, std::uint64_t{1} << 18,
          std::uint64_t{1} << 20, std::uint64_t{1} << 22, std::uint64_t{1} << 24}) {
      std::vector<std::unique_ptr<backend::Buffer>> buffers;
      for (int rank = 0; rank < 2; ++rank)
        buffers.push_back(world.device(rank).allocate(bytes));
      auto batch = [&] {
        for (int launch = 0; launch < k_launches; ++launch) {
          if (tracer)
            tracer->begin_operation(++operation, now_ns());
          world.on_all_ranks([&](int rank) {
            backend::Buffer& buffer = *buffers[static_cast<std::size_t>(rank)];
            world.communicator(rank).enqueue({model::Collective::all_reduce,
                                              {buffer, 0},
                                              {buffer, 0},
                                              bytes / sizeof(float),
                                              model::DataType::f32,
                                              model::ReduceOp::sum,
                                              0},
                                             world.stream(rank));
          });
          if (tracer)
            tracer->end_operation(now_ns());
        }
        world.wait();
      };
      batch();
      std::vector<double> us;
      for (int i = 0; i < k_batches; ++i) {
        std::int64_t begin_ns = base::monotonic_ns();
        batch();
        us.push_back(static_cast<double>(base::monotonic_ns() - begin_ns) * 1e-3 / k_launches);
      }
      std::sort(us.begin(), us.end());
      std::printf("%llu %.4f\n", static_cast<unsigned long long>(bytes), us[k_batches / 2]);
      if (tracer)
        tracer->flush();
    }
    if (tracer)
      tracer->finish();
    tracer.reset();
  }
  std::filesystem::remove(path);
}
