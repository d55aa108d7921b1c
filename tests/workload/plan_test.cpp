// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "workload/plan.h"
#include "workload/step_schedules.h"

#include <algorithm>
#include <map>
#include <set>

using namespace ncclprobe;
using namespace ncclprobe::model;
using workload::make_plan;

namespace {

workload::PlanRequest request() {
  workload::PlanRequest request;
  request.backend = "host";
  request.ranks = 4;
  request.collectives = {Collective::all_reduce, Collective::all_gather};
  request.sizes = {1024, 4096};
  request.axes = {{"NCCL_ALGO", {"Ring", "Tree"}}, {"NCCL_PROTO", {"LL", "LL128", "Simple"}}};
  return request;
}

std::map<std::string, int> trials_by_name(const workload::Plan& plan) {
  std::map<std::string, int> count;
  for (const TrialSpec& trial : plan.trials)
    ++count[trial.name];
  return count;
}

} // namespace

TEST_CASE("the grid is the product of the axes, with the default twice as often") {
  auto plan = make_plan(request());

  REQUIRE(plan.has_value());
  auto count = trials_by_name(*plan);
  CHECK(count.size() == 7);
  CHECK(count["NCCL_ALGO=Tree NCCL_PROTO=LL128"] == 2);
  CHECK(count["default"] == 4);
  CHECK(plan->trials.front().cells.size() == 4);
  CHECK(plan->trials[5].id == 5);
}

TEST_CASE("each block holds every setting once and the default twice, in an order of the seed") {
  auto first = make_plan(request());
  auto again = make_plan(request());
  workload::PlanRequest other_seed = request();
  other_seed.seed = 1;
  auto other = make_plan(other_seed);

  auto names = [](const workload::Plan& plan) {
    std::vector<std::string> all;
    for (const TrialSpec& trial : plan.trials)
      all.push_back(trial.name);
    return all;
  };
  CHECK(names(*first) == names(*again));
  CHECK(names(*first) != names(*other));
  auto order = names(*first);
  REQUIRE(order.size() == 16);
  for (auto block : {order.begin(), order.begin() + 8}) {
    CHECK(std::set<std::string>(block, block + 8).size() == 7);
    CHECK(std::count(block, block + 8, "default") == 2);
  }
}

TEST_CASE("the two defaults of a block differ in nothing but their numbers") {
  workload::PlanRequest four = request();
  four.repeats = 4;
  auto plan = make_plan(four);

  std::map<int, std::set<int>> replicates_by_block;
  int even_first = 0;
  for (std::size_t i = 0; i < plan->trials.size(); ++i) {
    TrialSpec trial = plan->trials[i];
    int block = static_cast<int>(i) / 8;
    if (trial.name != "default") {
      CHECK(trial.replicate == block);
      continue;
    }
    if (replicates_by_block[block].empty() && trial.replicate % 2 == 0)
      ++even_first;
    replicates_by_block[block].insert(trial.replicate);
    TrialSpec plain = plan->trials.front();
    trial.id = plain.id;
    trial.replicate = plain.replicate;
    trial.name = plain.name;
    trial.process = plain.process;
    CHECK(trial == plain);
  }
  for (int block = 0; block < 4; ++block)
    CHECK(replicates_by_block[block] == std::set<int>{2 * block, 2 * block + 1});
  CHECK(even_first > 0); // which arm comes first is drawn too
  CHECK(even_first < 4);
}

TEST_CASE("NCCL_HOSTID of single ranks splits a host into nodes") {
  workload::PlanRequest split = request();
  split.machine = {.nodes = 1, .ranks_per_node = 4};
  CHECK(nccl_machine(split).nodes == 1);
  for (int rank = 1; rank < 4; ++rank)
    split.per_rank[rank] = {{"NCCL_HOSTID", "b"}};
  CHECK(nccl_machine(split).nodes == 2);
  CHECK(nccl_machine(split).ranks_per_node == 3);
  split.machine.nodes = 2; // which ranks are on which host is not known here
  CHECK(nccl_machine(split).nodes == 0);
  split.machine.nodes = 1;
  split.environment = {{"NCCL_HOSTID", "c"}}; // pins it, and may differ between ranks
  CHECK(nccl_machine(split).ranks_per_node == 0);
}

