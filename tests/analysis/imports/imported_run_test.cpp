// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/imports/import_format.h"
#include "analysis/imports/import_logs.h"
#include "analysis/imports/imported_run.h"
#include "analysis/report/report.h"
#include "analysis/report_value/report_writers.h"
#include "analysis/results/cell_summary.h"
#include "store/run_file.h"
#include "support/catch.h"
#include "support/scratch_folder.h"

namespace ncclprobe::analysis::imports {
namespace {

using model::ImportFormat;

std::vector<ImportedInput> inputs_of(const std::vector<ImportText>& files) {
  return base::value_or_throw(read_inputs(files, {}));
}
model::Run run_of(const std::vector<ImportText>& files) {
  return base::value_or_throw(make_run(inputs_of(files)));
}
ImportText all_reduce(const std::string& path = "a.log") {
  return {path, ImportFormat::nccl_tests_text, import_log("all_reduce_2.19.6.log")};
}

} // namespace

TEST_CASE("an imported run says where it is from, and its bandwidths are those of the log") {
  const model::Run run = run_of({all_reduce()});

  CHECK(run.header.backend == "nvidia");
  CHECK_FALSE(run.header.synthetic);
  REQUIRE(run.header.imported.size() == 1);
  CHECK(run.header.imported[0].path == "a.log");
  CHECK(run.header.imported[0].version == "2.19.6");
  CHECK(run.header.imported[0].trials == std::vector{0});
  CHECK(run.header.hosts.at(0).gpus.size() == 2);
  CHECK(run.header.hosts[0].library("nccl")->version == "2.28.3");
  CHECK(run.header.ranks.size() == 2);
  CHECK(run.header.planned_trials == 1);
  CHECK(run.trials.at(0).outcome.ok());
  CHECK(run.trials[0].workers.at(0).ranks == std::vector{0, 1});

  const auto results = setting_results(RunSummary(run));
  REQUIRE(results.size() == 26);
  const SettingResult& largest = results.back();
  CHECK(largest.label.bytes == 134217728);
  CHECK(largest.processes.size() == 1);
  CHECK(largest.spread_over == SettingResult::SpreadOver::nothing);
  CHECK(*largest.busbw_gb_per_s == Approx(265.85).epsilon(0.001));
}

TEST_CASE("several logs of one measurement are processes with scatter") {
  ImportText later = all_reduce("b.log");
  later.text.replace(later.text.find("  505.32"), 8, "  507.11");

  const model::Run run = run_of({all_reduce(), later});

  REQUIRE(run.trials.size() == 2);
  CHECK(run.trials[1].spec.replicate == 1);
  CHECK(run.header.imported.at(1).trials == std::vector{1});
  const auto results = setting_results(RunSummary(run));
  CHECK(results.front().processes.size() == 2);
  CHECK(results.front().spread_over == SettingResult::SpreadOver::processes);
}

TEST_CASE("the same files give the same run, others another one") {
  CHECK(run_of({all_reduce()}) == run_of({all_reduce()}));
  CHECK(run_of({all_reduce()}).header.run_id != run_of({all_reduce(), all_reduce()}).header.run_id);
  CHECK(run_of({all_reduce()}).header.run_id.size() == 36);
}

TEST_CASE("files of different machines, versions or environments are not one run") {
  auto with = [](const std::string& old, const std::string& replacement) {
    ImportText other = all_reduce("b.log");
    for (std::size_t at = other.text.find(old); at != std::string::npos;
         at = other.text.find(old, at + replacement.size()))
      other.text.replace(at, old.size(), replacement);
    return other;
  };
  for (const ImportText& other :
       {with("NVIDIA H200", "NVIDIA H100"), with("nccl-library=22803", "nccl-library=22907"),
        with("h200-1", "h200-2"),
        ImportText{"b.json", ImportFormat::nccl_tests_json,
                   import_log("all_gather_2.19.6.json")}}) {
    const auto run = make_run(inputs_of({all_reduce(), other}));
    REQUIRE_FALSE(run);
    CHECK(run.error().code == Errc::mismatch);
  }
}

TEST_CASE("every format survives the run file, and its report says that it is imported") {
  support::ScratchFolder folder;
  const std::vector<std::vector<ImportText>> all{
      {all_reduce()},
      {{"w.log", ImportFormat::nccl_tests_text, import_log("wrong_data_per_iteration_2.19.6.log")}},
      {{"a.json", ImportFormat::nccl_tests_json,
        import_log("all_reduce_per_iteration_2.19.6.json")}},
      {{"n.json", ImportFormat::nvbandwidth_json, import_log("nvbandwidth_0.8.json")}},
      {{"r0", ImportFormat::nccl_inspector, import_log("inspector_rank0.log")},
       {"r1", ImportFormat::nccl_inspector, import_log("inspector_rank1_verbose.log")}}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    INFO(i);
    const model::Run run = run_of(all[i]);
    const auto file = folder.path() / fmt::format("{}.h5", i);
    base::value_or_throw(store::begin_run(file, run.header));
    base::value_or_throw(store::write_part(file, run.trials.at(0)));
    base::value_or_throw(store::fold(file));

    const model::Run stored = base::value_or_throw(store::read_run(file));

    CHECK(stored == run);
    const RunSummary summary(stored);
    const Report report = run_report(summary);
    const std::string text = written(report, Format::table);
    CHECK_THAT(text, ContainsSubstring("IMPORTED from"));
    CHECK_THAT(text, !ContainsSubstring("not tell") && !ContainsSubstring(" 1 record were") &&
                         !ContainsSubstring("has no scatter"));
    CHECK_THAT(written(report, Format::csv), ContainsSubstring("imported"));
  }
}

} // namespace ncclprobe::analysis::imports
