// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/export/rank_events.h"
#include "support/catch.h"

#include <fmt/format.h>

using namespace ncclprobe;
using namespace ncclprobe::analysis::trace_export;

namespace {

// The calls of a sink, one line each.
class Told : public EventSink {
public:
  void process(const Process& process) override { lines.push_back("process " + process.name); }
  void track(const Track& track) override {
    lines.push_back(fmt::format("track {} {}", track.id, track.name));
  }
  void counter(const Track& track, const char* unit) override {
    lines.push_back(fmt::format("counter {} {} [{}]", track.id, track.name, unit));
  }
  void slices(const std::vector<Slice>& of_track) override {
    for (const Slice& one : of_track) {
      lines.push_back(fmt::format("{} {}-{} {} {}", one.track, one.start_ns, one.end_ns,
                                  one.category, one.name));
      flows.insert(flows.end(), one.flows.begin(), one.flows.end());
      if (!one.flows.empty())
        flow_lines.push_back(fmt::format("{} {}-{}", one.track, one.start_ns, one.end_ns));
    }
  }
  void sample(const CounterSample& sample) override {
    lines.push_back(fmt::format("{} {} = {}", sample.counter, sample.at_ns, sample.value));
  }
  std::string take() override { return {}; }
  std::string finish() override { return {}; }

