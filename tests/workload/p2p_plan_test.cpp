// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "workload/p2p_benchmark.h"
#include "workload/p2p_plan.h"
#include "workload/schedule_rules.h"

#include <set>

using namespace ncclprobe;
using namespace ncclprobe::workload;
using enum P2pMethod;

namespace {

P2pRequest request_for(const std::string& backend, std::vector<int> host_of_rank) {
  P2pRequest request;
  request.backend = backend;
  request.host_of_rank = std::move(host_of_rank);
  return request;
}

std::vector<std::string> variants(const Plan& plan, P2pMethod method) {
  std::vector<std::string> found;
  for (const model::Cell& cell : plan.trials.front().cells)
    if (cell.label.p2p()->method == method)
      found.push_back(cell.label.variant());
  return found;
}

} // namespace

TEST_CASE("three GPUs have six pairs one way, three both ways, two rounds and all at once") {
  Plan plan = make_p2p_plan(request_for("nvidia", {0, 0, 0})).value();

  REQUIRE(plan.trials.size() == 1);
  CHECK(variants(plan, sm_write) ==
        std::vector<std::string>{"uni 0>1", "uni 0>2", "uni 1>0", "uni 1>2", "uni 2>0", "uni 2>1",
                                 "bi 0>1 1>0", "bi 0>2 2>0", "bi 1>2 2>1", "all 0>1 1>2 2>0",
                                 "all 0>2 1>0 2>1", "together 0>1 1>2 2>0 0>2 1>0 2>1"});
  CHECK(variants(plan, host) ==
        std::vector<std::string>{"uni h0>0", "uni 0>h0", "uni h1>1", "uni 1>h1", "uni h2>2",
                                 "uni 2>h2", "bi h0>0 0>h0", "bi h1>1 1>h1", "bi h2>2 2>h2",
                                 "all h0>0 h1>1 h2>2", "all 0>h0 1>h1 2>h2"});
  CHECK(variants(plan, latency) == std::vector<std::string>{"uni 0>0", "uni 1>1", "uni 2>2",
                                                            "uni 0>1", "uni 0>2", "uni 1>0",
                                                            "uni 1>2", "uni 2>0", "uni 2>1",
                                                            "uni 0>h0", "uni 1>h1", "uni 2>h2"});
  CHECK(variants(plan, sendrecv).empty());
  // Before anything opens the direct paths.
  CHECK(plan.trials.front().cells.front().label.workload() == "p2p_staged");
}

TEST_CASE("one way there is one cell for the same places of all hosts, and messages go between") {
  P2pRequest request = request_for("nvidia", {0, 0, 1, 1});
  request.directions = {P2pDirection::uni};

  Plan plan = make_p2p_plan(request).value();

  CHECK(variants(plan, ce) == std::vector<std::string>{"uni 0>1 2>3", "uni 1>0 3>2"});
  CHECK(variants(plan, sendrecv).size() == 12);
  CHECK(variants(plan, pingpong).size() == 6);
  CHECK(variants(plan, staged).empty());
}

TEST_CASE("every cell keeps the rules of schedules and shares the buffers of the others") {
  for (P2pMode mode : {P2pMode::direct, P2pMode::ipc}) {
    P2pRequest request = request_for("nvidia", {0, 0, 0, 0});
    request.mode = mode;
    request.methods = {ce, ce_read, sm_write, sm_read, latency, sendrecv, pingpong};
    Plan plan = make_p2p_plan(request).value();

    for (const model::Cell& cell : plan.trials.front().cells) {
      INFO(cell.label.workload() << " " << cell.label.variant());
      CHECK(check_schedule(cell.schedule, 4));
      REQUIRE(cell.schedule.buffers.size() == 4);
      bool message = !cell.schedule.communicators.empty();
      bool shared = cell.schedule.buffers[0].memory == model::Memory::shared;
      CHECK((shared == (mode == P2pMode::ipc)));
      if (shared && !message)
        CHECK(cell.schedule.buffers[1].bytes == model::PerRank<std::uint64_t>(512 << 20));
    }
  }
}

TEST_CASE("what cannot be measured is left out with its reason") {
  P2pRequest request = request_for("host", {0, 0});
  request.methods = {host, ce, sendrecv};

  Plan plan = make_p2p_plan(request).value();

  CHECK(plan.notes == std::vector<std::string>{"host: CPU ranks only have the host's memory",
                                               "ce: CPU processes can only exchange messages"});
  CHECK(variants(plan, sendrecv) == std::vector<std::string>{"uni 0>1", "uni 1>0", "bi 0>1 1>0"});
}

TEST_CASE("without a pair or a method there is nothing to measure") {
  CHECK_FALSE(make_p2p_plan(request_for("host", {0})));
  CHECK_FALSE(make_p2p_plan(request_for("nvidia", {})));
  P2pRequest request = request_for("host", {0, 0});
  request.methods = {latency};
  auto refused = make_p2p_plan(request);
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().message, ContainsSubstring("can only exchange messages"));
  // One GPU still has its host.
  CHECK(make_p2p_plan(request_for("nvidia", {0})));
}

TEST_CASE("sizes follow the free memory unless they are given") {
  P2pRequest request = request_for("nvidia", {0, 0});
  request.memory_bytes = 600 << 20;
  request.methods = {ce};

  CHECK(make_p2p_plan(request).value().trials[0].cells[0].label.bytes == 128 << 20);
  request.sizes = {4096, 100};
  Plan given = make_p2p_plan(request).value();
  std::set<std::uint64_t> sizes;
  for (const model::Cell& cell : given.trials[0].cells)
    sizes.insert(cell.label.bytes);
  CHECK(sizes == std::set<std::uint64_t>{100, 4096});
}

TEST_CASE("repeats are trials of the same cells in fresh processes") {
  P2pRequest request = request_for("synthetic", {0, 0});
  request.repeats = 3;

  Plan plan = make_p2p_plan(request).value();

  REQUIRE(plan.trials.size() == 3);
  CHECK(plan.trials[2].replicate == 2);
  CHECK(plan.trials[2].cells == plan.trials[0].cells);
}
