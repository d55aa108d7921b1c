// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// The data check against a library that errs: for every type, every collective that can err so, out
// of place and in place, in both modes of timing. The batches are checked at their last launch, so
// that is where the faults are.
#include "support/catch.h"
#include "worker/faulty_backend.h"
#include "worker/local_run.h"
#include "workload/collective_benchmark.h"

#include <set>

using namespace ncclprobe;
using namespace ncclprobe::model;
using support::PlantedFault;
using Kind = PlantedFault::Kind;

namespace {

constexpr int k_ranks = 2;
constexpr int k_iterations = 2;
constexpr std::uint64_t k_bytes = 1536;

struct Case {
  Collective collective;
  DataType type;
  ReduceOp op;
  Placement placement;
  TimingMode mode;
};

std::string in_words(const Case& one) {
  return fmt::format("{} {} {} {} {}", to_string(one.collective), to_string(one.type),
                     to_string(one.op), to_string(one.placement), to_string(one.mode));
}

// Nothing, if there is no such operation.
std::optional<Cell> cell_for(const Case& one) {
  workload::CollectiveRequest request;
  request.collective = one.collective;
  request.bytes = k_bytes;
  request.type = one.type;
  request.op = one.op;
  request.placement = one.placement;
  request.ranks = k_ranks;
  Timing timing;
  timing.warmups = 1;
  timing.iterations = k_iterations;
  timing.batches = 1;
  timing.mode = one.mode;
  auto cell = workload::make_collective_cell(request, timing);
  return cell ? std::optional(*cell) : std::nullopt;
}

template <typename Act>
void for_each_case(Act act) {
  for (const auto& [collective, collective_name] : enum_names(Collective{}))
    for (const auto& [type, type_name] : enum_names(DataType{}))
      for (const auto& [op, op_name] : enum_names(ReduceOp{}))
        for (Placement placement : {Placement::out_of_place, Placement::in_place})
          for (TimingMode mode : {TimingMode::batch, TimingMode::latency}) {
            // Operations matter where elements are combined; one such collective will do.
            if (op != ReduceOp::sum && collective != Collective::all_reduce)
              continue;
            Case one{collective, type, op, placement, mode};
            if (auto cell = cell_for(one))
              act(one, *cell);
          }
}

// The launch, since the ranks last met, whose data the runner looks at.
int checked_launch(const Case& one) {
  bool last_of_batch = one.mode == TimingMode::batch && one.placement == Placement::out_of_place;
  return last_of_batch ? k_iterations : 1;
}

// A rank that has an output, or an input.
int rank_with_output(Collective collective) {
  bool root_only = collective == Collective::reduce || collective == Collective::gather;
  return root_only ? 0 : 1;
}
int rank_with_input(Collective collective) {
  bool root_only = collective == Collective::broadcast || collective == Collective::scatter;
  return root_only ? 0 : 1;
}

// Runs all cases with the fault; every one must be seen, on some rank.
void require_caught(Kind kind) {
  PlantedFault fault;
  support::LocalRun run(support::make_faulty_backend(support::options_for(k_ranks), fault),
                        k_ranks);
  std::set<DataType> types;
  for_each_case([&](const Case& one, const Cell& cell) {
    fault = {kind,
             kind == Kind::no_contribution ? rank_with_input(one.collective)
                                           : rank_with_output(one.collective),
             checked_launch(one)};
    auto results = run.run(cell);
    INFO(in_words(one));
    if (results[0].outcome.kind == OutcomeKind::skipped)
      return;
    int wrong = 0;
    for (const model::CellRecord& result : results) {
      CHECK(result.check.kind == CheckResult::Kind::checked);
      wrong += result.outcome.kind == OutcomeKind::wrong_data ? 1 : 0;
    }
    CHECK(wrong > 0);
    types.insert(one.type);
  });
  CHECK(types.size() == enum_names(DataType{}).size());
}

} // namespace

TEST_CASE("without a fault all data is right, in every type") {
  PlantedFault none;
  support::LocalRun run(support::make_faulty_backend(support::options_for(k_ranks), none), k_ranks);
  for_each_case([&](const Case& one, const Cell& cell) {
    auto results = run.run(cell);
    INFO(in_words(one));
    if (results[0].outcome.kind == OutcomeKind::skipped)
      return;
    for (const model::CellRecord& result : results) {
      CHECK(result.outcome.ok());
      CHECK(result.check.launches == (one.mode == TimingMode::latency ? k_iterations : 1));
    }
  });
}

TEST_CASE("a launch that leaves stale output is caught, in every type") {
  require_caught(Kind::nothing_done);
}

TEST_CASE("two chunks that are swapped are caught, in every type") {
  require_caught(Kind::swapped_chunks);
}

TEST_CASE("one wrong element is caught, in every type") {
  require_caught(Kind::one_element);
}

TEST_CASE("a rank whose input is missing is caught, in every type") {
  require_caught(Kind::no_contribution);
}

TEST_CASE("a rank whose output is not written is caught, in every type") {
  require_caught(Kind::no_output);
}

TEST_CASE("the first fault ends the cell and is named by rank, element and launch") {
  PlantedFault fault{Kind::one_element, 1, 1, 0};
  support::LocalRun run(support::make_faulty_backend(support::options_for(k_ranks), fault),
                        k_ranks);
  Cell cell = *cell_for({Collective::all_reduce, DataType::i32, ReduceOp::sum,
                         Placement::out_of_place, TimingMode::latency});
  cell.timing.iterations = 50;
  // Warm-up meets twice before the timed part, and this part three times a launch.
  auto clean_launches = [&] {
    fault.first_meeting = 1000;
    return run.run(cell)[0].samples.size();
  }();
  fault.first_meeting = 225; // in the second run of the cell, some launches after its first

  auto results = run.run(cell);

  CHECK(clean_launches == 50);
  CHECK(results[0].outcome.ok());
  CHECK(results[1].outcome.kind == OutcomeKind::wrong_data);
  CHECK(results[1].check.wrong == 1);
  CHECK(results[1].samples.size() > 1);
  CHECK(results[1].samples.size() < 50);
  CHECK(results[0].samples.size() == results[1].samples.size());
  CHECK_THAT(results[1].outcome.reason,
             ContainsSubstring("rank 1 element 192") &&
                 ContainsSubstring(fmt::format("launch {}", results[1].samples.size())));
}
