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

const MachineShape k_node{.nodes = 1, .ranks_per_node = 8, .nvls = true};

NcclPlace nccl(int version) {
  NcclPlace place;
  place.version = version;
  return place;
}

Pruner pruner(Variables environment = {}, MachineShape machine = k_node) {
  return Pruner({"nvidia", 8, machine, {nccl(22803)}, std::move(environment), {}});
}

PlanRequest pruned_request() {
  PlanRequest pruned_request;
  pruned_request.backend = "nvidia";
  pruned_request.ranks = 8;
  pruned_request.machine = k_node;
  pruned_request.proof = Proof::off;
  pruned_request.repeats = 1;
  pruned_request.collectives = {Collective::all_reduce, Collective::broadcast,
                                Collective::all_to_all};
  pruned_request.sizes = {1024, 4096};
  return pruned_request;
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
        "NCCL_P2P_DISABLE=yes: NCCL 2.28.3 does not accept NCCL_P2P_DISABLE=yes as written: 'yes' "
        "is not a number; NCCL reads it as 0 without a warning; did you mean NCCL_P2P_DISABLE=1?");
  CHECK_THAT(reason({"NCCL_BUFFSIZE", "8M"}), ContainsSubstring("NCCL reads it as 8"));
  CHECK_THAT(reason({"NCCL_P2P_LEVEL", "nvl"}),
             ContainsSubstring("did you mean NCCL_P2P_LEVEL=NVL"));
  CHECK_THAT(reason({"NCCL_TREE_THRESHOLD", "0"}),
             ContainsSubstring("the closest name is NCCL_ALGO"));
  CHECK_THAT(reason({"NCCL_TIMEOUT", "5"}), ContainsSubstring("init_process_group"));
}

TEST_CASE("a value that NCCL refuses and a misspelt name end the plan before anything is started") {
  for (const Setting& setting :
       std::vector<Setting>{{"NCCL_ALGO", "Rng"}, {"NCCL_PROTO", "LL129"}, {"NCCL_ALOG", "Ring"}}) {
    PlanRequest bad = pruned_request();
    bad.nccl_places = {nccl(22803)};
    bad.axes = {{setting.name, {setting.value}}};

    auto plan = make_plan(bad);

    INFO(setting.name << "=" << setting.value);
    REQUIRE_FALSE(plan.has_value());
    CHECK(plan.error().code == base::Errc::invalid_argument);
    CHECK_THAT(plan.error().message, ContainsSubstring("did you mean NCCL_"));

    // A plugin may read the name, but no plugin has an algorithm.
    bool is_name = setting.name == "NCCL_ALOG";
    CHECK(plan.error().hint == (is_name ? "--override NCCL_ALOG measures it anyway" : ""));
    bad.overrides = {setting.name};
    CHECK(make_plan(bad).has_value() == is_name);

    PlanRequest of_one_rank = pruned_request();
    of_one_rank.per_rank = {{1, {setting}}};
    CHECK_FALSE(make_plan(of_one_rank).has_value());

    PlanRequest on_cpu = pruned_request();
    on_cpu.backend = "host";
    on_cpu.axes = {{setting.name, {setting.value}}};
    CHECK_FALSE(make_plan(on_cpu).has_value());
  }
}

TEST_CASE("a misspelt name of ncclprobe's own is refused like one of NCCL's") {
  PlanRequest bad = pruned_request();
  bad.backend = "host";
  bad.axes = {{"NCCLPROBE_GLOO_ALGORITM", {"ring"}}};
  auto plan = make_plan(bad);
  REQUIRE_FALSE(plan.has_value());
  CHECK_THAT(plan.error().message,
             ContainsSubstring("ncclprobe does not read NCCLPROBE_GLOO_ALGORITM") &&
                 ContainsSubstring("did you mean NCCLPROBE_GLOO_ALGORITHM=ring?"));

  bad.axes = {{"NCCLPROBE_GLOO_ALGORITHM", {"ring"}}};
  CHECK(make_plan(bad).has_value());
}

TEST_CASE("on a host that would refuse it a value is refused by the host's name") {
  PlanRequest two = pruned_request();
  two.nccl_places = {nccl(22803), nccl(22803)};
  two.nccl_places[0].has_rdma = true;
  two.nccl_places[1].has_rdma = false;
  two.nccl_places[1].host = "beta";
  two.axes = {{"NCCL_NET", {"IB"}}};

  auto plan = make_plan(two);

  REQUIRE_FALSE(plan.has_value());
  CHECK_THAT(plan.error().message, ContainsSubstring("NCCL 2.28.3 on beta refuses NCCL_NET=IB"));
}