TEST_CASE("a variable of the launching environment is pinned unless it is overridden") {
  workload::PlanRequest pinned = request();
  pinned.environment = {{"NCCL_PROTO", "Simple"}, {"HOME", "/root"}};
  pinned.settings = {{{"NCCL_PROTO", "LL"}, {"NCCL_BUFFSIZE", "8388608"}},
                     {{"NCCL_BUFFSIZE", "1048576"}}};
  pinned.per_rank[1] = {{"NCCL_PROTO", "LL"}, {"NCCL_HOSTID", "a"}};

  auto plan = make_plan(pinned);

  REQUIRE(plan.has_value());
  auto count = trials_by_name(*plan);
  CHECK(count.size() == 4); // default, Ring, Tree, NCCL_BUFFSIZE=1048576
  CHECK(count.contains("NCCL_ALGO=Ring"));
  CHECK(count.contains("NCCL_BUFFSIZE=1048576"));
  CHECK(plan->pinned == std::vector<Setting>{{"NCCL_PROTO", "Simple"}});
  CHECK(plan->trials[0].process.per_rank.at(1) == std::vector<Setting>{{"NCCL_HOSTID", "a"}});

  pinned.overrides = {"NCCL_PROTO"};
  auto overridden = make_plan(pinned);
  CHECK(trials_by_name(*overridden).size() == 9);
  CHECK(overridden->pinned.empty());
}

TEST_CASE("operations multiply only collectives that reduce, and impossible forms are noted") {
  workload::PlanRequest wide = request();
  wide.collectives.push_back(Collective::all_to_all);
  wide.sizes = {1024};
  wide.ops = {ReduceOp::max, ReduceOp::avg};
  wide.placements = {Placement::out_of_place, Placement::in_place};

  auto plan = make_plan(wide);

  REQUIRE(plan.has_value());
  CHECK(plan->trials[0].cells.size() == 4 + 2 + 1);
  REQUIRE(plan->notes.size() == 1);
  CHECK_THAT(plan->notes[0], ContainsSubstring("all_to_all has no in-place form"));
}

TEST_CASE("a size below one element a rank is left out with a note, size 0 is measured") {
  workload::PlanRequest small = request();
  small.collectives = {Collective::all_gather};
  small.sizes = {0, 8, 1024};

  auto plan = make_plan(small);

  REQUIRE(plan.has_value());
  REQUIRE(plan->trials[0].cells.size() == 2);
  CHECK(plan->trials[0].cells[0].label.bytes == 0);
  REQUIRE(plan->notes.size() == 1);
  CHECK_THAT(plan->notes[0], ContainsSubstring("all_gather of 8: less than one f32 per rank"));
}

namespace {

// Two NCCLs beside the one that all trials load.
workload::PlanRequest library_request() {
  workload::PlanRequest one = request();
  one.backend = "nvidia";
  one.axes.clear();
  one.libraries = {{"nvml", "/n.so"}, {"nccl", "/a/libnccl.so.2"}};
  one.compared_libraries = {{"nccl", {"/b/libnccl.so.2", "/c/libnccl.so.2"}}};
  one.proof = workload::Proof::on;
  one.trace = TraceLevel::kernels;
  return one;
}

} // namespace

TEST_CASE("a compared library is a setting, with twin and companion, that reaches no environment") {
  auto plan = make_plan(library_request());

  REQUIRE(plan.has_value());
  std::map<std::pair<std::string, Purpose>, int> count;
  for (const TrialSpec& trial : plan->trials) {
    ++count[{trial.name, trial.purpose}];
    CHECK(trial.process.common.empty());
    bool is_default = trial.name == "default";
    CHECK(trial.is_default() == is_default);
    std::string file = is_default ? "/a/libnccl.so.2" : trial.name.substr(5);
    CHECK(trial.libraries == std::vector<Setting>{{"nvml", "/n.so"}, {"nccl", file}});
    CHECK(trial.tested_libraries ==
          (is_default ? std::vector<Setting>{} : std::vector<Setting>{{"nccl", file}}));
    CHECK(trial.under_test() == trial.tested_libraries);
  }
  for (const char* name : {"nccl=/b/libnccl.so.2", "nccl=/c/libnccl.so.2"}) {
    CHECK(count[{name, Purpose::measure}] == 2);
    CHECK(count[{name, Purpose::traced}] == 2);
    CHECK(count[{name, Purpose::companion}] == 1);
  }
  CHECK(count[{"default", Purpose::measure}] == 4);
}