  std::vector<std::string> lines;
  std::vector<std::uint64_t> flows;
  std::vector<std::string> flow_lines; // the slices that have some
};

const std::vector<std::string> k_texts{"",          "gemm",        "ncclKernel",
                                       "AllReduce", "ncclFloat32", "main"};
std::string_view text_of(trace::TextId id) {
  return k_texts.at(id.id);
}

// Times count from 1,000; the GPU's clock from 5,000.
Alignment alignment() {
  return {[](std::uint64_t ns) { return std::optional(static_cast<std::int64_t>(ns) - 1'000); },
          [](std::uint64_t ns) { return std::optional(static_cast<std::int64_t>(ns) - 5'000); }};
}

Told told_of(const RankRows& rows, const Alignment& how = alignment()) {
  Told told;
  HostPicture host{.process = 1, .name = "node7"};
  add_rank(
      rows, how, text_of, [](const trace::OperationRow&) { return std::uint64_t{96}; }, host, told);
  return told;
}

} // namespace

TEST_CASE("kernels and copies lie on their streams, and what overlaps partly on a second line") {
  RankRows rows{.rank = 3};
  rows.streams = {{.id = 0, .device = 1, .library_id = 7, .name = {5}}};
  rows.kernels = {
      {.start_ns = 1'000, .duration_ns = 50, .name = {1}},
      {.start_ns = 1'040, .duration_ns = 60, .name = {1}},
      {.start_ns = 1'050, .duration_ns = 10, .name = {2}, .flags = trace::k_communication},
      {.start_ns = 0, .duration_ns = 0, .name = {1}, .flags = trace::k_no_times}};
  rows.copies = {{.start_ns = 1'100, .bytes = 64, .duration_ns = 5, .kind = trace::CopyKind::peer}};

  Told told = told_of(rows);

  REQUIRE(told.lines ==
          std::vector<std::string>{
              "process node7", "track 1 rank 3: device 1 stream 7 main", "1 0-50 compute gemm",
              "1 50-60 communication ncclKernel", "1 100-105 copy copy between devices",
              "track 2 rank 3: device 1 stream 7 main (2)", "2 40-100 compute gemm",
              "counter 3 rank 3: bytes in flight: copies [bytes]", "3 100 = 64", "3 105 = 0"});
  REQUIRE(told.flows.empty());
}

TEST_CASE("the program's ranges have a line for each thread, and lie within each other") {
  RankRows rows{.rank = 3};
  rows.ranges = {{.start_ns = 1'020, .end_ns = 1'050, .name = {1}, .thread = 7, .level = 1},
                 {.start_ns = 1'010, .end_ns = 1'090, .name = {5}, .domain = {4}, .thread = 7},
                 {.start_ns = 1'000, .end_ns = 1'040, .name = {1}, .thread = 9},
                 {.start_ns = 900, .end_ns = 990, .name = {1}, .thread = 9}};

  Alignment from_origin = alignment();
  from_origin.from_ns = 0;
  from_origin.until_ns = 80;

  REQUIRE(told_of(rows, from_origin).lines ==
          std::vector<std::string>{"process node7", "track 1 rank 3: NVTX ranges, thread 7",
                                   "1 10-90 range main", "1 20-50 range gemm",
                                   "track 2 rank 3: NVTX ranges, thread 9", "2 0-40 range gemm"});
}

TEST_CASE("a collective's flow is NCCL's key where there is one, else the operation's") {
  RankRows with_nccl{.rank = 0};
  with_nccl.communicators = {{.hash = 99, .id = 4}};
  with_nccl.nccl_operations = {{.enqueue_ns = 1'000,
                                .enqueued_ns = 1'010,
                                .sequence = 12,
                                .count = 100,
                                .id = 1,
                                .operation = 8,
                                .function = {3},
                                .data_type = {4},
                                .communicator = 4}};
  with_nccl.kernels = {{.start_ns = 1'020,
                        .duration_ns = 10,
                        .name = {2},
                        .operation = 8,
                        .flags = trace::k_communication}};
  RankRows without = with_nccl;
  without.nccl_operations.clear();
  without.operations = {{.start_ns = 1'000,
                         .duration_ns = 10,
                         .id = 8,
                         .cell = 1,
                         .batch = 2,
                         .iteration = 3,
                         .index = 4}};

  Told by_nccl = told_of(with_nccl);
  Told by_operation = told_of(without);

  REQUIRE(by_nccl.flows == std::vector{flow_of(99, "AllReduce", 12)});
  REQUIRE(by_operation.flows == std::vector{flow_of(without.operations[0])});
  REQUIRE(by_nccl.lines.back() == "3 30 = 0"); // bytes in flight, and before:
  REQUIRE(by_nccl.lines.at(by_nccl.lines.size() - 2) == "3 20 = 400");
  REQUIRE(by_operation.lines.at(by_operation.lines.size() - 2) == "3 20 = 96"); // the schedule's
}

TEST_CASE("a group's kernel is joined with the other sides of its messages") {
  auto message = [](trace::NcclKind kind, std::uint32_t id, int peer, std::uint64_t number) {
    return trace::NcclOperationRow{.enqueue_ns = 1'000,
                                   .enqueued_ns = 1'010,
                                   .sequence = number,
                                   .count = 100,
                                   .id = id,
                                   .operation = 8,
                                   .data_type = {4},
                                   .peer = peer,
                                   .kind = kind};
  };
  RankRows rows{.rank = 0};
  rows.communicators = {{.hash = 99, .rank = 2, .id = 0}};
  rows.nccl_operations = {message(trace::NcclKind::send, 1, 3, 5),
                          message(trace::NcclKind::receive, 2, 1, 6)};
  rows.kernels = {{.start_ns = 1'020,
                   .duration_ns = 10,
                   .name = {2},
                   .operation = 8,
                   .flags = trace::k_communication}};

  Told told = told_of(rows);

  REQUIRE(told.flows == std::vector{flow_of_message(99, 2, 3, 5), flow_of_message(99, 1, 2, 6)});
  REQUIRE_FALSE(told.flows[0] == told.flows[1]);
  REQUIRE(told.lines.at(told.lines.size() - 2) == "3 20 = 800"); // bytes in flight
}

TEST_CASE("without kernels, as in a job that was not started by us, NCCL's own events are joined") {
  RankRows rows{.rank = 0};
  rows.communicators = {{.hash = 99, .id = 0}};
  rows.nccl_operations = {{.enqueue_ns = 1'000,
                           .enqueued_ns = 1'010,
                           .sequence = 1,
                           .count = 100,
                           .id = 1,
                           .function = {3},
                           .data_type = {4}}};
  rows.nccl_channels = {{.start_gt = 5'020,
                         .stop_gt = 5'030,
                         .start_ns = 1'000,
                         .stop_ns = 1'500,
                         .nccl_operation = 1,
                         .channel = 2},
                        {.start_ns = 1'020, .stop_ns = 1'040, .nccl_operation = 1, .channel = 3}};

  Told told = told_of(rows);

  REQUIRE(told.flows == std::vector{flow_of(99, "AllReduce", 1)});
  REQUIRE(told.lines ==
          std::vector<std::string>{
              "process node7", "track 1 rank 0: NCCL: enqueued", "1 0-10 nccl AllReduce",
              "track 2 rank 0: NCCL channel 2", "2 20-30 channel AllReduce",
              "track 3 rank 0: NCCL channel 3", "3 20-40 channel AllReduce",
              "counter 4 rank 0: bytes in flight: collectives [bytes]", "4 20 = 400", "4 40 = 0"});
  REQUIRE(told.flow_lines == std::vector<std::string>{"2 20-30"}); // where the data goes
}

TEST_CASE("a window keeps what overlaps it, with the real length of what is longer than 32 bits") {
  RankRows rows{.rank = 0};
  rows.kernels = {{.start_ns = 1'000, .duration_ns = trace::k_long_duration, .name = {1}},
                  {.start_ns = 2'000, .duration_ns = 10, .name = {1}}};
  rows.long_durations = {{1'000, 9'000'000'000, trace::Table::kernel}};
  Alignment late = alignment();
  late.from_ns = 8'000'000'000;

  Told told = told_of(rows, late);

  REQUIRE(told.lines == std::vector<std::string>{"process node7", "track 1 rank 0: stream 0",
                                                 "1 0-9000000000 compute gemm"});
}

TEST_CASE("spans of the host lie within each other on one line") {
  RankRows rows{.rank = 0};
  rows.spans = {{.start_ns = 1'010, .end_ns = 1'090, .kind = trace::SpanKind::batch},
                {.start_ns = 1'000, .end_ns = 1'100, .kind = trace::SpanKind::cell}};

  Told told = told_of(rows);

  REQUIRE(told.lines == std::vector<std::string>{"process node7", "track 1 rank 0: host: cells",
                                                 "1 0-100 span cell", "1 10-90 span batch"});
}

TEST_CASE("the ranks of a host are lines of one process") {
  RankRows first{.rank = 4};
  first.kernels = {{.start_ns = 1'000, .duration_ns = 50, .name = {1}}};
  RankRows second = first;
  second.rank = 5;
  HostPicture host{.process = 2, .name = "node7"};
  Told told;

  for (const RankRows* rows : {&first, &second})
    add_rank(
        *rows, alignment(), text_of, [](const trace::OperationRow&) { return std::uint64_t{0}; },
        host, told);

  REQUIRE(told.lines == std::vector<std::string>{"process node7", "track 1 rank 4: stream 0",
                                                 "1 0-50 compute gemm", "track 2 rank 5: stream 0",
                                                 "2 0-50 compute gemm"});
}

TEST_CASE("calls have their names, or their number where CUPTI did not tell") {
  RankRows rows{.rank = 0};
  rows.calls = {
      {.start_ns = 1'000, .duration_ns = 5, .name = {1}},
      {.start_ns = 1'010, .duration_ns = 5, .function = 307, .domain = trace::CallDomain::driver}};

  Told told = told_of(rows);

  REQUIRE(told.lines ==
          std::vector<std::string>{"process node7", "track 1 rank 0: CUDA calls, thread 0",
                                   "1 0-5 call gemm", "1 10-15 call driver call 307"});
}
