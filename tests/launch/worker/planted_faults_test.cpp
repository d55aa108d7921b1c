// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Tests the data check with a library that errs: for every collective, type and operation, out of
// place and in place. Batches are checked at their last launch, so the faults are there.
#include "launch/worker/faulty_backend.h"
#include "launch/worker/local_run.h"
#include "support/catch.h"
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
            if (op != ReduceOp::sum && (!reduces(collective) || mode == TimingMode::latency))
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

bool is_extreme(ReduceOp op) {
  return op == ReduceOp::max || op == ReduceOp::min;
}

// Whether the fault makes a difference at all.
bool applies(Kind kind, const Case& one) {
  switch (kind) {
  case Kind::narrow_result:
    return is_float(one.type);
  case Kind::upper_half:
    return !is_float(one.type);
  case Kind::result_sign:
  case Kind::input_sign:
    return !is_unsigned(one.type);
  case Kind::twice:
    return reduces(one.collective) && !is_extreme(one.op);
  case Kind::last_missed: // in place it is the input's, which may be right by chance
    return one.placement == Placement::out_of_place || one.op == ReduceOp::sum;
  case Kind::stray_output:
    return one.collective == Collective::reduce || one.collective == Collective::gather;
  case Kind::input_changed: // in place that is the requested behaviour
    return one.placement == Placement::out_of_place;
  default:
    return true;
  }
}

int rank_that_errs(Kind kind, Collective collective) {
  switch (kind) {
  case Kind::last_missed: // of the last block, which is not its own
    return collective == Collective::all_gather ? 0 : rank_with_output(collective);
  case Kind::no_contribution:
  case Kind::twice:
  case Kind::input_sign:
  case Kind::shifted:
  case Kind::wrong_rank:
  case Kind::input_changed:
    return rank_with_input(collective);
  case Kind::stray_output:
    return 1; // not the root
  default:
    return rank_with_output(collective);
  }
}

// Runs all cases with the fault; every one must be seen, on some rank.
void require_caught(Kind kind) {
  PlantedFault fault;
  support::LocalRun run(support::make_faulty_backend(fault), k_ranks);
  std::set<DataType> types;
  std::set<Collective> collectives;
  for_each_case([&](const Case& one, const Cell& cell) {
    if (!applies(kind, one))
      return;
    fault = {kind, rank_that_errs(kind, one.collective), checked_launch(one)};
    auto results = run.run(cell);
    INFO(in_words(one));
    if (results[0].outcome.kind == OutcomeKind::skipped)
      return;
    int wrong = 0;
    for (const model::CellRecord& result : results) {
      CHECK(result.check.checked);
      CHECK(result.outcome.ok() == result.check.first_wrong.empty());
      wrong += result.outcome.kind == OutcomeKind::wrong_data ? 1 : 0;
    }
    CHECK(wrong > 0);
    types.insert(one.type);
    collectives.insert(one.collective);
  });
  std::size_t all_types = 0;
  for (const auto& [type, name] : enum_names(DataType{}))
    all_types += applies(kind, {Collective::reduce, type}) ? 1 : 0;
  CHECK(types.size() == all_types);
  std::size_t all_collectives = 0;
  for (const auto& [collective, name] : enum_names(Collective{}))
    all_collectives += applies(kind, {collective, *types.begin()}) ? 1 : 0;
  CHECK(collectives.size() == all_collectives);
}

} // namespace

TEST_CASE("without a fault all data is right, in every type") {
  PlantedFault none;
  support::LocalRun run(support::make_faulty_backend(none), k_ranks);
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

TEST_CASE("a launch that leaves stale output is caught") {
  require_caught(Kind::nothing_done);
}
TEST_CASE("a rank whose output is not written is caught") {
  require_caught(Kind::no_output);
}
TEST_CASE("a last element that is not written is caught") {
  require_caught(Kind::last_missed);
}
TEST_CASE("two chunks that are swapped are caught") {
  require_caught(Kind::swapped_chunks);
}
TEST_CASE("elements that are swapped with their neighbours are caught") {
  require_caught(Kind::swapped_elements);
}
TEST_CASE("one wrong element is caught") {
  require_caught(Kind::one_element);
}
TEST_CASE("floats computed in a narrower type, such as f64 in f32, are caught") {
  require_caught(Kind::narrow_result);
}
TEST_CASE("integers that lose their upper half are caught") {
  require_caught(Kind::upper_half);
}
TEST_CASE("results that lose their sign are caught") {
  require_caught(Kind::result_sign);
}
TEST_CASE("a rank whose input is missing is caught") {
  require_caught(Kind::no_contribution);
}
TEST_CASE("a rank whose input counts twice is caught") {
  require_caught(Kind::twice);
}
TEST_CASE("a rank whose input loses its sign is caught") {
  require_caught(Kind::input_sign);
}
TEST_CASE("an input that is read from one element further on is caught") {
  require_caught(Kind::shifted);
}
TEST_CASE("an input that is another rank's is caught") {
  require_caught(Kind::wrong_rank);
}
TEST_CASE("a byte written behind the output is caught") {
  require_caught(Kind::beyond);
}
TEST_CASE("a byte written before the output is caught") {
  require_caught(Kind::before);
}
TEST_CASE("an output written on a rank that gets none is caught") {
  require_caught(Kind::stray_output);
}
TEST_CASE("an input that is overwritten is caught") {
  require_caught(Kind::input_changed);
}

TEST_CASE(
    "what is overwritten by any launch is caught, not only by one whose results are checked") {
  PlantedFault fault{Kind::beyond, 1, 1, 0};
  support::LocalRun run(support::make_faulty_backend(fault), k_ranks);
  for (TimingMode mode : {TimingMode::batch, TimingMode::latency})
    for (Placement placement : {Placement::out_of_place, Placement::in_place}) {
      Case one{Collective::all_reduce, DataType::f32, ReduceOp::sum, placement, mode};
      INFO(in_words(one));
      auto results = run.run(*cell_for(one));

      CHECK(results[0].outcome.ok());
      CHECK(results[1].outcome.kind == OutcomeKind::wrong_data);
      CHECK(results[1].check.wrong == 0);
      std::string buffer = placement == Placement::in_place ? "data" : "receive";
      CHECK(results[1].outcome.reason ==
            "rank 1: 1 byte outside all results overwritten, the first at byte 1536 of buffer '" +
                buffer + "' (1536 bytes)");
    }
}

TEST_CASE("the first fault ends the cell and is named by rank, element and launch") {
  PlantedFault fault{Kind::one_element, 1, 1, 0};
  support::LocalRun run(support::make_faulty_backend(fault), k_ranks);
  Cell cell = *cell_for({Collective::all_reduce, DataType::i32, ReduceOp::sum,
                         Placement::out_of_place, TimingMode::latency});
  cell.timing.iterations = 50;
  // Warm-up meets twice before the timed part, and this part three times a launch.
  auto clean_launches = [&] {
    fault.first_barrier = 1000;
    return run.run(cell)[0].samples.size();
  }();
  fault.first_barrier = 225; // in the second run of the cell, some launches after its first

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
