// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/proof/proof.h"
#include "analysis/report/written.h"
#include "analysis/results/worker_cpus.h"
#include "analysis/verdict/verdict.h"
#include "support/catch.h"
#include "support/run_builder.h"

#include <nlohmann/json.hpp>

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis_test;
using namespace ncclprobe::support;

namespace {

TrialBuilder add_process(RunBuilder& run, int replicate, const std::string& asked,
                         const std::string& cpus, std::int64_t time_ns,
                         model::Purpose purpose = model::Purpose::measure) {
  auto trial = run.trial({}, purpose);
  trial->spec.replicate = replicate;
  trial->spec.cpu_affinity = asked;
  trial->spec.name.clear();
  trial->spec.name = trial->spec.label();
  trial->workers.clear();
  for (int rank = 0; rank < 2; ++rank) {
    model::WorkerRecord& worker = trial->workers.emplace_back();
    worker.ranks = {rank};
    worker.host = "node1";
    worker.cpus_asked = asked.empty() ? "" : std::to_string(rank);
    worker.cpus = cpus.empty() ? std::to_string(rank) : cpus;
  }
  return trial.cell("all_reduce", 1000, time_ns);
}

// A core for each rank, a tenth faster than the default, on which its workers say they ran unless
// `cpus` says otherwise.
RunBuilder core_run(const std::string& cpus = "") {
  RunBuilder run(2);
  for (int i = 0; i < 10; ++i)
    add_process(run, i, "", "0-7", 10'000 + i);
  for (int i = 0; i < 5; ++i)
    add_process(run, i, "core", cpus, 9'000 + i);
  return run;
}

} // namespace

TEST_CASE("a choice of CPUs is judged as any setting, and shown to have taken effect") {
  RunBuilder run = core_run();
  auto results = setting_results(run);
  auto verdicts = judge(results);
  auto all = setting_cpus(run);

  REQUIRE(verdicts.comparisons.size() == 1);
  CHECK(verdicts.comparisons[0].verdict == Verdict::better);
  REQUIRE(all.size() == 2);
  CHECK(all[0].is_default);
  CHECK(all[0].workers == std::vector<WorkerCpus>{{{0, 1}, "node1", "", "0-7"}});
  CHECK(all[1].workers ==
        std::vector<WorkerCpus>{{{0}, "node1", "0", "0"}, {{1}, "node1", "1", "1"}});
  CHECK(all[1].workers[0].took_effect());
  std::string report = render_report(run, Format::table);
  CHECK_THAT(report, ContainsSubstring("CPUs that the workers ran on") &&
                         ContainsSubstring("cpu_affinity=core") &&
                         ContainsSubstring("took effect"));
  auto json = nlohmann::json::parse(render_report(run, Format::json));
  CHECK(json.at("cpus")[1].at("workers")[1].at("effect") == "took effect");
}

TEST_CASE("asking for the CPUs that workers have by default is said to change nothing") {
  RunBuilder run = core_run();
  for (model::TrialRecord& trial : run.trials)
    if (trial.spec.is_default())
      for (model::WorkerRecord& worker : trial.workers)
        worker.cpus = std::to_string(worker.ranks.front());
  add_process(run, 0, "core", "", 1, model::Purpose::companion);

  CHECK(setting_cpus(run)[1].changes_nothing());
  CHECK_THAT(render_report(run, Format::table),
             ContainsSubstring("as by default") &&
                 ContainsSubstring("cpu_affinity=core equals the default"));
  CHECK(id_of(setting_proofs(run)[0].variables[0].reason) == "ran_on_default");
}

TEST_CASE("there is no verdict on CPUs that the workers did not run on") {
  RunBuilder run = core_run("0-7");
  auto results = setting_results(run);
  auto verdicts = judge(results);

  REQUIRE(verdicts.comparisons.size() == 1);
  CHECK(verdicts.comparisons[0].verdict == Verdict::not_decided);
  CHECK(id_of(verdicts.comparisons[0].why_not_decided) == "not_as_asked");
  CHECK_THAT(in_words(verdicts.comparisons[0].why_not_decided),
             ContainsSubstring("CPUs 0 were requested, but it ran on 0-7"));
  CHECK_THAT(render_report(run, Format::table), ContainsSubstring("overridden"));
}

TEST_CASE("what was refused is told with the reason") {
  RunBuilder run = core_run();
  model::TrialRecord& refused = *add_process(run, 0, "8-15", "", 1);
  refused.cells.clear();
  refused.spec.cells.clear();
  refused.outcome = {model::OutcomeKind::skipped, "ranks 0,1: CPUs 8-15 may not be used", {0, 1}};
  for (model::WorkerRecord& worker : refused.workers)
    worker.cpus_asked = worker.cpus = "";

  CHECK(setting_cpus(run).back().refused == refused.outcome.reason);
  CHECK(setting_cpus(run).back().workers.empty());
  CHECK_THAT(render_report(run, Format::table),
             ContainsSubstring("Refused: ranks 0,1: CPUs 8-15 may not be used"));
}

TEST_CASE("runs that choose no CPUs say nothing of them") {
  RunBuilder run(2);
  add_process(run, 0, "", "0-7", 10'000);

  CHECK(setting_cpus(run).empty());
  CHECK_THAT(render_report(run, Format::table), !ContainsSubstring("CPUs that the workers ran on"));
}

TEST_CASE("a companion proves the CPUs by rank") {
  RunBuilder run = core_run();
  add_process(run, 0, "core", "", 1, model::Purpose::companion)->workers[1].cpus = "0-7";

  auto proofs = setting_proofs(run);
  REQUIRE(proofs.size() == 1);
  REQUIRE(proofs[0].variables.size() == 2);
  CHECK(proofs[0].variables[0].setting == model::Setting{"cpu_affinity", "core"});
  CHECK(proofs[0].variables[0].effect == Effect::took_effect);
  CHECK(proofs[0].variables[1].effect == Effect::overridden);
  CHECK(proofs[0].variables[1].ranks == std::vector<int>{1});
  REQUIRE(id_of(proofs[0].variables[1].reason) == "ran_on");
  CHECK(proofs[0].variables[1].reason->values == Object{{"cpus", "0-7"}});
}
