// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/proof/proof.h"
#include "analysis/report/written.h"
#include "analysis/results/loaded_libraries.h"
#include "analysis/verdict/verdict.h"
#include "support/catch.h"
#include "support/run_builder.h"

#include <nlohmann/json.hpp>

#include <algorithm>

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::support;

namespace {

constexpr const char* k_a = "/a/libnccl.so.2";
constexpr const char* k_b = "/b/libnccl.so.2";

// One process of `libraries` under test: two workers, which had `loaded`.
void add_process(RunBuilder& run, int replicate, std::vector<model::Setting> libraries,
                 const std::vector<model::Library>& loaded, std::int64_t time_ns) {
  auto trial = run.trial();
  trial->spec.replicate = replicate;
  trial->spec.name.clear();
  trial->spec.libraries =
      libraries.empty() ? std::vector<model::Setting>{{"nccl", k_a}} : libraries;
  trial->spec.tested_libraries = std::move(libraries);
  trial->spec.name = trial->spec.label();
  trial->workers.clear();
  for (int rank = 0; rank < 2; ++rank) {
    trial->workers.emplace_back().ranks = {rank};
    trial->workers.back().libraries = loaded;
  }
  trial.cell("all_reduce", 1000, time_ns);
}

const std::vector<model::Library> k_has_a{{"nccl", "2.28.3", "/a/libnccl.so.2.28.3", ""}};
const std::vector<model::Library> k_has_b{{"nccl", "2.28.9", "/b/libnccl.so.2.28.9", ""}};

// NCCL b against a, a tenth faster; b's workers had `of_b` loaded.
RunBuilder library_run(const std::vector<model::Library>& of_b) {
  RunBuilder run(2);
  for (int i = 0; i < 10; ++i)
    add_process(run, i, {}, k_has_a, 10'000 + i);
  for (int i = 0; i < 5; ++i)
    add_process(run, i, {{"nccl", k_b}}, of_b, 9'000 + i);
  return run;
}

Comparison compared(const model::Run& run) {
  auto results = setting_results(RunSummary(run));
  auto verdicts = judge(results);
  REQUIRE(verdicts.comparisons.size() == 1);
  Comparison one = verdicts.comparisons[0];
  CHECK(one.setting->setting == "nccl=/b/libnccl.so.2");
  CHECK(one.setting->settings == std::vector<model::Setting>{{"nccl", k_b}});
  one.setting = one.baseline = nullptr; // they go
  return one;
}

} // namespace

TEST_CASE("a library is judged against the default as any setting is") {
  RunBuilder run = library_run(k_has_b);

  CHECK(compared(run).verdict == Verdict::better);
  auto all = setting_libraries(run);
  REQUIRE(all.size() == 2);
  CHECK(all[0].is_default);
  CHECK(all[1].loaded ==
        std::vector<LoadedLibrary>{{"nccl", "2.28.9", "/b/libnccl.so.2.28.9", {0, 1}}});
  CHECK(all[1].problems.empty());
  CHECK(libraries_differ(all));
  std::string report = render_report(run, Format::table);
  CHECK_THAT(report, ContainsSubstring("Libraries that were loaded") &&
                         ContainsSubstring("nccl 2.28.9 (/b/libnccl.so.2.28.9)"));
}

TEST_CASE("without the library that was asked for there is no verdict, and the reason is told") {
  std::vector<model::Library> other = k_has_a;
  other[0].problem = "/b/libnccl.so.2 was requested, but /a/libnccl.so.2.28.3 was loaded";
  RunBuilder run = library_run(other);

  Comparison one = compared(run);
  CHECK(one.verdict == Verdict::not_decided);
  REQUIRE(id_of(one.why_not_decided) == "not_as_asked");
  CHECK(one.why_not_decided->values == Object{{"problem", "ranks 0,1: nccl: " + other[0].problem}});
  std::string report = render_report(run, Format::table);
  CHECK_THAT(report, ContainsSubstring("No verdict on nccl=/b/libnccl.so.2: ranks 0,1: nccl:") &&
                         ContainsSubstring("Not as asked:") &&
                         ContainsSubstring("still resolves to the default's file"));
  auto json = nlohmann::json::parse(render_report(run, Format::json));
  CHECK(json["libraries"][1]["same_as_default"] == nlohmann::json{"nccl"});
  CHECK(json["libraries"][1]["problems"].size() == 1);
}

TEST_CASE("a library under test that no worker told of is not taken on trust") {
  CHECK_THAT(in_words(compared(library_run({})).why_not_decided),
             ContainsSubstring("not known which was loaded"));
}

TEST_CASE("the default's library counts as well") {
  RunBuilder run = library_run(k_has_b);
  run.trials[3].workers[1].libraries[0].problem =
      "/c/libnccl.so.2 (libnccl.so.2) is loaded as well";

  Comparison one = compared(run);

  CHECK(one.verdict == Verdict::not_decided);
  CHECK(id_of(one.why_not_decided) == "default_not_as_asked");
  CHECK_THAT(in_words(one.why_not_decided), ContainsSubstring("of the default, rank 1: nccl: /c/"));
}

TEST_CASE("where all loaded the same and nobody chose, the report says nothing of libraries") {
  RunBuilder run(2);
  for (int i = 0; i < 10; ++i)
    add_process(run, i, {}, k_has_a, 10'000 + i);
  auto setting = run.trials[0];
  setting.spec.id = 10;
  setting.spec.process.common = {{"NCCL_PROTO", "LL"}};
  setting.spec.name = "NCCL_PROTO=LL";
  run.trials.push_back(setting);

  CHECK_FALSE(libraries_differ(setting_libraries(run)));
  CHECK(setting_libraries(RunBuilder(2)).empty());
}

TEST_CASE("a search path that leads to the default's files is a comparison with itself") {
  RunBuilder run = library_run(k_has_b);
  auto setting = run.trials[0];
  setting.spec.id = 15;
  setting.spec.process.common = {{"LD_LIBRARY_PATH", "/empty"}};
  setting.spec.name = "LD_LIBRARY_PATH=/empty";
  run.trials.push_back(setting);

  auto all = setting_libraries(run);

  auto found = std::ranges::find(all, "LD_LIBRARY_PATH=/empty", &SettingLibraries::setting);
  REQUIRE(found != all.end());
  CHECK(found->as_default == std::vector<std::string>{"nccl"});
}

TEST_CASE("a companion proves a library by what was loaded") {
  RunBuilder run = library_run(k_has_b);
  auto companion = run.trials.back();
  companion.spec.purpose = model::Purpose::companion;
  run.trials.push_back(companion);

  auto proofs = setting_proofs(run);

  REQUIRE(proofs.size() == 1);
  CHECK_FALSE(proofs[0].is_default);
  REQUIRE(proofs[0].variables.size() == 1);
  CHECK(proofs[0].variables[0].effect == Effect::took_effect);
  CHECK(proofs[0].variables[0].ranks == std::vector<int>{0, 1});
  REQUIRE(id_of(proofs[0].variables[0].reason) == "loaded");
  CHECK(proofs[0].variables[0].reason->values ==
        Object{{"libraries", "nccl 2.28.9 (/b/libnccl.so.2.28.9)"}});
}
