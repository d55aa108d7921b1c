// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "trace/spool_reader.h"

#include "backend/synthetic/synthetic_backend.h"
#include "host/host_backend.h"
#include "launch/worker/schedule_runner.h"
#include "launch/worker/trace_recorder.h"
#include "support/catch.h"
#include "support/local_rendezvous.h"
#include "support/scratch_folder.h"
#include "support/spool_rows.h"
#include "workload/collective_benchmark.h"

#include <algorithm>
#include <map>
#include <set>

using namespace ncclprobe;
using namespace ncclprobe::trace;

namespace {

struct Traced {
  std::vector<std::string> texts{""};
  std::map<int, std::vector<KernelRow>> kernels;
  std::map<int, std::vector<OperationRow>> operations;
  std::map<int, std::vector<SpanRow>> spans;
  std::map<LossKind, std::uint64_t> ledger;
};

Traced read(const std::filesystem::path& path) {
  Traced traced;
  REQUIRE(read_spool(path, [&](const SpoolBlock& block) {
    auto add = [&](auto& to, const auto& rows) { to.insert(to.end(), rows.begin(), rows.end()); };
    if (block.table == Table::strings)
      traced.texts.push_back(block.text());
    if (block.table == Table::kernel)
      add(traced.kernels[block.rank], block.as<KernelRow>());
    if (block.table == Table::operation)
      add(traced.operations[block.rank], block.as<OperationRow>());
    if (block.table == Table::span)
      add(traced.spans[block.rank], block.as<SpanRow>());
    if (block.table == Table::loss)
      for (const LossRow& row : block.as<LossRow>())
        traced.ledger[row.kind] = row.count;
  }));
  return traced;
}

model::Cell all_reduce_cell(model::TimingMode mode) {
  workload::CollectiveRequest request;
  request.collective = model::Collective::all_reduce;
  request.ranks = 2;
  request.bytes = 4096;
  model::Timing timing{2, 3, 4};
  timing.mode = mode;
  auto cell = workload::make_collective_cell(request, timing);
  REQUIRE(cell);
  return *cell;
}

Traced run_traced(std::unique_ptr<backend::Backend> backend, const std::filesystem::path& path,
                  const model::Cell& cell) {
  worker::TraceRecorder recorder(*backend, model::TraceLevel::kernels, path.string(),
                                 {{0, 0}, {1, 1}});
  support::LocalRendezvous rendezvous;
  worker::ProgressBoard board;
  std::vector<worker::LocalRank> local_ranks;
  for (int rank = 0; rank < 2; ++rank)
    local_ranks.push_back({rank, backend->open_device(rank)});
  {
    worker::ScheduleRunner runner(*backend, std::move(local_ranks), 2, 1, rendezvous, board,
                                  recorder);
    recorder.enter_cell(0);
    for (const model::CellRecord& result : runner.run(cell))
      CHECK(result.outcome.ok());
    recorder.end_cell();
    recorder.finish();
  }
  return read(path);
}

backend::Options two_ranks() {
  backend::Options options;
  options.host_of_rank = {0, 0};
  return options;
}

// Whose devices cannot be traced.
class Blind final : public backend::Backend {
public:
  std::string_view name() const override { return "blind"; }
  bool moves_data() const override { return false; }
  std::unique_ptr<backend::Device> open_device(int) override { return nullptr; }
  std::vector<std::unique_ptr<backend::Communicator>> connect(const std::string&,
                                                              const std::vector<int>&,
                                                              std::span<const backend::Member>,
                                                              backend::Rendezvous&) override {
    return {};
  }
  void group_begin() override {}
  void group_end() override {}
  double max_over_ranks(std::span<backend::Communicator* const>, double value) override {
    return value;
  }
  std::int64_t now_ns() override { return 0; }
  std::unique_ptr<backend::Tracer> start_trace(const backend::TraceRequest&) override {
    class Nothing final : public backend::Tracer {
      void begin_operation(std::uint32_t, std::uint64_t) override {}
      void end_operation(std::uint64_t) override {}
      void flush() override {}
      void finish() override {}
      std::string missing() const override { return "no kernels: another tool has CUPTI"; }
    };
    return std::make_unique<Nothing>();
  }
};

} // namespace

