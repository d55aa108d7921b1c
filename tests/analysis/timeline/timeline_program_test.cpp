// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// The timeline as people ask ncclprobe-report for it: of the spools of a captured job, and of a
// trace file.
#include "trace/ledger_rows.h"
#include "trace/nccl_rows.h"
#include "trace/spool_format.h"
#include "trace/spool_writer.h"

#include "base/atomic_file.h"
#include "base/exit_code.h"
#include "support/catch.h"
#include "support/ddp_trace.h"
#include "support/paths.h"
#include "support/scratch_folder.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sys/wait.h>

using namespace ncclprobe;

namespace {

class Job {
public:
  Job() {
    std::filesystem::create_directory(folder_ / "job");
    for (int rank = 0; rank < 2; ++rank)
      support::write_ddp_spool(folder_ / "job" / fmt::format("rank-{}.spool", rank), rank, 4000, 2);
  }

  int report(const std::string& arguments) const {
    int status = std::system(fmt::format("cd {0} && XDG_CACHE_HOME={0}/cache {1}/ncclprobe-report "
                                         "{2} >stdout 2>stderr",
                                         folder_.path().string(), support::bin_dir(), arguments)
                                 .c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string read(const std::string& name) const {
    return base::value_or_throw(base::read_file(folder_ / name));
  }
  // Their values by id.
  nlohmann::json findings(const std::string& arguments) const {
    CHECK(report(arguments + " --format json") == base::k_exit_ok);
    const nlohmann::json shown = nlohmann::json::parse(read("stdout"));
    nlohmann::json values;
    for (const auto& one : shown.at("findings"))
      values[one["id"].get<std::string>()] = one["values"];
    return values;
  }
  std::filesystem::path path(const std::string& name) const { return folder_ / name; }

private:
  support::ScratchFolder folder_;
};

// The profiler plugin's traces of ranks 0 and 1 on two hosts: 200 all-reduces of 10 us, in which
// the ranks wait for each other in turn. The clock of rank 1's host is an hour behind, and gains 10
// ppm.
void write_captured(const std::filesystem::path& folder, int rank) {
  std::filesystem::path path = folder / fmt::format("rank-{}.spool", rank);
  {
    trace::SpoolWriter spool;
    REQUIRE(spool.open(path.string()));
    spool.append(rank, trace::CommunicatorRow{.hash = 99, .ranks = 2, .rank = rank});
    auto own = [&](std::int64_t ns) {
      return static_cast<std::uint64_t>(
          rank == 0 ? ns : ns - 3'600'000'000'000 + ns % 1'000'000'000'000 / 100'000);
    };
    const std::uint64_t gpu_ahead_ns = 77'000'000;
    for (std::uint32_t k = 0; k < 200; ++k) {
      std::int64_t begin_ns = 9'000'001'000'000 + k * 5'000'000LL;
      std::int64_t late_ns = static_cast<int>(k % 2) == rank ? 400'000 : 0;
      trace::NcclOperationRow row;
      row.id = k + 1;
      row.sequence = k;
      row.function = spool.intern("AllReduce");
      row.channels = 1;
      row.enqueue_ns = own(begin_ns + late_ns - 20'000);
      spool.append(rank, row);
      trace::NcclChannelRow channel;
      channel.nccl_operation = row.id;
      channel.start_gt = own(begin_ns + late_ns) + gpu_ahead_ns;
      channel.stop_gt = own(begin_ns + 410'000) + gpu_ahead_ns;
      spool.append(rank, channel);
      trace::ClockRow clock;
      clock.kind = trace::ClockKind::globaltimer;
      clock.at_ns = channel.start_gt;
      clock.offset_ns = -static_cast<std::int64_t>(gpu_ahead_ns);
      clock.error_ns = 500;
      spool.append(rank, clock);
    }
  }
  if (rank == 0)
    return;
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(offsetof(trace::SpoolHeader, boot_id));
  file.write("another host", 12);
}

} // namespace

TEST_CASE("the spools of a job become a trace file, and that a timeline") {
  Job job;
  CHECK(job.report("job/") == base::k_exit_ok);
  CHECK(job.read("stderr").empty());
  std::string text = job.read("stdout");
  CHECK_THAT(text, ContainsSubstring("2 ranks, 10 steps; 8,000 kernels"));
  CHECK_THAT(text, ContainsSubstring("kernels with NCCL's operations: 100.0% (420 of 420)"));
  CHECK_THAT(text, ContainsSubstring("launches were not counted"));
  CHECK_THAT(text, ContainsSubstring("Waits are known for 100.0% (420 of 420)"));
  CHECK_THAT(text, ContainsSubstring("AllReduce"));

  // The same from the file that was made.
  const std::vector<std::string> kept = support::names_in(job.path("cache/ncclprobe"));
  REQUIRE(kept.size() == 1);
  const std::string trace = "cache/ncclprobe/" + kept.front();
  CHECK(job.report(trace + " --timeline") == base::k_exit_ok);
  std::string again = job.read("stdout");
  CHECK(again.substr(again.find('\n')) == text.substr(text.find('\n')));

  std::filesystem::create_hard_link(job.path(trace), job.path("same.h5"));
  CHECK(job.report("job --format json --steps") == base::k_exit_ok);
  CHECK(support::names_in(job.path("cache/ncclprobe")) == kept);
  CHECK(std::filesystem::equivalent(job.path(trace), job.path("same.h5"))); // not made again
  auto json = nlohmann::json::parse(job.read("stdout"));
  CHECK(json["ranks"][1]["steps"].size() == 10);
  CHECK(json["stragglers"][0]["complete"] == 210);

  CHECK(job.report("job --steps -o steps.csv") == base::k_exit_ok);
  CHECK(job.read("steps.csv").starts_with("rank,cell,batch,iteration,start_ns,length_ns,"));
  CHECK(job.report("job --format markdown") == base::k_exit_ok);
  CHECK_THAT(job.read("stdout"), ContainsSubstring("| rank |"));
}

TEST_CASE("what has no timeline is told in one line") {
  Job job;
  std::filesystem::create_directory(job.path("empty"));
  CHECK(job.report("empty") == base::k_exit_usage);
  CHECK_THAT(job.read("stderr"), ContainsSubstring("empty holds neither spools nor traces"));
  CHECK(job.report("nothing.h5 --timeline") == base::k_exit_usage);
  CHECK(job.report("run.h5 --steps") == base::k_exit_usage);
  CHECK_THAT(job.read("stderr"), ContainsSubstring("--timeline"));
  std::filesystem::resize_file(job.path("job/rank-1.spool"), 100);
  std::filesystem::remove(job.path("job/rank-0.spool"));
  CHECK(job.report("job") == base::k_exit_usage);
  CHECK_FALSE(job.read("stderr").empty());
}

TEST_CASE("a job captured on two hosts is aligned by its collectives, and that is said") {
  Job job;
  std::filesystem::create_directory(job.path("captured"));
  for (int rank : {0, 1})
    write_captured(job.path("captured"), rank);

  CHECK(job.report("captured/") == base::k_exit_ok);
  CHECK_THAT(job.read("stdout"),
             ContainsSubstring("2 hosts; their clocks were never compared, but aligned"));
  CHECK_THAT(job.read("stdout"),
             ContainsSubstring("more were used to align the clocks and cannot check them"));

  CHECK(job.report("captured --format json") == base::k_exit_ok);
  auto json = nlohmann::json::parse(job.read("stdout"));
  auto clock = json["clock"]["ranks"][1]["to_first_host"];
  // At the middle of the job, from the true time to rank 1's and back.
  double own_ns = clock["at_ns"].get<double>() + 5e8;
  double found_ns = clock["offset_ns"].get<double>() + clock["rate_ppb"].get<double>() / 1e9 * 5e8;
  double true_ns = 3.6e12 - (own_ns + 3.6e12 - 9e12) / 1e5;
  CHECK(std::abs(found_ns - true_ns) <= clock["error_ns"].get<double>());
  CHECK(clock["error_ns"].get<double>() < 15'000);
  // Seven of eight; the others check them.
  CHECK(json["clock"]["inferred_from"].get<int>() > 150);
  CHECK(json["physics"]["made_the_clocks"] == json["clock"]["inferred_from"]);
  CHECK(json["physics"]["checked"].get<int>() > 10);
  CHECK(json["physics"]["violations"] == 0);
  CHECK(json["stragglers"][0]["complete"] == 200);
}

TEST_CASE("some ranks, a window, and a rank that left no trace are told as such") {
  Job job;
  for (const char* folder : {"captured", "half"}) {
    std::filesystem::create_directory(job.path(folder));
    write_captured(job.path(folder), 0);
  }
  write_captured(job.path("captured"), 1);

  const auto chosen = job.findings("captured --ranks 1");
  REQUIRE(chosen.contains("ranks_chosen"));
  CHECK(chosen["ranks_chosen"]["ranks"] == nlohmann::json{1});
  CHECK(chosen["ranks_chosen"]["traced"] == 2);
  CHECK(job.report("captured --ranks 1") == base::k_exit_ok);
  CHECK_THAT(job.read("stdout"), ContainsSubstring("0 copies, 200 NCCL operations"));
  CHECK(job.report("captured --ranks 7") == base::k_exit_usage);
  CHECK_THAT(job.read("stderr"), ContainsSubstring("the trace has no rank 7"));
  CHECK(job.report("captured --ranks first") == base::k_exit_usage);

  CHECK(job.report("captured --window 0:100ms") == base::k_exit_ok);
  CHECK_THAT(job.read("stdout"), ContainsSubstring("0 copies, 38 NCCL operations"));
  CHECK_THAT(job.read("stdout"), ContainsSubstring("channels: 100.0% (38 of 38)"));

  const auto half = job.findings("half");
  REQUIRE(half.contains("ranks_without_trace"));
  CHECK(half["ranks_without_trace"]["ranks"] == nlohmann::json{1});
  CHECK(half["ranks_without_trace"]["communicator_size"] == 2);
}
