// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/run_builder.h"

#include "model/parse_enum.h"

#include <algorithm>

namespace ncclprobe::support {

model::Cell make_cell(const std::string& workload, std::uint64_t bytes,
                      model::Placement placement) {
  model::Cell cell;
  cell.label = {.bytes = bytes, .placement = placement};
  if (workload == "empty_kernel")
    cell.label.what = model::EmptyKernelLabel{};
  else
    cell.label.what = model::CollectiveLabel{
        base::value_or_throw(model::parse_enum<model::Collective>(workload, "collective"))};
  return cell;
}

model::CellRecord make_record(int ranks, std::int64_t time_ns, std::int64_t step_ns, int batches) {
  model::CellRecord record;
  for (int batch = 0; batch < batches; ++batch)
    for (int rank = 0; rank < ranks; ++rank)
      record.samples.push_back({.rank = rank,
                                .batch = batch,
                                .iterations = 20,
                                .elapsed_ns = 20 * (time_ns + rank + batch * step_ns)});
  record.check.checked = true;
  record.check.elements = 1024;
  return record;
}

model::CellRecord make_record(model::OutcomeKind outcome, const std::string& reason,
                              std::vector<int> ranks) {
  model::CellRecord record;
  record.outcome = {outcome, reason, std::move(ranks)};
  return record;
}

void add_cell(model::TrialRecord& trial, model::Cell cell, model::CellRecord record) {
  trial.outcome = model::worse(trial.outcome, record.outcome);
  trial.spec.cells.push_back(std::move(cell));
  trial.cells.push_back(std::move(record));
}

TrialBuilder& TrialBuilder::cell(const std::string& workload, std::uint64_t bytes,
                                 std::int64_t time_ns, const CellDetails& details) {
  model::CellRecord record =
      make_record((*this)->spec.ranks, time_ns, details.step_ns, details.batches);
  record.conditions = details.conditions;
  record.outcome = details.outcome;
  return cell(make_cell(workload, bytes, details.placement), std::move(record));
}

TrialBuilder& TrialBuilder::cell(model::Cell cell, model::CellRecord record) {
  add_cell(**this, std::move(cell), std::move(record));
  return *this;
}

RunBuilder::RunBuilder(int ranks) {
  *this = on_cpus(ranks);
  header.backend = "nvidia";
  header.backend_reason = fmt::format("{} GPUs and NCCL 2.28.3 found", ranks);
  model::HostInventory& host = header.hosts[0];
  for (int index = 0; index < ranks; ++index)
    host.gpus.push_back({.index = index, .name = "NVIDIA H200"});
  host.libraries = {{.name = "nccl", .version = "2.28.3", .path = "/usr/lib/libnccl.so.2"},
                    {.name = "cuda_runtime", .version = "13.0"},
                    {.name = "cuda_driver", .version = "580.65.06"},
                    {.name = "gloo", .version = "0.5.0"}};
}

RunBuilder RunBuilder::on_cpus(int ranks) {
  RunBuilder run;
  run.header.run_id = "7f0c2c1e-5a0e-4c43-9d3f-1b8a2f6f1d11";
  run.header.started_utc = "2026-03-01T12:34:56Z";
  run.header.ncclprobe_version = "0.1.0";
  run.header.mpi_version = "Open MPI v4.1.4";
  run.header.argv = {"ncclprobe"};
  run.header.seed = 42;
  run.header.backend = "host";
  run.header.backend_reason = "no GPU on this machine";
  run.header.hosts = {{.hostname = "node01",
                       .cpu_model = "Intel(R) Xeon(R) Platinum 8480+",
                       .cpus_allowed = 2,
                       .libraries = {{.name = "gloo", .version = "0.5.0"}}}};
  for (int rank = 0; rank < ranks; ++rank)
    run.header.ranks.push_back({.rank = rank, .host = 0, .device = rank});
  return run;
}

TrialBuilder RunBuilder::trial(std::vector<model::Setting> settings, model::Purpose purpose) {
  model::TrialRecord trial;
  trial.spec.id = static_cast<int>(trials.size());
  trial.spec.name = model::label_of(settings);
  trial.spec.replicate =
      static_cast<int>(std::ranges::count_if(trials, [&](const model::TrialRecord& earlier) {
        return earlier.spec.name == trial.spec.name && earlier.spec.purpose == purpose;
      }));
  trial.spec.purpose = purpose;
  trial.spec.backend = header.backend;
  trial.spec.ranks = static_cast<int>(header.ranks.size());
  trial.spec.process.common = std::move(settings);
  for (int rank = 0; rank < trial.spec.ranks; ++rank)
    trial.workers.push_back({.ranks = {rank},
                             .host = "node01",
                             .pid = 4000 + rank,
                             .last_phase = "done",
                             .last_cell = -1,
                             .exit = "exit 0",
                             .output_tail = ""});
  trials.push_back(std::move(trial));
  return {*this, trials.size() - 1};
}

} // namespace ncclprobe::support
