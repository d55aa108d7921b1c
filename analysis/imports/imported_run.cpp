// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/imports/imported_run.h"

#include "base/add_once.h"
#include "base/hash.h"
#include "model/outcome.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace ncclprobe::analysis::imports {
namespace {

// A process and where it comes from, for messages.
struct Origin {
  const ImportedInput* input;
  std::size_t launch; // in the input, from 1

  const ImportedProcess& process() const { return input->processes[launch - 1]; }
  std::string name() const {
    return input->processes.size() == 1 ? input->path
                                        : fmt::format("launch {} in {}", launch, input->path);
  }
};

std::string settings_text(const std::vector<model::Setting>& settings) {
  return settings.empty() ? "none" : model::label_of(settings);
}

std::string gpus_text(const std::vector<ImportedRank>& ranks) {
  std::string text;
  for (const ImportedRank& rank : ranks)
    text += fmt::format("{}{} of {} ({})", text.empty() ? "" : ", ", rank.device, rank.hostname,
                        rank.gpu);
  return text;
}

std::string libraries_text(const std::vector<model::Library>& libraries) {
  std::string text;
  for (const model::Library& library : libraries)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", library.name, library.version);
  return text.empty() ? "unknown" : text;
}

// Errors: mismatch, naming the first difference.
Result<void> check_same(const Origin& first, const Origin& other) {
  const ImportedProcess& a = first.process();
  const ImportedProcess& b = other.process();
  auto differ = [&](std::string_view what, const std::string& one, const std::string& two) {
    return fail({Errc::mismatch,
                 fmt::format("{} and {} differ in {}: {} and {}", first.name(), other.name(), what,
                             one, two),
                 "import each into a run file of its own (--launch takes one launch of a log)"});
  };
  if (a.ranks.size() != b.ranks.size())
    return differ("the number of ranks", fmt::format("{}", a.ranks.size()),
                  fmt::format("{}", b.ranks.size()));
  if (gpus_text(a.ranks) != gpus_text(b.ranks))
    return differ("the GPUs of the ranks", gpus_text(a.ranks), gpus_text(b.ranks));
  if (libraries_text(a.libraries) != libraries_text(b.libraries))
    return differ("libraries", libraries_text(a.libraries), libraries_text(b.libraries));
  if (a.environment != b.environment)
    return differ("the environment", settings_text(a.environment), settings_text(b.environment));
  return {};
}

// Fills in hosts, with the GPUs that ranks use, and where the ranks are.
void add_machine(model::RunHeader& header, const ImportedProcess& process) {
  std::map<std::string, int> index;
  std::set<std::pair<int, int>> known; // host and device
  for (const ImportedRank& rank : process.ranks) {
    const auto [host, is_new] =
        index.try_emplace(rank.hostname, static_cast<int>(header.hosts.size()));
    if (is_new) {
      model::HostInventory made;
      made.hostname = rank.hostname.empty() ? "unknown" : rank.hostname;
      made.boot_id = made.hostname;
      made.libraries = process.libraries;
      header.hosts.push_back(std::move(made));
    }
    header.ranks.push_back({rank.rank, host->second, rank.device});
    if (rank.gpu.empty() || !known.insert({host->second, rank.device}).second)
      continue;
    model::CudaDevice gpu;
    gpu.index = rank.device;
    gpu.name = rank.gpu;
    gpu.pci_bus_id = rank.pci_bus_id;
    header.hosts[static_cast<std::size_t>(host->second)].gpus.push_back(std::move(gpu));
  }
}

std::vector<model::WorkerRecord> workers_of(const ImportedProcess& process) {
  std::vector<model::WorkerRecord> workers;
  std::map<std::pair<std::string, std::int32_t>, std::size_t> index;
  for (const ImportedRank& rank : process.ranks) {
    const auto [found, is_new] = index.try_emplace({rank.hostname, rank.pid}, workers.size());
    if (is_new) {
      workers.emplace_back();
      workers.back().host = rank.hostname;
      workers.back().pid = rank.pid;
    }
    workers[found->second].ranks.push_back(rank.rank);
  }
  return workers;
}

model::TrialRecord trial_of(const ImportedProcess& process, int id) {
  model::TrialRecord trial;
  trial.spec.id = id;
  trial.spec.name = model::label_of({});
  trial.spec.replicate = id;
  trial.spec.backend = "nvidia";
  trial.spec.ranks = static_cast<int>(process.ranks.size());
  trial.started_utc = process.started;
  trial.outcome = process.outcome;
  for (const ImportedCell& cell : process.cells) {
    model::Cell spec;
    spec.label = cell.label;
    spec.timing = cell.timing;
    if (cell.chase)
      spec.schedule.operations.push_back({.what = *cell.chase, .ranks = {}});
    trial.outcome = model::worse(trial.outcome, cell.record.outcome);
    trial.spec.cells.push_back(std::move(spec));
    trial.cells.push_back(cell.record);
  }
  trial.workers = workers_of(process);
  return trial;
}

// In the form of a UUID; version 8 is for values of one's own.
std::string run_id_of(const std::vector<ImportedInput>& inputs) {
  base::Hash low, high;
  for (const ImportedInput& input : inputs) {
    low.add(input.fingerprint).add(input.processes.size());
    high.add(input.processes.size()).add(input.fingerprint);
  }
  const std::uint64_t a = base::mixed(high.value()), b = base::mixed(low.value());
  return fmt::format("{:08x}-{:04x}-8{:03x}-{:04x}-{:012x}", a >> 32, a >> 16 & 0xFFFF, a & 0xFFF,
                     (b >> 48 & 0x3FFF) | 0x8000, b & 0xFFFF'FFFF'FFFF);
}

} // namespace