TEST_CASE("without NCCL its variables are warned of, and nothing is left out") {
  PlanRequest on_cpu = pruned_request();
  on_cpu.backend = "host";
  on_cpu.axes = {{"NCCL_PROTO", {"LL"}}, {"NCCL_P2P_DISABLE", {"yes"}}};
  on_cpu.per_rank = {{1, {{"NCCL_HOSTID", "b"}}}};

  auto plan = make_plan(on_cpu);

  REQUIRE(plan.has_value());
  CHECK(plan->notes.empty());
  CHECK(std::any_of(plan->trials.begin(), plan->trials.end(), [](const TrialSpec& trial) {
    return trial.name == "NCCL_PROTO=LL NCCL_P2P_DISABLE=yes";
  }));
  auto warned = [&](const char* words) {
    return std::count_if(plan->warnings.begin(), plan->warnings.end(),
                         [&](const std::string& one) { return one.find(words) == 0; });
  };
  CHECK(warned("NCCL_PROTO has no effect on the host backend") == 1);
  CHECK(warned("NCCL_HOSTID has no effect on the host backend") == 1);
  CHECK(warned("NCCL (judged by 2.31.2, the newest known here) does not accept "
               "NCCL_P2P_DISABLE=yes") == 1);
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

TEST_CASE("names of others and paths that are not taken are kept with a warning") {
  Pruner one = pruner();

  CHECK(one.keeps({{"NCCL_FASTRAK_USE_SNAP", "1"}}));
  CHECK(one.keeps({{"NCCL_IB_TC", "106"}}));
  CHECK(one.keeps({{"NCCL_IB_TC", "105"}}));
  CHECK(one.keeps({{"MY_PLUGINS_NAME", "x"}}));
  CHECK(one.keeps({{"NCCL_MAX_CTAS", "65"}}));

  CHECK(one.left_out().empty());
  REQUIRE(one.warnings().size() == 3);
  CHECK_THAT(one.warnings()[0], ContainsSubstring("Google's plugin FasTrak"));
  CHECK_THAT(one.warnings()[1], ContainsSubstring("NCCL_IB_TC only affects network traffic"));
  CHECK_THAT(one.warnings()[2], ContainsSubstring("more than 64; NCCL takes 64"));
}

TEST_CASE("network variables are not warned of where ranks may talk over a network") {
  Pruner two_nodes = pruner({}, {.nodes = 2, .ranks_per_node = 8});
  CHECK(two_nodes.keeps({{"NCCL_IB_TC", "106"}}));
  CHECK(two_nodes.warnings().empty());

  Pruner host_ids = pruner({{"NCCL_HOSTID", "a"}}, {.nodes = 0, .ranks_per_node = 0});
  CHECK(host_ids.keeps({{"NCCL_NSOCKS_PERTHREAD", "4"}}));
  CHECK(host_ids.warnings().empty());

  Pruner forced = pruner({{"NCCL_SHM_DISABLE", "1"}});
  CHECK(forced.keeps({{"NCCL_P2P_DISABLE", "1"}, {"NCCL_NSOCKS_PERTHREAD", "4"}}));
  CHECK(forced.warnings().empty());
}

TEST_CASE("a setting loses the cells that NCCL cannot carry out, and no others") {
  PlanRequest tree = pruned_request();
  tree.axes = {{"NCCL_ALGO", {"Tree", "Ring"}}};

  auto plan = make_plan(tree);

  REQUIRE(plan.has_value());
  CHECK(trial_named(*plan, "NCCL_ALGO=Ring").cells.size() == 6);
  const TrialSpec& with_tree = trial_named(*plan, "NCCL_ALGO=Tree");
  REQUIRE(with_tree.cells.size() == 4);
  CHECK(with_tree.cells[0].label.workload() == "all_reduce");
  CHECK(with_tree.cells[2].label.workload() == "all_to_all"); // untouched by NCCL_ALGO
  REQUIRE(plan->notes.size() >= 1);
  CHECK(std::count_if(plan->notes.begin(), plan->notes.end(), [](const std::string& note) {
          return note.find("broadcast with NCCL_ALGO=Tree: NCCL has no algorithm left") == 0;
        }) == 1);
}

TEST_CASE("a setting with no cell left is not in the plan") {
  PlanRequest pat = pruned_request();
  pat.collectives = {Collective::all_reduce};
  pat.axes = {{"NCCL_ALGO", {"PAT", "Ring"}}};

  auto plan = make_plan(pat);

  REQUIRE(plan.has_value());
  for (const TrialSpec& trial : plan->trials)
    CHECK(trial.name != "NCCL_ALGO=PAT");
}

TEST_CASE("the environment may leave nothing to measure") {
  PlanRequest pinned = pruned_request();
  pinned.collectives = {Collective::broadcast};
  pinned.environment = {{"NCCL_ALGO", "Tree"}};

  auto plan = make_plan(pinned);

  REQUIRE_FALSE(plan.has_value());
  CHECK_THAT(plan.error().message, ContainsSubstring("Tree does not support Broadcast"));
}
