// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "workload/launch_benchmark.h"
#include "workload/plan.h"
#include "workload/schedule_rules.h"

#include <algorithm>

using namespace ncclprobe;
using namespace ncclprobe::model;
using namespace ncclprobe::workload;

namespace {

std::vector<std::string> names(const std::vector<Cell>& cells) {
  std::vector<std::string> all;
  for (const Cell& cell : cells)
    all.push_back(fmt::format("{} {} {} {}", to_string(cell.timing.mode), cell.label.workload(),
                              cell.label.bytes, cell.label.variant()));
  return all;
}

} // namespace

TEST_CASE("what a launch costs is measured one at a time and back to back") {
  auto direct = make_launch_cells(2, {}, Graphs::no);
  auto all = make_launch_cells(2, {}, Graphs::yes);

  REQUIRE(direct.has_value());
  CHECK(names(*direct) ==
        std::vector<std::string>{"latency empty_kernel 0 ", "latency all_reduce 512 ",
                                 "latency all_reduce 512 priority=-5", "batch empty_kernel 0 ",
                                 "batch all_reduce 512 ", "batch all_reduce 512 priority=-5"});
  REQUIRE(all.has_value());
  CHECK(all->size() == 10);
  for (const Cell& cell : *all) {
    auto checked = check_schedule(cell.schedule, 2);
    CHECK((checked ? "" : checked.error().message) == "");
    CHECK(cell.schedule.streams[0].priority == (cell.label.variant().starts_with("p") ? -5 : 0));
    CHECK(cell.schedule.capture.has_value() == (cell.label.variant() == "graph"));
  }
}

TEST_CASE("a plan measures what launching costs in front of the rest, and nothing twice") {
  PlanRequest request;
  request.backend = "synthetic";
  request.ranks = 2;
  request.collectives = {Collective::all_reduce};
  request.sizes = {512, 1024};
  request.launch_costs = true;

  auto plan = make_plan(request);

  REQUIRE(plan.has_value());
  auto cells = names(plan->trials[0].cells);
  CHECK(cells.size() == 7);
  CHECK(cells.front() == "latency empty_kernel 0 ");
  CHECK(std::count(cells.begin(), cells.end(), "batch all_reduce 512 ") == 1);
  CHECK(cells.back() == "batch all_reduce 1024 ");
}
