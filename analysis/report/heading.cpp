// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/heading.h"

#include "analysis/report/label_words.h"
#include "analysis/results/conditions.h"
#include "analysis/results/rank_gpu.h"
#include "analysis/survey/memory_split.h"
#include "analysis/topology_chart/topology_chart.h"
#include "base/add_once.h"
#include "base/described.h"
#include "model/document.h"

#include <algorithm>
#include <map>
#include <set>

namespace ncclprobe::analysis {
namespace {

using model::RunHeader;

constexpr int k_heading_hang = 13;

// "host a", "hosts a, b", "4 hosts a, b, ... d".
std::string describe_hosts(const RunHeader& header) {
  std::vector<std::string> names;
  for (const model::HostInventory& host : header.hosts)
    names.push_back(printable(host.hostname));
  std::string list = names.size() <= 4
                         ? join(names, ", ")
                         : fmt::format("{}, {}, ... {}", names[0], names[1], names.back());
  return count_of(names.size(), "host", "hosts") + (list.empty() ? "" : " (" + list + ")");
}

// "8 x NVIDIA H200", by the devices that ranks use.
std::string describe_gpus(const RunHeader& header) {
  std::map<std::string, std::set<std::pair<int, int>>> devices; // (host, device) by GPU name
  for (const model::RankPlace& place : header.ranks)
    if (const model::CudaDevice* gpu = gpu_of(header, place))
      devices[gpu->name].insert({place.host, place.device});
  std::vector<std::string> parts;
  for (const auto& [name, of_name] : devices)
    parts.push_back(fmt::format("{} x {}", of_name.size(), printable(name)));
  return join(parts, " + ");
}

std::string describe_machine(const RunHeader& header) {
  std::string ranks = count_of(header.ranks.size(), "rank", "ranks");
  if (header.backend == "synthetic")
    return "a seeded model of " + ranks + "; no hardware was measured";
  std::string hosts = describe_hosts(header);
  if (header.backend == "nvidia") {
    std::string gpus = describe_gpus(header);
    return fmt::format("{} on {}, {}", gpus.empty() ? "GPUs not listed" : gpus, hosts, ranks);
  }
  std::map<std::string, int> models;
  for (const model::HostInventory& host : header.hosts)
    ++models[printable(host.cpu_model)];
  std::vector<std::string> cpus;
  for (const auto& [name, count] : models)
    if (!name.empty())
      cpus.push_back(count == 1 ? name : fmt::format("{} ({} hosts)", name, count));
  int allowed = 0;
  for (const model::HostInventory& host : header.hosts)
    allowed += host.cpus_allowed;
  return fmt::format(
      "{} CPU {} on {}{}{}{}", header.ranks.size(), header.ranks.size() == 1 ? "rank" : "ranks",
      hosts, cpus.empty() ? "" : ", ", join(cpus, " + "),
      allowed > 0 ? ", " + count_of(static_cast<std::size_t>(allowed), "CPU", "CPUs") : "");
}

// "NCCL 2.28.3", or, if hosts differ, both versions with their hosts.
std::string describe_library(const RunHeader& header, const std::string& name,
                             const std::string& title) {
  std::map<std::string, std::vector<std::string>> hosts_by_version;
  for (const model::HostInventory& host : header.hosts)
    if (const model::Library* library = host.library(name))
      if (!library->version.empty())
        hosts_by_version[printable(library->version)].push_back(printable(host.hostname));
  if (hosts_by_version.empty())
    return "";
  if (hosts_by_version.size() == 1)
    return title + " " + hosts_by_version.begin()->first;
  std::vector<std::string> versions;
  for (const auto& [version, hosts] : hosts_by_version)
    versions.push_back(version + " on " + join(hosts, " "));
  return title + " DIFFERS (" + join(versions, "; ") + ")";
}

std::string describe_software(const RunHeader& header) {
  static const std::map<std::string, std::vector<std::pair<std::string, std::string>>> k_of_backend{
      {"nvidia",
       {{"nccl", "NCCL"}, {"cuda_runtime", "CUDA runtime"}, {"cuda_driver", "CUDA driver"}}},
      {"host", {{"gloo", "Gloo"}}}};
  std::vector<std::string> parts;
  if (auto libraries = k_of_backend.find(header.backend); libraries != k_of_backend.end())
    for (const auto& [name, title] : libraries->second)
      if (std::string text = describe_library(header, name, title); !text.empty())
        parts.push_back(std::move(text));
  if (!header.mpi_version.empty())
    parts.push_back(printable(header.mpi_version));
  parts.push_back("ncclprobe " + printable(header.ncclprobe_version));
  return join(parts, ", ");
}

std::string describe_settings(const std::vector<model::Setting>& settings) {
  std::vector<std::string> parts;
  for (const model::Setting& setting : settings)
    parts.push_back(printable(setting.name + "=" + setting.value));
  return join(parts, " ");
}

// "NCCL_ALGO=Ring on ranks 2,3; no NCCL_PROTO on rank 3"
std::string describe_other_environments(const RunHeader& header) {
  std::vector<std::string> parts;
  for (const model::RankVariable& variable : header.environment_of_ranks)
    parts.push_back(
        printable(variable.value ? variable.name + "=" + *variable.value : "no " + variable.name) +
        on_ranks(variable.ranks));
  return join(parts, "; ");
}

// "1980 MHz", "1755-1980 MHz"; empty if unknown.
std::string describe_range(const Range& range, double scale, std::string_view unit) {
  if (!range)
    return "";
  std::string low = fmt::format("{:.0f}", range->first / scale);
  std::string high = fmt::format("{:.0f}", range->second / scale);
  return fmt::format("{}{} {}", low, low == high ? "" : "-" + high, unit);
}

std::string describe_conditions(const ConditionSummary& summary) {
  if (summary.cells == 0)
    return "";
  std::vector<std::string> parts;
  if (std::string clock = describe_range(summary.sm_clock_mhz, 1, "MHz"); !clock.empty())
    parts.push_back("SM clock " + clock);
  for (std::string part :
       {describe_range(summary.temperature_c, 1, "C"), describe_range(summary.power_mw, 1000, "W")})
    if (!part.empty())
      parts.push_back(std::move(part));
  parts.push_back(!summary.throttle_reasons ? "throttling not readable"
                  : summary.throttled_cells == 0
                      ? "never throttled"
                      : fmt::format("THROTTLED in {} of {} cells measured ({})",
                                    summary.throttled_cells, summary.cells,
                                    throttle_text(*summary.throttle_reasons)));
  return join(parts, ", ");
}

// Besides the first setting, only those for which NCCL takes another amount of memory.
std::string describe_memory(const model::Run& run) {
  constexpr std::uint64_t k_worth_telling_bytes = 32 << 20;
  constexpr std::size_t k_told = 3;
  std::vector<std::vector<MemorySplit>> settings;
  for (MemorySplit& one : memory_splits(run)) {
    if (settings.empty() || settings.back().front().setting != one.setting)
      settings.emplace_back();
    settings.back().push_back(std::move(one));
  }
  if (settings.empty())
    return "";
  using Part = std::optional<std::uint64_t> MemorySplit::*;
  auto most = [](const std::vector<MemorySplit>& ranks, Part part) {
    std::optional<std::uint64_t> bytes;
    for (const MemorySplit& one : ranks)
      bytes = std::max(bytes, one.*part); // unknown values are least
    return bytes;
  };
  const auto& lead = settings.front();
  std::string text = memory_text(lead);
  if (!text.empty())
    text = "most per device: " + text;
  std::size_t told = 0;
  auto differs = [&](const std::vector<MemorySplit>& ranks, Part part) {
    const auto bytes = most(ranks, part), usual = most(lead, part);
    return bytes && usual &&
           std::max(*bytes, *usual) - std::min(*bytes, *usual) >= k_worth_telling_bytes;
  };
  for (const auto& one : settings) {
    if (told < k_told && (differs(one, &MemorySplit::connecting_bytes) ||
                          differs(one, &MemorySplit::launching_bytes))) {
      text += fmt::format("; with {}: {}", printable(one.front().setting), memory_text(one));
      ++told;
    }
  }
  return text;
}

// "nccl-tests 2.17.4's text a.log, b.log".
std::string describe_imported(const RunHeader& header) {
  std::map<std::string, std::vector<std::string>> files; // by program and version
  for (const model::ImportedFile& file : header.imported)
    files[fmt::format("{} {}", model::to_string(file.format), printable(file.version))].push_back(
        file.path == "-" ? "standard input" : printable(file.path));
  constexpr std::size_t k_files_named = 4;
  std::vector<std::string> parts;
  for (const auto& [program, paths] : files)
    parts.push_back(fmt::format("{}({})", program.ends_with(' ') ? program : program + " ",
                                paths.size() <= k_files_named
                                    ? join(paths, ", ")
                                    : base::count_of(paths.size(), "file", "files")));
  return join(parts, " and ");
}

// What the times of imported files are, without repetitions.
std::vector<std::string> times_of_imported(const RunHeader& header) {
  std::vector<std::string> all;
  for (const model::ImportedFile& file : header.imported)
    base::add_once(all, file.times);
  return all;
}

// What their import left out or assumed.
std::vector<std::string> remarks_of_imported(const RunHeader& header) {
  std::vector<std::string> all;
  for (const model::ImportedFile& file : header.imported)
    for (const std::string& remark : file.remarks)
      base::add_once(all, remark);
  return all;
}

std::string describe_progress(const model::Run& run) {
  std::map<model::OutcomeKind, std::size_t> by_kind;
  for (const model::TrialRecord& trial : run.trials)
    ++by_kind[trial.outcome.kind];
  std::vector<std::string> parts;
  for (const auto& [kind, count] : by_kind)
    parts.push_back(fmt::format("{} {}", count, in_words(kind)));
  auto planned = static_cast<std::size_t>(std::max(run.header.planned_trials, 0));
  std::string counts = join(parts, ", ");
  if (run.trials.size() < planned)
    return fmt::format("unfinished: {} of {} trials{}", run.trials.size(), planned,
                       counts.empty() ? "" : " (" + counts + ")");
  bool all_ok = by_kind.size() == 1 && by_kind.contains(model::OutcomeKind::ok);
  return fmt::format("{}: {}", run.trials.size(), all_ok ? "all ok" : counts);
}

} // namespace

bool is_synthetic(const model::Run& run) {
  return run.header.synthetic || run.header.backend == "synthetic" ||
         std::any_of(run.trials.begin(), run.trials.end(), [](const model::TrialRecord& trial) {
           return trial.spec.backend == "synthetic";
         });
}

std::string synthetic_mark(const model::Run& run) {
  return is_synthetic(run) ? " [SYNTHETIC]" : "";
}

namespace {

Value range_value(const Range& range) {
  return range ? Value(List{range->first, range->second}) : Value();
}

// Null without readings.
Value conditions_value(const ConditionSummary& summary) {
  if (summary.cells == 0)
    return nullptr;
  List memory_errors;
  for (const auto& [rank, errors] : summary.memory_errors)
    memory_errors.emplace_back(Object{
        {"rank", rank}, {"corrected", errors.corrected}, {"uncorrected", errors.uncorrected}});
  return Object{{"sm_clock_mhz", range_value(summary.sm_clock_mhz)},
                {"temperature_c", range_value(summary.temperature_c)},
                {"power_mw", range_value(summary.power_mw)},
                {"throttle_reasons", summary.throttle_reasons
                                         ? Value(throttle_text(*summary.throttle_reasons))
                                         : Value()},
                {"cells", summary.cells},
                {"throttled_cells", summary.throttled_cells},
                {"shared_ranks", summary.shared_ranks},
                {"shared_cells", summary.shared_cells},
                {"counted_cells", summary.counted_cells},
                {"memory_errors", std::move(memory_errors)}};
}

Object run_value(const RunSummary& run, const ConditionSummary& conditions) {
  const RunHeader& header = run.header;
  Object out{{"run_id", header.run_id},
             {"started_utc", header.started_utc},
             {"ncclprobe_version", header.ncclprobe_version},
             {"mpi_version", header.mpi_version},
             {"note", header.note},
             {"argv", header.argv},
             {"seed", header.seed},
             {"backend", header.backend},
             {"backend_reason", header.backend_reason},
             {"environment", header.environment},
             {"pinned", header.pinned},
             {"planned_trials", header.planned_trials},
             {"finished_trials", run.trials.size()},
             {"complete", static_cast<int>(run.trials.size()) >= header.planned_trials},
             {"conditions", conditions_value(conditions)},
             {"ranks", header.ranks},
             {"hosts", header.hosts}};
  if (!header.imported.empty())
    out.emplace_back("imported", header.imported);
  if (!header.proven.empty())
    out.emplace_back("proven", header.proven);
  if (!header.environment_of_ranks.empty())
    out.emplace_back("environment_of_ranks", header.environment_of_ranks);
  return out;
}

} // namespace

Section heading_section(const RunSummary& run) {
  const RunHeader& header = run.header;
  Section section{.key = "run",
                  .title = fmt::format(
                      "ncclprobe report{}, run {}, started {}", synthetic_mark(run), header.run_id,
                      header.started_utc.empty() ? "at an unknown time" : header.started_utc),
                  .part = Section::Part::provenance};
  auto line = [&](std::string_view title, const std::string& text) {
    if (!text.empty())
      section.blocks.push_back(Text{std::string(title), text, k_heading_hang});
  };
  if (is_synthetic(run))
    section.blocks.push_back(Findings{"", {{&k_synthetic_numbers}}, 0});
  if (!header.imported.empty())
    section.blocks.push_back(
        Findings{"", {{&k_imported_numbers, {{"files", describe_imported(header)}}}}, 0});
  section.blocks.push_back(Text{});
  line("Machine", describe_machine(header));
  line("Software", describe_software(header));
  line("Backend",
       header.backend + (header.backend_reason.empty() ? "" : ": " + header.backend_reason));
  line("Times", printable(join(times_of_imported(header), " ")));
  line("Import", printable(join(remarks_of_imported(header), " ")));
  line("Environment", describe_settings(header.environment));
  line("Elsewhere", describe_other_environments(header));
  if (!header.pinned.empty())
    line("Pinned", describe_settings(header.pinned) +
                       " (set before the run, so not swept; --override NAME sweeps it anyway)");
  line("Note", printable(header.note));
  for (const model::ProvenGain& one : header.proven)
    line(
        "Proven",
        fmt::format("{}: {:.3f}x the default's speed over all cells, 95% interval {:.3f} to {:.3f}",
                    printable(one.setting), one.speed, one.low, one.high));
  line("Command", join(header.argv, " "));
  const ConditionSummary conditions = summarise_conditions(run);
  line("Conditions", describe_conditions(conditions));
  line("DISTURBED", disturbances(conditions));
  line("Memory", describe_memory(run));
  line("Trials", describe_progress(run));
  if (!header.forced.empty())
    section.blocks.push_back(Findings{
        "FORCED", {{&k_forced, {{"differences", join(header.forced, "; ")}}}}, k_heading_hang});
  section.charts = topology_charts(header);
  return section;
}

Report run_heading(const RunSummary& run) {
  Report report{.sections = {heading_section(run)},
                .data = {{"run", run_value(run, summarise_conditions(run))}}};
  if (const std::vector<MemorySplit> splits = memory_splits(run); !splits.empty())
    report.data.emplace_back("memory", splits);
  return report;
}

} // namespace ncclprobe::analysis
