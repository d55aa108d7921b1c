// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/job/resume.h"

#include "base/log.h"
#include "launch/cli/job/plan_file.h"
#include "store/run_file.h"

#include <algorithm>

namespace ncclprobe::cli {
namespace {

using model::OutcomeKind;

// Facts by name; compared, never parsed.
using Facts = std::map<std::string, std::string>;

// A run with a given backend ignores libraries and GPUs of other backends.
bool bears_on(const std::string& backend, const model::Library& library) {
  const bool of_cpu = library.name == "gloo";
  return backend == "host" ? of_cpu : backend == "nvidia" && !of_cpu;
}

Facts facts_of(const model::RunHeader& header) {
  Facts facts{{"ncclprobe", header.ncclprobe_version},
              {"MPI", header.mpi_version.empty() ? "no mpirun" : header.mpi_version},
              {"backend", header.backend}};
  for (const model::HostInventory& host : header.hosts) {
    const std::string on = " on " + host.hostname;
    facts["host " + host.hostname] = "there";
    facts["processor" + on] = host.cpu_model;
    facts["ncclprobe-worker" + on] = host.worker_version;
    if (header.backend == "nvidia")
      for (const model::CudaDevice& gpu : host.gpus)
        facts[fmt::format("GPU {}{}", gpu.index, on)] = gpu.name + " " + gpu.uuid;
    for (const model::Library& library : host.libraries)
      if (bears_on(header.backend, library))
        facts[library.name + on] =
            library.version.empty() ? "" : library.version + " " + library.path;
  }
  for (const model::RankPlace& place : header.ranks)
    facts[fmt::format("rank {}", place.rank)] =
        fmt::format("device {} of {}", place.device, header.hosts.at(place.host).hostname);
  for (const model::Setting& file : header.files)
    facts["contents of " + file.name] = file.value;
  for (const model::Setting& variable : header.environment)
    facts[variable.name + " in the environment"] = "'" + variable.value + "'";
  for (const model::RankVariable& variable : header.environment_of_ranks)
    for (int rank : variable.ranks)
      facts[fmt::format("{} in the environment of rank {}", variable.name, rank)] =
          variable.value ? "'" + *variable.value + "'" : "missing";
  return facts;
}

// Places in a damaged file may name hosts that it does not have.
std::optional<std::uint64_t> free_device_bytes(const model::RunHeader& header) {
  std::optional<std::uint64_t> least;
  if (header.backend != "nvidia")
    return least;
  for (const model::RankPlace& place : header.ranks) {
    const auto host = static_cast<std::size_t>(place.host);
    const auto device = static_cast<std::size_t>(place.device);
    if (host < header.hosts.size() && device < header.hosts[host].gpus.size())
      least = std::min(least.value_or(UINT64_MAX), header.hosts[host].gpus[device].free_bytes);
  }
  return least;
}

bool ended(const model::CellRecord& cell) {
  return cell.outcome.kind != OutcomeKind::not_run;
}

int cells_ended(const model::TrialRecord& trial) {
  return static_cast<int>(std::ranges::count_if(trial.cells, ended));
}

bool is_failure(const model::Outcome& outcome) {
  return outcome.kind == OutcomeKind::failed || outcome.kind == OutcomeKind::timed_out ||
         outcome.kind == OutcomeKind::crashed;
}

bool same_cells(const model::TrialSpec& a, const model::TrialSpec& b) {
  return std::ranges::equal(a.cells, b.cells, [&](const model::Cell& one, const model::Cell& two) {
    return model::resume_key(a, one) == model::resume_key(b, two);
  });
}

// The plan is made from the same text. If it still differs, trials cannot be identified by their
// number.
Result<void> check_plan(const std::filesystem::path& run_file, const model::Run& run,
                        const workload::Plan& plan) {
  auto planned = static_cast<int>(plan.trials.size());
  Error error{Errc::mismatch, "", "start a new run"};
  if (planned != run.header.planned_trials)
    error.message = fmt::format("{} was planned with {} trials, but the plan made now has {}",
                                run_file.string(), run.header.planned_trials, planned);
  for (const model::TrialRecord& trial : run.trials) {
    int id = trial.spec.id;
    if (error.message.empty() &&
        (id < 0 || id >= planned || !same_cells(plan.trials[id], trial.spec)))
      error.message = fmt::format("trial {} of {} ({}) differs from that of the plan made now", id,
                                  run_file.string(), trial.spec.name);
  }
  return error.message.empty() ? Result<void>() : fail(std::move(error));
}

Result<void> check_machine(const std::filesystem::path& run_file, const RunOptions& options,
                           const std::vector<std::string>& differ) {
  if (differ.empty())
    return {};
  std::string list = fmt::format("\n  {}", fmt::join(differ, "\n  "));
  if (!options.force)
    return fail(
        Error{Errc::mismatch,
              fmt::format("{} was started under other conditions:{}\n", run_file.string(), list),
              "--force resumes anyway; the report then states the differences"});
  spdlog::warn("continuing {} although conditions differ; its report will say so:{}",
               run_file.string(), list);
  return {};
}

} // namespace

Result<BegunRun> begun_run(const std::filesystem::path& run_file) {
  auto run = store::read_run(run_file, store::Rows::drop);
  if (!run) {
    Error& error = run.error();
    if (error.code != Errc::not_found && error.code != Errc::unavailable)
      error.code = Errc::invalid_argument; // the file is the user's input
    return fail(std::move(error));
  }
  if (!run->header.imported.empty())
    return fail(Error{Errc::invalid_argument,
                      fmt::format("{} was imported from another program's output, so it cannot be "
                                  "resumed",
                                  run_file.string()),
                      "start a new run; `ncclprobe compare` compares both"});
  if (run->header.plan.empty())
    return fail(Error{Errc::invalid_argument,
                      fmt::format("{} does not contain its plan", run_file.string()),
                      "it is from `ncclprobe p2p`, which cannot be resumed: start a new run"});
  return BegunRun{run->header.plan, free_device_bytes(run->header)};
}

std::string plan_to_store(RunOptions options, const std::vector<model::RankPlace>& ranks,
                          bool launched) {
  options.output.reset();
  if (!launched) // a launcher decides on the ranks
    options.ranks = static_cast<int>(ranks.size());
  return write_plan_file(options);
}

std::vector<std::string> differences(const model::RunHeader& stored, const model::RunHeader& now) {
  const Facts before = facts_of(stored);
  const Facts after = facts_of(now);
  auto value = [](const Facts& facts, const std::string& name) {
    auto found = facts.find(name);
    return found == facts.end() || found->second.empty() ? "not there" : found->second;
  };
  Facts names = before;
  names.insert(after.begin(), after.end());
  std::vector<std::string> lines;
  for (const auto& [name, unused] : names)
    if (value(before, name) != value(after, name))
      lines.push_back(
          fmt::format("{}: was {}, is {}", name, value(before, name), value(after, name)));
  return lines;
}

Standing standing_of(const model::TrialRecord& trial) {
  if (is_failure(trial.outcome) ||
      std::ranges::any_of(trial.cells, is_failure, &model::CellRecord::outcome))
    return Standing::failed;
  return std::ranges::all_of(trial.cells, ended) ? Standing::done : Standing::missing;
}

bool Stored::wants(const model::TrialRecord& trial) const {
  auto stored = cells_cut_short.find(trial.spec.id);
  return stored == cells_cut_short.end() || standing_of(trial) != Standing::missing ||
         cells_ended(trial) > stored->second;
}

Result<Stored> resume(const std::filesystem::path& run_file, const RunOptions& options,
                      const model::RunHeader& now, const workload::Plan& plan) {
  NCCLPROBE_TRY_ASSIGN(const model::Run first_look, store::read_run(run_file, store::Rows::drop));
  std::vector<std::string> differ = differences(first_look.header, now);
  NCCLPROBE_TRY(check_machine(run_file, options, differ));
  NCCLPROBE_TRY(check_plan(run_file, first_look, plan));
  // From here on nobody else changes the file; earlier changes show here.
  NCCLPROBE_TRY_ASSIGN(model::Run run, store::resume_run(run_file, store::Rows::drop));
  if (!differ.empty()) {
    for (std::string& line : differ)
      if (std::ranges::find(run.header.forced, line) == run.header.forced.end())
        run.header.forced.push_back(std::move(line));
    NCCLPROBE_TRY(store::write_header(run_file, run.header));
  }
  Stored stored;
  stored.run_id = run.header.run_id;
  for (const model::TrialRecord& trial : run.trials) {
    Standing standing = standing_of(trial);
    if (standing == Standing::done || (standing == Standing::failed && !options.retry_failed)) {
      stored.done.insert(trial.spec.id);
      stored.tally.add(trial);
    } else {
      stored.cells_cut_short[trial.spec.id] = cells_ended(trial);
    }
  }
  return stored;
}

} // namespace ncclprobe::cli