TEST_CASE("libraries multiply with the axes, and what all trials load is no setting of its own") {
  workload::PlanRequest one = library_request();
  one.trace = TraceLevel::off;
  one.proof = workload::Proof::off;
  one.compared_libraries = {{"nccl", {"/a/libnccl.so.2", "/b/libnccl.so.2"}}};

  CHECK(trials_by_name(*make_plan(one)) ==
        std::map<std::string, int>{{"default", 4}, {"nccl=/b/libnccl.so.2", 2}});

  one.axes = {{"NCCL_PROTO", {"Simple"}}};
  auto plan = make_plan(one);
  CHECK(trials_by_name(*plan) ==
        std::map<std::string, int>{{"default", 4},
                                   {"nccl=/a/libnccl.so.2 NCCL_PROTO=Simple", 2},
                                   {"nccl=/b/libnccl.so.2 NCCL_PROTO=Simple", 2}});
  auto both =
      std::ranges::find(plan->trials, "nccl=/b/libnccl.so.2 NCCL_PROTO=Simple", &TrialSpec::name);
  CHECK(both->process.common == std::vector<Setting>{{"NCCL_PROTO", "Simple"}});
  CHECK(label_of(both->under_test()) == both->name);
}

TEST_CASE("libraries are compared only where a backend loads them, each name once") {
  workload::PlanRequest one = library_request();
  one.backend = "host";
  auto plan = make_plan(one);
  REQUIRE_FALSE(plan.has_value());
  CHECK_THAT(plan.error().text(),
             ContainsSubstring("loads no nccl") && ContainsSubstring("--set LD_LIBRARY_PATH"));

  one = library_request();
  one.compared_libraries.push_back({"nccl", {"/d"}});
  CHECK_THAT(make_plan(one).error().text(), ContainsSubstring("nccl is swept twice"));
}

TEST_CASE("CPUs and worker programs are settings on every backend, and multiply with the axes") {
  workload::PlanRequest one = request();
  one.backend = "host";
  one.axes = {{"NCCLPROBE_GLOO_ALGORITHM", {"ring"}}};
  one.cpu_affinities = {"none", "0-3,8", "none"};
  one.compared_libraries = {{"worker", {"/b/ncclprobe-worker"}}};
  auto plan = make_plan(one);

  REQUIRE(plan.has_value());
  const std::string name =
      "worker=/b/ncclprobe-worker cpu_affinity=0-3,8 NCCLPROBE_GLOO_ALGORITHM=ring";
  auto trial = std::ranges::find(plan->trials, name, &TrialSpec::name);
  REQUIRE(trial != plan->trials.end());
  CHECK(trial->cpu_affinity == "0-3,8");
  CHECK(trial->libraries == std::vector<Setting>{{"worker", "/b/ncclprobe-worker"}});
  CHECK(trial->process.common == std::vector<Setting>{{"NCCLPROBE_GLOO_ALGORITHM", "ring"}});
  CHECK(label_of(trial->under_test()) == name);
  CHECK(trials_by_name(*plan).size() == 3); // the default, and two CPU choices
}

TEST_CASE("without settings the default alone is measured, as often as asked") {
  workload::PlanRequest alone = request();
  alone.axes.clear();
  alone.repeats = 3;
  auto plan = make_plan(alone);
  CHECK(trials_by_name(*plan) == std::map<std::string, int>{{"default", 3}});
}

TEST_CASE("bad requests say what is wrong") {
  workload::PlanRequest bad = request();
  SECTION("nothing to measure") {
    bad.sizes.clear();
    CHECK_THAT(make_plan(bad).error().message, ContainsSubstring("nothing to measure"));
  }
  SECTION("a rank that does not exist") {
    bad.per_rank[4] = {{"X", "1"}};
    CHECK_THAT(make_plan(bad).error().message, ContainsSubstring("rank 4"));
  }
  SECTION("an axis given twice") {
    bad.axes.push_back({"NCCL_ALGO", {"PAT"}});
    CHECK_THAT(make_plan(bad).error().text(), ContainsSubstring("NCCL_ALGO is swept twice"));
  }
  SECTION("an axis without values") {
    bad.axes[0].values.clear();
    CHECK_THAT(make_plan(bad).error().message, ContainsSubstring("NCCL_ALGO"));
  }
}

TEST_CASE("an axis is NAME=value,value with [a,b] as one value") {
  auto axis = workload::parse_axis("NCCL_ALGO=Ring,[Ring,Tree],^NVLS");
  REQUIRE(axis.has_value());
  CHECK(axis->name == "NCCL_ALGO");
  CHECK(axis->values == std::vector<std::string>{"Ring", "Ring,Tree", "^NVLS"});
  CHECK(workload::parse_axis("X=")->values == std::vector<std::string>{""});
  CHECK_FALSE(workload::parse_axis("NCCL_ALGO").has_value());
  CHECK_FALSE(workload::parse_axis("=Ring").has_value());
  CHECK_FALSE(workload::parse_axis("A B=Ring").has_value());
  CHECK_FALSE(workload::parse_axis("X=[a,b").has_value());
}

