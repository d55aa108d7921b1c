// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// The profiler plugin's trace of data-parallel training on two GPUs of one host. Rank 1 computes 3
// ms longer in every fifth step. As seen on H200, the GPU is 40 ms behind the host, so host times
// say little about when a kernel began.
#include "trace/ledger_rows.h"
#include "trace/nccl_rows.h"
#include "trace/spool_writer.h"

#include "base/atomic_file.h"
#include "base/exit_code.h"
#include "support/catch.h"
#include "support/paths.h"
#include "support/scratch_folder.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <random>

using namespace ncclprobe;

namespace {

constexpr int k_steps = 40;
constexpr std::int64_t k_begin_ns = 41'000'000'000'000; // by the host's clock
constexpr std::array<std::uint64_t, 4> k_buckets{4'197'376, 16'794'624, 13'647'872, 4'200'448};

// Times of one all-reduce, by the host's clock.
struct Collective {
  std::uint64_t elements = 0;
  std::array<std::int64_t, 2> begin_ns{}; // by rank
  std::int64_t end_ns = 0;
};

std::vector<Collective> training() {
  std::mt19937_64 random(9);
  auto jitter = [&] { return static_cast<std::int64_t>(random() % 60'000); };
  std::vector<Collective> all;
  std::array<std::int64_t, 2> now_ns{k_begin_ns, k_begin_ns}; // when it has computed so far
  std::int64_t free_ns = 0;                                   // the last collective ended
  for (int step = 0; step < k_steps; ++step) {
    for (int rank : {0, 1})
      now_ns[static_cast<std::size_t>(rank)] +=
          16'000'000 + jitter() + (rank == 1 && step % 5 == 4 ? 3'000'000 : 0);
    for (std::uint64_t elements : k_buckets) {
      Collective one{elements, {}, 0};
      for (std::size_t rank : {0u, 1u}) {
        now_ns[rank] += 1'000'000 + jitter();
        one.begin_ns[rank] = std::max(now_ns[rank], free_ns);
      }
      // The first step's buckets are others.
      one.elements += step == 0 ? 1 : 0;
      one.end_ns = free_ns = std::max(one.begin_ns[0], one.begin_ns[1]) + 150'000;
      all.push_back(one);
    }
    for (std::int64_t& at_ns : now_ns)
      at_ns = std::max(at_ns, free_ns); // the optimizer waits for all
  }
  return all;
}

struct GpuClock {
  int rank = 0;
  std::uint64_t of(std::int64_t host_ns) const { // ahead, and 15 ppm faster
    return static_cast<std::uint64_t>(host_ns + 1'795'000'000'000'000'000 + rank * 7'000'000 +
                                      (host_ns - k_begin_ns) * 15 / 1'000'000);
  }
};

void write_spool(const std::filesystem::path& path, int rank) {
  trace::SpoolWriter spool;
  REQUIRE(spool.open(path.string()));
  spool.append(rank, trace::CommunicatorRow{.hash = 99, .ranks = 2, .rank = rank});
  const GpuClock gpu{rank};
  const std::vector<Collective> all = training();
  std::uint32_t id = 0;
  for (const Collective& one : all) {
    const std::int64_t begin_ns = one.begin_ns[static_cast<std::size_t>(rank)];
    trace::NcclOperationRow row;
    row.id = ++id;
    row.sequence = id;
    row.count = one.elements;
    row.function = spool.intern("AllReduce");
    row.channels = 1;
    row.enqueue_ns = static_cast<std::uint64_t>(begin_ns - 40'000'000);
    spool.append(rank, row);
    trace::NcclChannelRow channel;
    channel.nccl_operation = id;
    channel.start_gt = gpu.of(begin_ns);
    channel.stop_gt = gpu.of(one.end_ns);
    channel.start_ns = static_cast<std::uint64_t>(begin_ns + 9'000'000); // heard late
    channel.stop_ns = static_cast<std::uint64_t>(one.end_ns + 9'000'000);
    spool.append(rank, channel);
  }
  // Nine readings of a rank: accurate to 8 to 60 us, except three late ones of rank 1.
  std::mt19937_64 random(static_cast<std::uint64_t>(rank) + 3);
  const std::array<std::uint64_t, 9> errors_us{8, 12, 60, 25, 40, 30, 12, 50, 9};
  for (std::size_t i = 0; i < errors_us.size(); ++i) {
    const std::int64_t host_ns =
        k_begin_ns + (all.back().end_ns - k_begin_ns) * static_cast<std::int64_t>(i) / 8;
    const bool is_wide = rank == 1 && i >= 5 && i < 8;
    const std::uint64_t error_ns =
        is_wide ? std::array<std::uint64_t, 3>{2'000'000, 12'450'000, 7'000'000}[i - 5]
                : errors_us[i] * 1000;
    trace::ClockRow clock;
    clock.kind = trace::ClockKind::globaltimer;
    clock.at_ns = gpu.of(host_ns);
    clock.error_ns = error_ns;
    // The useful bound comes from the times at which the host heard of events.
    const auto off_ns = is_wide ? -static_cast<std::int64_t>(error_ns) + 6'000
                                : static_cast<std::int64_t>(random() % error_ns) -
                                      static_cast<std::int64_t>(error_ns / 2);
    clock.offset_ns = host_ns - static_cast<std::int64_t>(clock.at_ns) + off_ns;
    clock.round_trip_ns = 2 * error_ns;
    spool.append(rank, clock);
  }
}

class CapturedJob {
public:
  CapturedJob() {
    std::filesystem::create_directory(folder_ / "job");
    for (int rank : {0, 1})
      write_spool(folder_ / "job" / fmt::format("rank-{}.spool", rank), rank);
  }
  std::string report(const std::string& arguments) const {
    const int status =
        std::system(fmt::format("cd {} && {}/ncclprobe-report job {} >stdout",
                                folder_.path().string(), support::bin_dir(), arguments)
                        .c_str());
    REQUIRE(WEXITSTATUS(status) == base::k_exit_ok);
    return base::value_or_throw(base::read_file(folder_ / "stdout"));
  }

private:
  support::ScratchFolder folder_;
};

} // namespace

TEST_CASE("a rank that is 3 ms late in every fifth step is named, whatever readings are wide") {
  const CapturedJob job;

  const auto json = nlohmann::json::parse(job.report("--format json"));
  CHECK(json["clock"]["worst_gpu_error_ns"].get<double>() < 50'000);
  CHECK(json["clock"]["worst_error_among_gpus_ns"].get<double>() < 50'000);
  CHECK(json["clock"]["contradicted_readings"].empty());
  CHECK(json["physics"]["checked"].get<int>() + json["physics"]["made_the_clocks"].get<int>() ==
        (k_steps - 1) * 4); // the first step's buckets are others: it is none of the steps
  CHECK(json["physics"]["checked"].get<int>() > 0);
  CHECK(json["physics"]["violations"] == 0);
  CHECK(json["job"]["steps"] == "found");
  CHECK(json["job"]["kinds"][0]["steps"] == 39);
  CHECK(json["job"]["kinds"][0]["operations"] == 4);
  CHECK(json["job"]["operations_in_steps"] == 2 * 4 * 39);
  const auto late = json["stragglers"][0]["ranks"][1]["recurring"];
  CHECK(late["steps"] == 39);
  CHECK(late["late_in"] == 8);
  CHECK(late["when_late"]["value_ns"].get<double>() == Approx(3e6).epsilon(0.1));
  CHECK(late["when_late"]["error_ns"].get<double>() < 50'000);
  CHECK(late["recurrence"]["every"] == 5);
  CHECK(late["recurrence"]["first"] == 3); // the first step is not like the others
  CHECK(late["recurrence"]["late"] == 8);
  const auto other = json["stragglers"][0]["ranks"][0]["recurring"];
  CHECK((other.is_null() || other["late_in"].is_null()));

  const std::string text = job.report("");
  CHECK_THAT(text, ContainsSubstring("Rank 1 is sometimes late: in 8 of 39 steps"));
  CHECK_THAT(text, ContainsSubstring("every 5 steps from step 3 on"));
  CHECK_THAT(text, !ContainsSubstring("Rank 0 is late"));
}
