// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "trace/spool_format.h"

#include "analysis/job/found_steps.h"
#include "analysis/job/step_graph.h"
#include "analysis/report/event_chart.h"
#include "analysis/report/heading.h"
#include "analysis/report/label_words.h"
#include "analysis/report/timeline_report.h"
#include "analysis/report/tracing_section.h"
#include "analysis/steps/agreement.h"
#include "base/name_ranks.h"
#include "base/text_layout.h"
#include "base/units.h"
#include "launch/cli/files/chosen_trace.h"
#include "launch/cli/files/trace_source.h"
#include "launch/cli/report/report_command.h"
#include "model/cell_label.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <thread>

namespace ncclprobe::cli {

namespace fs = std::filesystem;

namespace {

using analysis::FindingKind, analysis::Severity;

constexpr FindingKind k_marks_agree{
    "marks_agree", Severity::note,
    "{in_cells}: marks and kernels agree within the noise: {in_words}"},
    k_marks_differ{"marks_differ", Severity::warning,
                   "cell {cell}: marks and kernels DIFFER by more than the noise (marks also count "
                   "pauses between kernels): {in_words}"},
    k_not_traced{"not_traced", Severity::warning, "{who}: missing: {what}"},
    k_recorder{"recorder", Severity::note, "{who}: recorded by NCCL's profiler plugin{in_words}"},
    k_stopped{"capture_stopped", Severity::note,
              "{operations} of NCCL's operations came after a limit had stopped the capture"},
    k_trace_cut_short{"trace_cut_short", Severity::warning,
                      "rank {rank}: the last {bytes} bytes are left out, because its process was "
                      "killed while it wrote them"},
    k_ranks_chosen{"ranks_chosen", Severity::note,
                   "figures of {who} only, of {traced} traced; comparisons between ranks use all "
                   "ranks"},
    k_other_trials{"other_traced_trials", Severity::note,
                   "other traced trials (choose one with --trial): {trials}"};

// Checks that step marks agree with the trace.
void add_agreement(const model::TrialRecord& trial, const analysis::timeline::Timeline& timeline,
                   analysis::TimelineHeading& heading) {
  std::vector<int> agreeing; // cells
  analysis::List agreements;
  std::vector<std::string> agreements_in_words;
  double largest = 0; // difference
  for (std::size_t c = 0; c < std::min(trial.cells.size(), trial.spec.cells.size()); ++c) {
    if (trial.cells[c].marks.empty())
      continue;
    auto quantities =
        analysis::steps::agreement(trial.spec.cells[c].schedule, trial.spec.ranks,
                                   trial.cells[c].marks, timeline, static_cast<int>(c));
    std::vector<analysis::steps::Agreement> differing;
    std::vector<std::string> in_words;
    for (const analysis::steps::Agreement& one : quantities)
      if (one.agrees()) {
        if (agreeing.empty() || agreeing.back() != static_cast<int>(c))
          agreeing.push_back(static_cast<int>(c));
        agreements.emplace_back(analysis::described_with(one, {{"cell", c}}));
        agreements_in_words.push_back(analysis::steps::in_words(one));
        if (const double most_ns = std::max(one.by_marks_ns, one.by_trace_ns); most_ns > 0)
          largest = std::max(largest, std::abs(one.by_marks_ns - one.by_trace_ns) / most_ns);
      } else {
        differing.push_back(one);
        in_words.push_back(analysis::steps::in_words(one));
      }
    if (!differing.empty())
      heading.notes.push_back(
          {&k_marks_differ,
           {{"cell", c}, {"quantities", differing}, {"in_words", base::join(in_words, ", ")}}});
  }
  if (agreeing.empty())
    return;
  const bool is_one = agreeing.size() == 1;
  heading.notes.push_back(
      {&k_marks_agree,
       {{"cells", agreeing},
        {"quantities", std::move(agreements)},
        {"in_cells", (is_one ? "cell " : "cells ") + base::format_number_list(agreeing)},
        {"in_words", is_one ? base::join(agreements_in_words, ", ")
                            : fmt::format("the largest difference is {:.1f}%", 100 * largest)}}});
}

// Begins with what distinguishes the cells of a trial: their size, and for steps their parts and
// ranks.
std::string name_of(const model::CellLabel& label) {
  std::string name =
      fmt::format("{}, {}", base::format_bytes(label.bytes), analysis::describe(label));
  if (const auto* step = label.step())
    return fmt::format("{}, {} rank{}, {}", model::to_string(step->parts), step->ranks.size(),
                       step->ranks.size() == 1 ? "" : "s", name);
  return name;
}

// What recorded a captured job's trace; there is no run file that has it.
analysis::Finding recorder(const std::multimap<std::string, std::string>& facts) {
  analysis::Finding finding{&k_recorder};
  std::string text;
  for (auto [name, words] : {std::pair{"plugin_interface", "interface {}"},
                             {"level", "level {}"},
                             {"kept", "only {}"},
                             {"nccl", "NCCL {}"},
                             {"gpu", "{}"},
                             {"cuda_of_driver", "driver for CUDA {}"}})
    if (auto found = facts.find(name); found != facts.end()) {
      text += ", " + fmt::format(fmt::runtime(words), found->second);
      finding.values.emplace_back(name, found->second);
    }
  finding.values.emplace_back("in_words", std::move(text));
  return finding;
}

// The provenance of each rank's trace; ranks with the same one are joined.
Result<void> add_provenance(const store::TraceFile& file, analysis::TimelineHeading& heading) {
  std::vector<std::pair<analysis::Finding, std::vector<int>>> found;
  auto add = [&](analysis::Finding finding, int rank) {
    auto same = std::ranges::find_if(found, [&](const auto& other) {
      return other.first.kind == finding.kind && other.first.values == finding.values;
    });
    if (same == found.end())
      same = found.insert(same, {std::move(finding), {}});
    same->second.push_back(rank);
  };
  std::uint64_t left_out = 0; // by all ranks
  for (int rank : file.ranks()) {
    NCCLPROBE_TRY_ASSIGN(const auto rows, file.rows<trace::FactRow>(rank));
    std::multimap<std::string, std::string> facts;
    for (const trace::FactRow& row : rows)
      facts.emplace(file.text(row.name), file.text(row.value));
    for (auto [at, end] = facts.equal_range(std::string(trace::k_missing)); at != end; ++at)
      add({&k_not_traced, {{"what", at->second}}}, rank);
    for (auto [at, end] = facts.equal_range(std::string(trace::k_left_out)); at != end; ++at)
      left_out += std::strtoull(at->second.c_str(), nullptr, 10);
    if (facts.contains(std::string(trace::k_level))) // only captured jobs have it
      add(recorder(facts), rank);
  }
  for (auto& [finding, ranks] : found) {
    finding.values.emplace_back("who", base::name_ranks(ranks));
    finding.values.emplace_back("ranks", ranks);
    (finding.kind == &k_recorder ? heading.origin : heading.notes).push_back(std::move(finding));
  }
  if (left_out > 0)
    heading.notes.push_back({&k_stopped, {{"operations", left_out}}});
  return {};
}

// For a trace without marks, of a captured job.
Result<analysis::timeline::TraceSource> with_found_steps(analysis::timeline::TraceSource source,
                                                         analysis::TimelineHeading& heading) {
  NCCLPROBE_TRY_ASSIGN(auto found, analysis::job::find_steps(source));
  heading.job = std::make_shared<const analysis::job::FoundSteps>(std::move(found));
  if (heading.job->reason != analysis::job::NoSteps::found)
    return source;
  for (std::size_t i = 0; i < heading.job->kinds.size(); ++i)
    heading.cells[static_cast<int>(i)] =
        analysis::step_kind_text(heading.job->kinds[i], source.texts);
  return with_steps(std::move(source), heading.job);
}

// A delay below twice the error of the clocks counts as none.
double clock_error_ns(const analysis::timeline::Clocks& clocks) {
  const double gpus_ns =
      clocks.worst_error_among_gpus_ns().value_or(2 * clocks.worst_gpu_error_ns());
  return 2 * (clocks.worst_host_error_ns() + gpus_ns);
}

Result<analysis::Report> analysed(const store::TraceFile& file, const model::TrialRecord* trial,
                                  analysis::TimelineHeading heading, const ReportOptions& request) {
  for (int rank : file.ranks())
    if (std::uint64_t bytes = file.origin(rank).bytes_left_out; bytes > 0)
      heading.notes.push_back({&k_trace_cut_short, {{"rank", rank}, {"bytes", bytes}}});
  NCCLPROBE_TRY(add_provenance(file, heading));
  NCCLPROBE_TRY_ASSIGN(auto source, trace_source(file, trial ? &trial->spec : nullptr));
  if (trial == nullptr) {
    NCCLPROBE_TRY_ASSIGN(source, with_found_steps(std::move(source), heading));
  }
  NCCLPROBE_TRY(check_ranks(file, request.ranks));
  if (!request.ranks.empty())
    heading.origin.push_back({&k_ranks_chosen,
                              {{"who", base::name_ranks(request.ranks)},
                               {"ranks", request.ranks},
                               {"traced", file.ranks().size()}}});
  if (request.window) {
    analysis::Finding told;
    NCCLPROBE_TRY_ASSIGN(source, restricted(std::move(source), *request.window, told));
    heading.origin.push_back(std::move(told));
  }
  const bool has_causes =
      heading.job != nullptr && heading.job->reason == analysis::job::NoSteps::found;
  if (!request.what_ifs.empty() && !has_causes)
    return fail({Errc::invalid_argument,
                 "--what-if needs a captured job whose steps repeat, and this trace has none",
                 "leave it out"});
  std::optional<analysis::job::StepGraphBuilder> graph;
  analysis::timeline::ObserveRank observe;
  if (has_causes) {
    graph.emplace(heading.job, file.ranks(), source.texts);
    observe = [&](std::size_t rank, const auto& reading, const auto& clock) {
      graph->add(rank, reading, clock.host);
    };
  }
  // More threads would wait for memory, and use more of it.
  unsigned threads = std::clamp(std::thread::hardware_concurrency(), 1u, 4u);
  NCCLPROBE_TRY_ASSIGN(auto timeline,
                       analysis::timeline::analyse(source, {.threads = threads,
                                                            .keep_steps = request.steps,
                                                            .ranks = request.ranks,
                                                            .observe = std::move(observe)}));
  if (!request.what_ifs.empty() && timeline.clocks_are_wrong())
    return fail({Errc::invalid_argument,
                 "--what-if needs ranks whose clocks agree, and collectives contradict these",
                 "leave it out; the report counts the contradictions"});
  if (has_causes && !timeline.clocks_are_wrong()) {
    NCCLPROBE_TRY_ASSIGN(auto causes,
                         analysis::job::job_causes(graph->take(), clock_error_ns(timeline.clocks),
                                                   request.what_ifs, timeline.texts));
    heading.causes = std::make_shared<const analysis::job::JobCauses>(std::move(causes));
  }
  if (trial && !request.window && request.ranks.empty()) // marks cover all steps and ranks
    add_agreement(*trial, timeline, heading);
  std::optional<analysis::EventChart> events;
  if (request.format == analysis::Format::html) {
    NCCLPROBE_TRY_ASSIGN(events, analysis::event_chart(source, timeline.clocks, request.ranks));
  }
  analysis::Report report = analysis::timeline_report(std::move(timeline), std::move(heading));
  if (events)
    report.sections.insert(report.sections.begin(), {.key = "events",
                                                     .title = "What ran when on all ranks",
                                                     .timelines = {std::move(*events)}});
  return report;
}

// The cost of tracing in the cells of the trial; the highest one with its interval.
std::string cost_of(const model::Run& run, int trial) {
  std::vector<analysis::TracingCost> costs = analysis::tracing_costs(analysis::RunSummary(run));
  std::erase_if(costs, [&](const analysis::TracingCost& cost) {
    return std::none_of(cost.traced.processes.begin(), cost.traced.processes.end(),
                        [&](const auto& process) { return process.trial == trial; });
  });
  if (costs.empty())
    return "";
  auto by_ratio = [](const auto& a, const auto& b) { return a.ratio < b.ratio; };
  auto [lowest, highest] = std::minmax_element(costs.begin(), costs.end(), by_ratio);
  if (costs.size() == 1)
    return analysis::cost_text(*highest);
  return fmt::format("{:+.1f}% to {:+.1f}% over {} cells; most {} ({} {})",
                     100 * (lowest->ratio - 1), 100 * (highest->ratio - 1), costs.size(),
                     analysis::cost_text(*highest), highest->traced.label.workload(),
                     base::format_bytes(highest->traced.label.bytes));
}

analysis::TimelineHeading heading_of(const ChosenTrace& chosen, const fs::path& path,
                                     const model::TrialSpec* spec) {
  analysis::TimelineHeading heading;
  if (!chosen.run) {
    heading.title = path.string();
    return heading;
  }
  const store::TraceIdentity& identity = chosen.file.identity();
  heading.title =
      fmt::format("trial {} of {}, level {}", identity.trial, path.string(), identity.level);
  heading.cost = cost_of(*chosen.run, identity.trial);
  if (!chosen.other_trials.empty())
    heading.origin.push_back({&k_other_trials, {{"trials", chosen.other_trials}}});
  for (std::size_t i = 0; spec != nullptr && i < spec->cells.size(); ++i)
    heading.cells[static_cast<int>(i)] =
        name_of(spec->cells[i].label) +
        (spec->cells[i].settings.empty() ? "" : " " + model::label_of(spec->cells[i].settings));
  return heading;
}

} // namespace

Result<analysis::Report> timeline_report(const ReportOptions& request) {
  NCCLPROBE_TRY_ASSIGN(const ChosenTrace chosen, choose_trace(request.run_file, request.trial));
  const model::TrialRecord* trial = chosen.trial();
  analysis::TimelineHeading heading =
      heading_of(chosen, request.run_file, trial ? &trial->spec : nullptr);
  if (std::ranges::any_of(chosen.file.ranks(), [&](int rank) {
        return chosen.file.origin(rank).host == trace::k_synthetic_host;
      }))
    heading.title += ", SYNTHETIC: no measurements";
  NCCLPROBE_TRY_ASSIGN(analysis::Report report, analysed(chosen.file, trial, heading, request));
  if (chosen.run && request.format == analysis::Format::html) { // where the trace comes from
    const auto run = std::make_shared<const analysis::RunSummary>(*chosen.run);
    report.sections.push_back(heading_section(*run));
    report.figures.push_back(run);
  }
  return report;
}

} // namespace ncclprobe::cli