TEST_CASE("variants multiply, and what plays no part is not measured twice") {
  workload::PlanRequest variants = request();
  variants.axes.clear();
  variants.collectives = {Collective::all_reduce, Collective::broadcast};
  variants.sizes = {1024};
  variants.counts = {0, 3, 256}; // 256 floats are 1024 bytes
  variants.roots = {0, 2};
  variants.splits = {1, 2};
  variants.streams = {1, 2};
  variants.offsets = {0, 1};
  variants.ops = {ReduceOp::sum, ReduceOp::prod};

  auto plan = make_plan(variants);

  REQUIRE(plan.has_value());
  // 2 streams x 2 offsets x 3 sizes; all_reduce: 2 operations x 2 splits; broadcast: 2 roots, the
  // second only in the unsplit communicator.
  CHECK(plan->trials.front().cells.size() == 12 * (2 * 2 + 2 + 1));
  REQUIRE(plan->notes.size() == 1);
  CHECK_THAT(plan->notes.front(), ContainsSubstring("root 2 is not in a communicator of 2"));
}

TEST_CASE("steps of training take the place of collectives in blocks, twins and companions") {
  workload::PlanRequest wanted = request();
  wanted.collectives.clear();
  wanted.steps.steps.emplace_back();
  wanted.steps.steps.front().model = tests::small_model();
  wanted.steps.rank_sets = {{0}, {0, 1, 2, 3}};
  wanted.axes = {{"NCCL_ALGO", {"Ring", "Tree"}}};
  wanted.timing = workload::step_timing("host");
  wanted.cell_deadline_ns = 77;
  wanted.trace = TraceLevel::kernels;
  wanted.proof = workload::Proof::on;
  wanted.repeats = 2;
  auto plan = make_plan(wanted);

  REQUIRE(plan.has_value());
  std::map<Purpose, int> trials;
  for (const TrialSpec& trial : plan->trials) {
    ++trials[trial.purpose];
    REQUIRE(trial.cells.size() == 4); // one rank, and four in three parts
    for (const Cell& cell : trial.cells) {
      bool once = trial.purpose == Purpose::companion;
      CHECK(cell.timing.mode == (once ? TimingMode::batch : TimingMode::steps));
      CHECK(cell.timing.iterations == (once ? 1 : 10));
      CHECK(cell.deadline_ns == 77);
      CHECK(cell.label.workload() == "ddp_step");
    }
  }
  CHECK(trials[Purpose::measure] == 2 * (2 + 2));
  CHECK(trials[Purpose::traced] == 2 * 3);
  CHECK(trials[Purpose::companion] == 3);
}

TEST_CASE("a plan of steps says why nothing is left of it") {
  workload::PlanRequest wanted = request();
  wanted.steps.steps.emplace_back();
  wanted.steps.steps.front().model = tests::small_model();
  wanted.steps.rank_sets = {{0, 1}};
  wanted.steps.memory_bytes = 1000;
  auto plan = make_plan(wanted);

  REQUIRE_FALSE(plan.has_value());
  CHECK_THAT(plan.error().message,
             ContainsSubstring("ddp of small on ranks 0,1") && ContainsSubstring("are free"));
}

namespace {

workload::PlanRequest in_process_request() {
  workload::PlanRequest one = request();
  one.axes.clear();
  one.in_process = {{"algorithm", {"ring", "bcube"}}, {"chunk_bytes", {"64K"}}};
  one.repeats = 3;
  return one;
}

std::vector<std::string> labels_of_cells(const TrialSpec& trial) {
  std::vector<std::string> labels;
  for (const Cell& cell : trial.cells)
    labels.push_back(label_of(cell.settings));
  return labels;
}

} // namespace

TEST_CASE("in-process settings are cells next to their default, which is measured twice") {
  auto plan = make_plan(in_process_request());

  REQUIRE(plan.has_value());
  REQUIRE(plan->trials.size() == 3);
  for (const TrialSpec& trial : plan->trials) {
    CHECK(trial.is_default());
    REQUIRE(trial.cells.size() == 4 * 4);
    for (auto block = trial.cells.begin(); block != trial.cells.end(); block += 4) {
      std::multiset<std::string> settings;
      for (auto cell = block; cell != block + 4; ++cell) {
        CHECK(cell->label == block->label);
        CHECK(cell->schedule == block->schedule);
        settings.insert(label_of(cell->settings));
      }
      CHECK(settings == std::multiset<std::string>{"default", "default",
                                                   "algorithm=ring chunk_bytes=64K",
                                                   "algorithm=bcube chunk_bytes=64K"});
    }
  }
}