TEST_CASE("what a tracer cannot record stands in the trace of each rank, with the reason") {
  support::ScratchFolder folder;
  Blind backend;

  worker::TraceRecorder recorder(backend, model::TraceLevel::kernels, folder / "a.spool",
                                 {{0, 4}, {1, 5}});

  std::set<int> ranks;
  for (const auto& [rank, row] : support::ranked_rows<FactRow>(folder / "a.spool"))
    if (support::text_in(folder / "a.spool", row.name) == k_missing) {
      ranks.insert(rank);
      CHECK(support::text_in(folder / "a.spool", row.value) ==
            "no kernels: another tool has CUPTI");
    }
  CHECK(ranks == std::set{4, 5});
}

TEST_CASE("a traced cell shows every launch of every batch, on both ranks") {
  bool synthetic = GENERATE(true, false);
  support::ScratchFolder folder;
  Traced traced = run_traced(synthetic ? backend::make_synthetic_backend(two_ranks())
                                       : host::make_backend(two_ranks()),
                             folder / "a.spool", all_reduce_cell(model::TimingMode::batch));
  for (int rank : {0, 1}) {
    std::map<std::uint32_t, const OperationRow*> by_id;
    std::set<std::pair<int, std::uint32_t>> launches;
    for (const OperationRow& row : traced.operations[rank]) {
      CHECK(by_id.emplace(row.id, &row).second);
      CHECK(row.cell == 0);
      CHECK(row.kind == OperationKind::collective);
      if (row.batch >= 0)
        CHECK(launches.emplace(row.batch, row.iteration).second);
    }
    CHECK(launches.size() == 12); // 4 batches of 3
    CHECK(launches.count({3, 2}) == 1);
    std::set<std::uint32_t> executed;
    for (const KernelRow& row : traced.kernels[rank]) {
      REQUIRE(by_id.count(row.operation) == 1);
      CHECK(executed.insert(row.operation).second);
      CHECK(traced.texts.at(row.name.id) == "all_reduce");
      CHECK(row.flags == k_communication);
      if (!synthetic)
        CHECK(row.start_ns >= by_id[row.operation]->start_ns);
    }
    CHECK(executed.size() == by_id.size());
    auto count = [&](SpanKind kind) {
      return std::count_if(traced.spans[rank].begin(), traced.spans[rank].end(),
                           [&](const SpanRow& span) { return span.kind == kind; });
    };
    CHECK(count(SpanKind::cell) == 1);
    CHECK(count(SpanKind::batch) == 4);
    CHECK(count(SpanKind::warm_up) >= 2);
    CHECK(count(SpanKind::meeting) >= 4);
  }
  CHECK(traced.ledger[LossKind::launches_seen] == traced.ledger[LossKind::kernels_delivered]);
  CHECK(traced.ledger[LossKind::launches_seen] ==
        traced.kernels[0].size() + traced.kernels[1].size());
}

TEST_CASE("in latency mode every sample is a launch of its own") {
  support::ScratchFolder folder;
  Traced traced = run_traced(backend::make_synthetic_backend(two_ranks()), folder / "a.spool",
                             all_reduce_cell(model::TimingMode::latency));
  std::map<int, int> launches;
  for (const OperationRow& row : traced.operations[0])
    if (row.batch >= 0)
      ++launches[row.batch];
  CHECK(launches.size() == 12);
  for (const auto& [batch, count] : launches)
    CHECK(count == 1);
}

TEST_CASE("off, a recorder writes nothing and asks nobody") {
  worker::TraceRecorder recorder;
  CHECK_FALSE(recorder.on());
  recorder.begin_operation({});
  recorder.end_operation();
  { worker::TraceRecorder::Span span(recorder, SpanKind::cell); }
  recorder.end_cell();
  recorder.finish();
}

TEST_CASE("a trace whose file cannot be made ends the trial with the path") {
  auto backend = backend::make_synthetic_backend(two_ranks());
  try {
    worker::TraceRecorder recorder(*backend, model::TraceLevel::kernels, "/nowhere/a.spool", {});
    FAIL("it was made");
  } catch (const base::Exception& error) {
    CHECK(error.error().code == base::Errc::unavailable);
    CHECK(error.error().text().find("/nowhere/a.spool") != std::string::npos);
  }
}
