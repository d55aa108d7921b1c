// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/results/conditions.h"
#include "support/catch.h"
#include "support/run_builder.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::support;
using When = model::Condition::When;

namespace {

model::CellRecord with_condition(When when, std::uint64_t reasons) {
  auto record = make_record(1, 100);
  record.conditions = {{.rank = 0, .when = when, .throttle_reasons = reasons}};
  return record;
}

} // namespace

TEST_CASE("a cell is throttled by what was read during or after it, not before") {
  CHECK(throttle_reasons(with_condition(When::before, 0x4)) == 0);
  CHECK(throttle_reasons(with_condition(When::during, 0x4)) == 0x4);
  CHECK(throttle_reasons(with_condition(When::after, 0x40)) == 0x40);
}

TEST_CASE("an idle GPU and clocks that somebody set are no throttling") {
  CHECK(throttle_reasons(with_condition(When::after, 0x1 | 0x2 | 0x10 | 0x100)) == 0);
  CHECK(throttle_text(0x1 | 0x2 | 0x10 | 0x100).empty());
}

TEST_CASE("reasons are told in words") {
  CHECK(throttle_text(0x4 | 0x40) == "software power cap, hardware thermal slowdown");
}

TEST_CASE("the summary spans all readings of measuring trials and counts throttled cells once") {
  RunBuilder run(1);
  run.trial()
      .cell("broadcast", 8, 100,
            {.conditions = {{.when = When::before, .sm_clock_mhz = 1980, .temperature_c = 40},
                            {.when = When::during, .sm_clock_mhz = 1500, .throttle_reasons = 0x20},
                            {.when = When::after, .temperature_c = 70, .throttle_reasons = 0x20}}})
      .cell("broadcast", 16, 100); // nothing read
  run.trial({}, model::Purpose::companion)
      .cell("broadcast", 8, 100, {.conditions = {{.when = When::before, .sm_clock_mhz = 300}}});

  auto summary = summarise_conditions(run);

  CHECK(summary.sm_clock_mhz == Range{{1500, 1980}});
  CHECK(summary.temperature_c == Range{{40, 70}});
  CHECK_FALSE(summary.power_mw.has_value());
  CHECK(summary.throttle_reasons == 0x20);
  CHECK(summary.cells == 1);
  CHECK(summary.throttled_cells == 1);
}

TEST_CASE("throttling that could not be read is not known, rather than absent") {
  RunBuilder run(1);
  run.trial().cell("broadcast", 8, 100,
                   {.conditions = {{.when = When::after, .sm_clock_mhz = 1980}}});

  CHECK_FALSE(summarise_conditions(run).throttle_reasons.has_value());
}

TEST_CASE("other processes on a GPU and memory errors that come in a run are told, by rank") {
  RunBuilder run(2);
  std::vector<model::Condition> read{
      {.rank = 0, .when = When::before, .processes = 1, .corrected_errors = 7},
      {.rank = 0, .when = When::after, .processes = 1, .corrected_errors = 7},
      {.rank = 1,
       .when = When::before,
       .processes = 1,
       .corrected_errors = 4,
       .uncorrected_errors = 0},
      {.rank = 1,
       .when = When::after,
       .processes = 2,
       .corrected_errors = 6,
       .uncorrected_errors = 1}};
  auto trial = run.trial().cell("broadcast", 8, 100, {.conditions = read});
  read[3].processes = 1;
  read[3].corrected_errors = 9;
  trial.cell("broadcast", 16, 100, {.conditions = read});

  auto summary = summarise_conditions(run);

  CHECK(summary.shared_ranks == std::vector<int>{1});
  CHECK(summary.shared_cells == 1);
  CHECK(summary.counted_cells == 2);
  REQUIRE(summary.memory_errors.size() == 1);
  CHECK(summary.memory_errors.at(1) == MemoryErrors{5, 1});
  CHECK(disturbances(summary) ==
        "other processes used the GPU of rank 1 around 1 of 2 cells, which disturbs the "
        "measurement; the GPU of rank 1 counted 5 corrected and 1 uncorrected memory errors during "
        "the run");
}

TEST_CASE("nothing disturbs where nothing was read, or only our own process was there") {
  RunBuilder run(1);
  run.trial().cell("broadcast", 8, 100,
                   {.conditions = {{.when = When::before, .sm_clock_mhz = 1980},
                                   {.when = When::after, .processes = 1, .corrected_errors = 3}}});

  CHECK(disturbances(summarise_conditions(run)).empty());
}

TEST_CASE("memory errors that came between trials are not the run's") {
  RunBuilder run(1);
  for (std::uint64_t before : {100U, 40U, 900U}) // of another GPU, or days later
    run.trial().cell("broadcast", 8, 100,
                     {.conditions = {{.when = When::before, .corrected_errors = before},
                                     {.when = When::after, .corrected_errors = before + 2}}});

  CHECK(summarise_conditions(run).memory_errors.at(0) == MemoryErrors{6, 0});
}

TEST_CASE("ranks that share one GPU are no strangers to each other") {
  RunBuilder run(2);
  for (model::CudaDevice& gpu : run.header.hosts[0].gpus) // two MIG instances
    gpu.pci_bus_id = "0000:1b:00.0";
  std::vector<model::Condition> read{{.rank = 0, .when = When::before, .processes = 2},
                                     {.rank = 1, .when = When::before, .processes = 2}};
  auto trial = run.trial().cell("broadcast", 8, 100, {.conditions = read});
  read[1].processes = 3;
  trial.cell("broadcast", 16, 100, {.conditions = read});

  auto summary = summarise_conditions(run);

  CHECK(summary.shared_ranks == std::vector<int>{1});
  CHECK(summary.shared_cells == 1);
}

TEST_CASE("cells of which nobody counted the processes are not said to be undisturbed") {
  RunBuilder run(1);
  run.trial()
      .cell("broadcast", 8, 100,
            {.conditions = {{.when = When::before, .sm_clock_mhz = 1980, .processes = 2}}})
      .cell("broadcast", 16, 100, {.conditions = {{.when = When::before, .sm_clock_mhz = 1980}}});

  CHECK_THAT(disturbances(summarise_conditions(run)), ContainsSubstring("around 1 of 1 cells"));
}