TEST_CASE("in-process settings come in another order in each process, by the seed") {
  auto one = in_process_request();
  auto first = make_plan(one);
  auto again = make_plan(one);
  one.seed = 1;
  auto other = make_plan(one);

  CHECK(labels_of_cells(first->trials[0]) == labels_of_cells(again->trials[0]));
  CHECK(labels_of_cells(first->trials[0]) != labels_of_cells(first->trials[1]));
  CHECK(labels_of_cells(first->trials[0]) != labels_of_cells(other->trials[0]));
}

TEST_CASE("in-process settings multiply with those of processes, except for the same one") {
  auto one = in_process_request();
  one.in_process.pop_back();
  one.axes = {{"OMP_NUM_THREADS", {"1"}}, {"NCCLPROBE_GLOO_ALGORITHM", {"ring"}}};
  one.settings = {{{"OMP_NUM_THREADS", "2"}}};
  auto plan = make_plan(one);

  REQUIRE(plan.has_value());
  for (const TrialSpec& trial : plan->trials) {
    const bool sets_algorithm = trial.name.find("ALGORITHM") != std::string::npos;
    CHECK(trial.cells.size() == 4U * (sets_algorithm ? 1 : trial.is_default() ? 4 : 3));
  }
}

TEST_CASE("an in-process setting whose variable the environment sets is pinned") {
  auto one = in_process_request();
  one.environment = {{"NCCLPROBE_GLOO_ALGORITHM", "ring"}};
  auto pinned = make_plan(one);
  one.overrides = {"NCCLPROBE_GLOO_ALGORITHM"};
  auto overridden = make_plan(one);

  CHECK(pinned->pinned == std::vector<Setting>{{"NCCLPROBE_GLOO_ALGORITHM", "ring"}});
  CHECK(pinned->trials[0].cells.size() == 4 * 3);
  CHECK(overridden->pinned.empty());
  CHECK(overridden->trials[0].cells.size() == 4 * 4);
}

TEST_CASE("each in-process setting has a companion, and cells that NCCL cannot run are left out") {
  auto one = in_process_request();
  one.backend = "nvidia";
  one.collectives = {Collective::all_reduce, Collective::broadcast};
  one.in_process = {{"algorithm", {"Ring", "Tree"}}};
  auto plan = make_plan(one);

  REQUIRE(plan.has_value());
  REQUIRE(plan->trials.size() == 3 + 3);
  CHECK(plan->trials[0].cells.size() == 2 * 4 + 2 * 3); // no tree of a broadcast
  CHECK(labels_of_cells(plan->trials[3]) == std::vector<std::string>(4, "default"));
  CHECK(labels_of_cells(plan->trials[4]) == std::vector<std::string>(4, "algorithm=Ring"));
  CHECK(labels_of_cells(plan->trials[5]) == std::vector<std::string>(2, "algorithm=Tree"));
  REQUIRE(plan->notes.size() == 1);
  CHECK_THAT(plan->notes[0], ContainsSubstring("broadcast"));
}

TEST_CASE("training steps and collectives take in-process settings, launches of nothing do not") {
  auto one = in_process_request();
  one.launch_costs = true;
  auto collectives = make_plan(one);
  one.launch_costs = false;
  one.steps.steps.emplace_back().model = tests::small_model();
  one.steps.rank_sets = {{0, 1, 2, 3}};
  auto steps = make_plan(one);

  REQUIRE(collectives.has_value());
  for (const Cell& cell : collectives->trials[0].cells)
    CHECK((cell.settings.empty() || cell.label.workload() != "empty_kernel"));
  REQUIRE(steps.has_value());
  CHECK(steps->trials[0].cells.size() == 3 * 4); // three parts
}

TEST_CASE("bad in-process settings are refused before anything runs") {
  auto refused = [](const std::vector<workload::Axis>& axes) {
    auto one = in_process_request();
    one.in_process = axes;
    auto plan = make_plan(one);
    return !plan && plan.error().code == Errc::invalid_argument;
  };
  CHECK(refused({{"protocol", {"LL"}}}));
  CHECK(refused({{"algorithm", {"tree"}}}));
  CHECK(refused({{"algorithm", {"ring"}}, {"algorithm", {"bcube"}}}));
  CHECK(refused({{"algorithm", {}}}));
}