std::string_view program_of(model::ImportFormat format) {
  switch (format) {
  case model::ImportFormat::nccl_tests_text:
  case model::ImportFormat::nccl_tests_json:
    return "nccl-tests";
  case model::ImportFormat::nccl_inspector:
    return "NCCL Inspector";
  case model::ImportFormat::nvbandwidth_json:
    return "nvbandwidth";
  }
  return "?";
}

Result<model::Run> make_run(const std::vector<ImportedInput>& inputs) {
  std::vector<Origin> origins;
  for (const ImportedInput& input : inputs)
    for (std::size_t launch = 1; launch <= input.processes.size(); ++launch)
      origins.push_back({&input, launch});
  if (origins.empty())
    return fail(Errc::invalid_argument, "there is nothing to import");
  for (const Origin& other : origins)
    NCCLPROBE_TRY(check_same(origins.front(), other));

  model::Run run;
  model::RunHeader& header = run.header;
  header.run_id = run_id_of(inputs);
  header.started_utc = origins.front().process().started;
  header.backend = "nvidia";
  add_machine(header, origins.front().process());
  header.environment = origins.front().process().environment;
  header.planned_trials = static_cast<int>(origins.size());
  std::vector<std::string> programs;
  for (const ImportedInput& input : inputs) {
    model::ImportedFile file{
        .path = input.path, .format = input.format, .fingerprint = input.fingerprint};
    if (input.processes.empty()) { // a part of the process of another file
      const auto first =
          std::ranges::find(header.imported, input.format, &model::ImportedFile::format);
      if (first == header.imported.end())
        continue;
      file.version = first->version;
      file.trials = first->trials;
      file.times = first->times;
    }
    for (const ImportedProcess& process : input.processes) {
      file.trials.push_back(static_cast<int>(run.trials.size()));
      file.version = process.version;
      file.times = process.times;
      for (const std::string& remark : process.remarks)
        base::add_once(file.remarks, remark);
      run.trials.push_back(trial_of(process, static_cast<int>(run.trials.size())));
    }
    base::add_once(programs, std::string(program_of(input.format)));
    header.imported.push_back(std::move(file));
  }
  header.backend_reason = fmt::format("measured by {}", fmt::join(programs, " and "));
  return run;
}

} // namespace ncclprobe::analysis::imports
