// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "workload/plan.h"
#include "workload/pruning.h"

#include <algorithm>

using namespace ncclprobe;
using namespace ncclprobe::model;
using namespace ncclprobe::workload;

namespace {

const Machine k_node{.nodes = 1, .ranks_per_node = 8, .nvls = true};

Pruner pruner(Variables environment = {}, Machine machine = k_node) {
  return {"nvidia", 8, machine, std::move(environment)};
}

PlanRequest request() {
  PlanRequest request;
  request.backend = "nvidia";
  request.ranks = 8;
  request.machine = k_node;
  request.proof = Proof::off;
  request.repeats = 1;
  request.collectives = {Collective::all_reduce, Collective::broadcast, Collective::all_to_all};
  request.sizes = {1024, 4096};
  return request;
}

const TrialSpec& trial_named(const Plan& plan, const std::string& name) {
  auto found = std::find_if(plan.trials.begin(), plan.trials.end(),
                            [&](const TrialSpec& trial) { return trial.name == name; });
  REQUIRE(found != plan.trials.end());
  return *found;
}

} // namespace

TEST_CASE("values that would silently mean something else are left out with the reason") {
  auto reason = [](const Setting& setting) {
    Pruner one = pruner();
    CHECK_FALSE(one.keeps({setting}));
    REQUIRE(one.left_out().size() == 1);
    return one.left_out().front();
  };
  CHECK(reason({"NCCL_P2P_DISABLE", "yes"}) ==
        "NCCL_P2P_DISABLE=yes: 'yes' is not a number: NCCL would read NCCL_P2P_DISABLE as 0 "
        "without saying so");
  CHECK_THAT(reason({"NCCL_BUFFSIZE", "8M"}), ContainsSubstring("NCCL_BUFFSIZE as 8"));
  CHECK_THAT(reason({"NCCL_P2P_LEVEL", "nvl"}), ContainsSubstring("NCCL would ignore"));
  CHECK_THAT(reason({"NCCL_TREE_THRESHOLD", "0"}),
             ContainsSubstring("no longer reads NCCL_TREE_THRESHOLD; nearest to it is NCCL_ALGO"));
  CHECK_THAT(reason({"NCCL_ALGO", "Rings"}), ContainsSubstring("'Rings' is none of"));
}

TEST_CASE("variables that contradict each other are left out, pinned ones counted") {
  Pruner ctas = pruner({{"NCCL_MAX_CTAS", "8"}});
  CHECK_FALSE(ctas.keeps({{"NCCL_MIN_CTAS", "16"}}));
  CHECK_THAT(ctas.left_out().front(),
             ContainsSubstring("NCCL_MIN_CTAS=16 is more than NCCL_MAX_CTAS=8"));
  CHECK(ctas.keeps({{"NCCL_MIN_CTAS", "8"}}));

  Pruner sockets = pruner();
  CHECK_FALSE(sockets.keeps({{"NCCL_NSOCKS_PERTHREAD", "8"}, {"NCCL_SOCKET_NTHREADS", "16"}}));
  CHECK(sockets.keeps({{"NCCL_NSOCKS_PERTHREAD", "4"}, {"NCCL_SOCKET_NTHREADS", "16"}}));
}

TEST_CASE("unknown names and paths that are not taken are kept with a warning") {
  Pruner one = pruner();

  CHECK(one.keeps({{"NCCL_ALGOS", "Ring"}}));
  CHECK(one.keeps({{"NCCL_IB_TC", "106"}}));
  CHECK(one.keeps({{"NCCL_IB_TC", "105"}}));
  CHECK(one.keeps({{"MY_PLUGINS_NAME", "x"}}));
  CHECK(one.keeps({{"NCCL_MAX_CTAS", "65"}}));

  CHECK(one.left_out().empty());
  REQUIRE(one.warnings().size() == 3);
  CHECK_THAT(one.warnings()[0], ContainsSubstring("did you mean NCCL_ALGO?"));
  CHECK_THAT(one.warnings()[1], ContainsSubstring("NCCL_IB_TC acts on what crosses a network"));
  CHECK_THAT(one.warnings()[2], ContainsSubstring("NCCL_MAX_CTAS=65 is outside"));
}

TEST_CASE("network variables are not warned of where ranks may talk over a network") {
  Pruner two_nodes = pruner({}, {.nodes = 2, .ranks_per_node = 8});
  CHECK(two_nodes.keeps({{"NCCL_IB_TC", "106"}}));
  CHECK(two_nodes.warnings().empty());

  Pruner host_ids = pruner({{"NCCL_HOSTID", "a"}});
  CHECK(host_ids.keeps({{"NCCL_NSOCKS_PERTHREAD", "4"}}));
  CHECK(host_ids.warnings().empty());

  Pruner forced = pruner({{"NCCL_SHM_DISABLE", "1"}});
  CHECK(forced.keeps({{"NCCL_P2P_DISABLE", "1"}, {"NCCL_NSOCKS_PERTHREAD", "4"}}));
  CHECK(forced.warnings().empty());
}

TEST_CASE("a setting loses the cells that NCCL cannot carry out, and no others") {
  PlanRequest tree = request();
  tree.axes = {{"NCCL_ALGO", {"Tree", "Ring"}}};

  auto plan = make_plan(tree);

  REQUIRE(plan.has_value());
  CHECK(trial_named(*plan, "NCCL_ALGO=Ring").cells.size() == 6);
  const TrialSpec& with_tree = trial_named(*plan, "NCCL_ALGO=Tree");
  REQUIRE(with_tree.cells.size() == 4);
  CHECK(with_tree.cells[0].label.workload == "all_reduce");
  CHECK(with_tree.cells[2].label.workload == "all_to_all"); // untouched by NCCL_ALGO
  REQUIRE(plan->notes.size() >= 1);
  CHECK(std::count_if(plan->notes.begin(), plan->notes.end(), [](const std::string& note) {
          return note.find("broadcast with NCCL_ALGO=Tree: NCCL has no way left") == 0;
        }) == 1);
}

TEST_CASE("a setting with no cell left is not in the plan") {
  PlanRequest pat = request();
  pat.collectives = {Collective::all_reduce};
  pat.axes = {{"NCCL_ALGO", {"PAT", "Ring"}}};

  auto plan = make_plan(pat);

  REQUIRE(plan.has_value());
  for (const TrialSpec& trial : plan->trials)
    CHECK(trial.name != "NCCL_ALGO=PAT");
}

TEST_CASE("the environment may leave nothing to measure") {
  PlanRequest pinned = request();
  pinned.collectives = {Collective::broadcast};
  pinned.environment = {{"NCCL_ALGO", "Tree"}};

  auto plan = make_plan(pinned);

  REQUIRE_FALSE(plan.has_value());
  CHECK_THAT(plan.error().message, ContainsSubstring("Broadcast is not done by Tree"));
}

TEST_CASE("other backends have no such rules") {
  Pruner host("host", 2, k_node, {});
  CHECK(host.keeps({{"NCCL_P2P_DISABLE", "yes"}}));
  CHECK(host.left_out().empty());
}
