// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// What programs may rely on in the JSON of reports: docs/schemas.
#include "analysis/proof/proof_runs.h"
#include "analysis/report/example_reports.h"
#include "analysis/report/report.h"
#include "analysis/verdict/verdict.h"
#include "support/catch.h"
#include "support/golden.h"
#include "support/json_schema.h"
#include "support/run_builder.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis_test;
using namespace ncclprobe::support;
using When = model::Condition::When;

namespace {

// Takes `time_ns` on two ranks. Everything that can be read of a GPU was read, and something
// disturbed the run.
model::CellRecord watched_record(std::int64_t time_ns) {
  model::CellRecord record = make_record(2, time_ns);
  for (model::Sample& sample : record.samples)
    sample.launch_ns = 500 * sample.iterations;
  for (int rank : {0, 1})
    for (int second = 0; second < 4; ++second) {
      const auto count = static_cast<std::uint64_t>(second);
      record.conditions.push_back({.rank = rank,
                                   .when = second == 0   ? When::before
                                           : second == 3 ? When::after
                                                         : When::during,
                                   .at_ns = second * std::int64_t{1'000'000'000},
                                   .sm_clock_mhz = 1980,
                                   .memory_clock_mhz = 2600,
                                   .temperature_c = 40,
                                   .power_mw = 300'000,
                                   .throttle_reasons = 0x4,
                                   .memory_used_bytes = std::uint64_t{1} << 30,
                                   .nvlink_sent_bytes = count * 300'000'000'000,
                                   .nvlink_received_bytes = count * 300'000'000'000,
                                   .pcie_sent_mb_per_s = 12'000,
                                   .pcie_received_mb_per_s = 12'000,
                                   .processes = 2,
                                   .corrected_errors = count,
                                   .uncorrected_errors = count});
    }
  return record;
}

// Two settings with their traced twins; chosen CPUs, libraries and variables of single ranks.
RunBuilder watched_run() {
  RunBuilder run(2);
  run.header.environment_of_ranks = {{{1}, "NCCL_ALGO", "Ring"}};
  run.header.proven = {{"NCCL_MIN_CTAS=32", 1.06, 1.04, 1.08}};
  run.header.imported = {{.path = "a.log",
                          .format = model::ImportFormat::nccl_tests_text,
                          .version = "2.19.6",
                          .fingerprint = "0123456789abcdef",
                          .trials = {0},
                          .times = "A time is a mean.",
                          .remarks = {"Something was left out."}}};
  for (model::CudaDevice& gpu : run.header.hosts[0].gpus) {
    gpu.name = "NVIDIA H200";
    gpu.compute_capability = "9.0";
    gpu.nvlinks = 18;
  }
  for (model::Purpose purpose : {model::Purpose::measure, model::Purpose::traced})
    for (const bool is_default : {true, false})
      for (int process = 0; process < 10; ++process) {
        auto trial = run.trial({}, purpose);
        for (std::uint64_t bytes : {1 << 20, 2 << 20, 4 << 20})
          trial.cell(make_cell("all_reduce", bytes), watched_record(is_default ? 10'000 : 9'000));
        for (model::WorkerRecord& worker : trial->workers) {
          worker.cpus = is_default ? "0-7" : "0";
          worker.cpus_asked = is_default ? "" : "0";
          worker.libraries = {{"nccl", "2.28.3", is_default ? "/a/libnccl.so" : "/b/libnccl.so"}};
          using What = model::MemoryUse::What;
          for (auto [what, bytes] : {std::pair(What::before, 10),
                                     {What::opened, 500},
                                     {What::connected, 800},
                                     {What::finished, 2000},
                                     {What::buffers, 256}})
            worker.memory.push_back({worker.ranks[0], what, std::uint64_t(bytes) << 20});
        }
        if (purpose == model::Purpose::traced)
          trial->spec.trace = model::TraceLevel::kernels;
        if (!is_default) {
          trial->spec.cpu_affinity = "core";
          trial->spec.tested_libraries = trial->spec.libraries = {{"nccl", "/b/libnccl.so"}};
          trial->spec.name.clear();
          trial->spec.name = trial->spec.label();
          trial->spec.replicate = process;
        }
      }
  return run;
}

} // namespace

TEST_CASE("the JSON of reports has the fields and types of its schema") {
  JsonSchema schema;
  schema.add_names("verdict", Verdict{});
  schema.add_names("outcome", model::OutcomeKind{});
  schema.add_names("placement", model::Placement{});
  schema.add_names("severity", Severity{});
  schema.add_names("timing_mode", model::TimingMode{});
  schema.add_names("type", model::DataType{});
  RunBuilder plain(2);
  plain.trial().cell("all_reduce", 1024, 1000);
  for (model::Run run : {model::Run(plain), sweep_run(), failures_run(), synthetic_run(),
                         latency_run(), in_process_run(), stopped_run(), empty_run(), proof_run(),
                         predicted_run(), model::Run(watched_run())})
    schema.add(render_report(run, Format::json));
  schema.add(render_report(sweep_run(), Format::json, 30'000));
  schema.add(render_report(steps_run(), Format::json, 30'000, traced_steps()));
  model::Run unwatched = steps_run();
  for (model::TrialRecord& trial : unwatched.trials)
    for (model::CellRecord& cell : trial.cells)
      cell.conditions.clear();
  schema.add(render_report(unwatched, Format::json));
  model::Run without_channels = proof_run(); // as Gloo tells none
  for (model::TrialRecord& trial : without_channels.trials)
    for (model::Evidence& evidence : trial.evidence)
      for (model::Choice& choice : evidence.choices)
        choice.channels = 0;
  schema.add(render_report(without_channels, Format::json));
  schema.add_all<model::HostInventory>("run/hosts/*");
  for (const char* amount : {"context_bytes", "connecting_bytes", "launching_bytes"})
    schema.add_at(fmt::format("memory/*/{}", amount), "null"); // of a trial that ended too early

  check_document("docs/schemas/report.json", schema.text("ncclprobe report RUN --format json"));
}
