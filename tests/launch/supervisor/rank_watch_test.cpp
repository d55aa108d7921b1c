// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "trial_lab.h"

#include "launch/supervisor/rank_watch.h"
#include "support/catch.h"

using namespace ncclprobe;
using launch::RankWatch;
using launch::WorkerPhase;

namespace {

// A limit nobody can keep, to see which one applies.
constexpr std::int64_t k_at_once = 0;
constexpr std::int64_t k_now_ns = 1000;

} // namespace

TEST_CASE("a rank that keeps the order has no complaint against it") {
  model::TrialSpec spec = test_launch::make_spec(1, 2);
  RankWatch watch(0, spec, k_now_ns);

  CHECK(!watch.on_hello());
  CHECK(!watch.on_phase({WorkerPhase::communicator_init, -1}, k_now_ns));
  CHECK(!watch.started());
  CHECK(!watch.on_phase({WorkerPhase::cell, 0}, k_now_ns));
  CHECK(watch.started());
  CHECK(watch.current_cell() == 0);
  CHECK(!watch.on_cell_end({0, {}}, k_now_ns));
  CHECK(watch.current_cell() == -1);
  CHECK(!watch.on_phase({WorkerPhase::cell, 1}, k_now_ns));
  CHECK(watch.measuring());
  CHECK(!watch.on_cell_end({1, {}}, k_now_ns));
  CHECK(!watch.on_done(k_now_ns));
  CHECK(watch.done());
}

TEST_CASE("what no correct worker says is named") {
  model::TrialSpec spec = test_launch::make_spec(1, 2);
  RankWatch watch(0, spec, k_now_ns);
  watch.on_hello();
  watch.on_phase({WorkerPhase::cell, 0}, k_now_ns);
  watch.on_cell_end({0, {}}, k_now_ns);

  CHECK(watch.on_hello().has_value());
  CHECK(watch.on_phase({WorkerPhase::cell, 2}, k_now_ns).has_value());
  CHECK(watch.on_phase({WorkerPhase::cell, -7}, k_now_ns).has_value());
  CHECK(watch.on_phase({WorkerPhase::cell, 0}, k_now_ns).has_value());
  CHECK(watch.on_phase({WorkerPhase::ready, -1}, k_now_ns).has_value());    // it was further
  CHECK(watch.on_phase({WorkerPhase::teardown, -1}, k_now_ns).has_value()); // Done says so
  CHECK(watch.on_cell_end({0, {}}, k_now_ns).has_value());
  CHECK(watch.on_cell_end({2, {}}, k_now_ns).has_value());
  CHECK(watch.on_cell_end({1, {{}, {}, {{5, 0, 1, 1}}, {}}}, k_now_ns)
            .has_value());                    // a sample of rank 5
  CHECK(watch.on_done(k_now_ns).has_value()); // with a cell to go
}

TEST_CASE("each step has its own deadline") {
  model::TrialSpec spec = test_launch::make_spec(1, 2);
  SECTION("start-up") {
    spec.startup_deadline_ns = k_at_once;
    RankWatch watch(0, spec, k_now_ns);
    watch.on_phase({WorkerPhase::communicator_init, -1}, k_now_ns);
    CHECK(watch.late(k_now_ns)); // a phase on the way does not buy time
    watch.on_phase({WorkerPhase::cell, 0}, k_now_ns);
    CHECK(!watch.late(k_now_ns));
  }
  SECTION("a cell, and the way to it from the one before") {
    spec.cells[1].deadline_ns = k_at_once;
    RankWatch watch(0, spec, k_now_ns);
    watch.on_phase({WorkerPhase::cell, 0}, k_now_ns);
    CHECK(!watch.late(k_now_ns));
    watch.on_cell_end({0, {}}, k_now_ns);
    CHECK(watch.late(k_now_ns));
    watch.on_phase({WorkerPhase::cell, 1}, k_now_ns);
    CHECK(watch.late(k_now_ns));
    watch.on_cell_end({1, {}}, k_now_ns);
    CHECK(!watch.late(k_now_ns));
  }
  SECTION("teardown, until the exit") {
    spec.teardown_deadline_ns = k_at_once;
    RankWatch watch(0, spec, k_now_ns);
    watch.on_cell_end({0, {}}, k_now_ns);
    watch.on_cell_end({1, {}}, k_now_ns);
    watch.on_done(k_now_ns);
    CHECK(watch.late(k_now_ns));
    watch.on_exit();
    CHECK(!watch.late(k_now_ns));
  }
}
