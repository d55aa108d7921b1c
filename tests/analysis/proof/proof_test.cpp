// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/proof/proof.h"
#include "analysis/proof/proof_runs.h"
#include "analysis/results/cell_summary.h"
#include "support/catch.h"
#include "support/run_builder.h"

#include <algorithm>

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis_test;
using namespace ncclprobe::support;

namespace {

const SettingProof& proof_of(const std::vector<SettingProof>& proofs, const std::string& setting) {
  auto found = std::find_if(proofs.begin(), proofs.end(),
                            [&](const SettingProof& one) { return one.setting == setting; });
  REQUIRE(found != proofs.end());
  return *found;
}

} // namespace

TEST_CASE("a run without companions has no proofs, and companions are no measurements") {
  CHECK(setting_proofs(RunBuilder(2)).empty());
  CHECK(setting_results(proof_run()).empty());
}

TEST_CASE("what each cell used is known for every rank, sends included") {
  auto proofs = setting_proofs(proof_run());

  const SettingProof& base = proof_of(proofs, "default");
  REQUIRE(base.cells.size() == 2);
  CHECK(base.cells[0].by_rank.at(1) == std::vector<Use>{{"RING", "LL", 4}});
  CHECK(base.cells[1].by_rank.at(0) ==
        std::vector<Use>{{"", "", 2}}); // the barrier's 8 bytes are not it
  CHECK(in_words(base.cells[1].by_rank.at(0)[0]) == "2 channels");
}

TEST_CASE("a setting that changed no call says so, another shows where") {
  auto proofs = setting_proofs(proof_run());

  CHECK(proof_of(proofs, "NCCL_NTHREADS=256").changed_nothing);
  const SettingProof& tree = proof_of(proofs, "NCCL_ALGO=Tree");
  CHECK_FALSE(tree.changed_nothing);
  CHECK(tree.cells[0].as_default == false);
  CHECK(tree.cells[1].as_default == true);
}

TEST_CASE("verdicts that are alike stand together with their ranks") {
  auto proofs = setting_proofs(proof_run());

  const SettingProof& tree = proof_of(proofs, "NCCL_ALGO=Tree");
  REQUIRE(tree.variables.size() == 1);
  CHECK(tree.variables[0].effect == Effect::took_effect);
  CHECK(tree.variables[0].ranks == std::vector<int>{0, 1});
}

TEST_CASE("a companion that failed leaves verdicts open") {
  auto proofs = setting_proofs(proof_run());

  const SettingProof& failed = proof_of(proofs, "NCCL_BUFFSIZE=1");
  CHECK_FALSE(failed.outcome.ok());
  REQUIRE(failed.variables.size() == 1);
  CHECK(failed.variables[0].effect == Effect::not_known);
  CHECK_FALSE(failed.changed_nothing);
}

TEST_CASE("variables that nobody here set come from elsewhere, and are named") {
  model::Run run = proof_run();
  run.trials[0].evidence[1].log += "h:1:1 [1] NCCL INFO NCCL_MAX_CTAS set by environment to 4.\n";

  auto notes = setting_proofs(run).front().notes;

  REQUIRE(notes.size() == 1);
  CHECK(notes[0] == "not set by this run, but by a configuration file or a plugin: NCCL_MAX_CTAS "
                    "set by environment to 4.");
}

TEST_CASE("rank 0's log is the second source, and the two are compared") {
  model::Run run = proof_run();
  run.trials[0].evidence[0].log +=
      "h:1:1 [0] NCCL INFO AllReduce: 1024 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..3}\n";
  CHECK_THAT(setting_proofs(run).front().cells[0].disagreement,
             ContainsSubstring("the log says TREE LL 4 channels, the profiler RING LL 4 channels"));

  run.trials[0].evidence[0].choices.clear();
  auto proof = setting_proofs(run).front();
  CHECK(proof.cells[0].by_rank.at(0) == std::vector<Use>{{"TREE", "LL", 4}});
  CHECK(proof.cells[0].disagreement.empty());
}

TEST_CASE("cells that look the same in the log are not called a disagreement") {
  model::Run run = proof_run();
  model::TrialRecord& trial = run.trials[0];
  model::Cell other = trial.spec.cells[0];
  other.label.op = model::ReduceOp::max;
  trial.spec.cells.push_back(other);
  model::Evidence& evidence = trial.evidence[0];
  evidence.choices.push_back(
      {2, "AllReduce", "ncclFloat32", evidence.choices[0].count, "TREE", "LL", 4, -1});
  for (std::string algorithm : {"RING", "TREE"})
    evidence.log += fmt::format("h:1:1 [0] NCCL INFO AllReduce: 1024 Bytes -> Algo {} proto LL "
                                "channel{{Lo..Hi}}={{0..3}}\n",
                                algorithm);

  auto both = setting_proofs(run).front();
  CHECK(both.cells[0].disagreement.empty());
  CHECK(both.cells[2].disagreement.empty());
  CHECK(both.cells[0].by_rank.at(0) == std::vector<Use>{{"RING", "LL", 4}});
  CHECK(both.cells[2].by_rank.at(0) == std::vector<Use>{{"TREE", "LL", 4}});

  evidence.choices.back().algorithm = "NVLS"; // which the log does not have at all
  CHECK_THAT(setting_proofs(run).front().cells[2].disagreement,
             ContainsSubstring("the profiler NVLS LL 4 channels"));

  evidence.choices.clear();
  auto log_alone = setting_proofs(run).front();
  CHECK_FALSE(log_alone.cells[0].by_rank.contains(0));
  CHECK_THAT(log_alone.cells[0].unclear, ContainsSubstring("RING LL 4 channels, TREE LL"));
}
