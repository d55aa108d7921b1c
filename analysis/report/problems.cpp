// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/problems.h"

#include "analysis/report/cell_name.h"
#include "analysis/report/heading.h"
#include "analysis/report/label_words.h"
#include "analysis/results/cell_summary.h"
#include "analysis/steps/step_results.h"
#include "base/units.h"
#include "workload/p2p_label.h"

#include <algorithm>
#include <set>

namespace ncclprobe::analysis {
namespace {

using model::OutcomeKind;
using model::TrialRecord;

constexpr std::size_t k_most_tails = 2;      // workers whose output is shown
constexpr std::size_t k_most_tail_lines = 8; // of each
constexpr std::size_t k_most_pairs = 6;      // that are named one by one

std::string trial_setting(const model::TrialSpec& spec) {
  return printable(spec.label());
}

std::string on_ranks(const std::vector<int>& ranks) {
  if (ranks.empty())
    return "";
  return (ranks.size() == 1 ? " on rank " : " on ranks ") + model::format_ranks(ranks);
}

// A companion's failure is told where its evidence would stand (proof_section.h).
bool has_problem(const TrialRecord& trial) {
  if (trial.spec.purpose == model::Purpose::companion)
    return false;
  return !trial.outcome.ok() ||
         std::any_of(trial.cells.begin(), trial.cells.end(),
                     [](const model::CellRecord& cell) { return !cell.outcome.ok(); });
}

// What cells that are told together have in common.
std::string kind_of(const model::CellLabel& label) {
  auto step = workload::read_step_label(label);
  return step ? printable(steps::describe_step(*step, label.type)) : label.workload;
}

// What they differ in besides their size: "uni 0 to 3", "bi 0 to 1, 1 to 0" of P2P transfers,
// "2 ranks, compute alone" of steps.
std::string which_of(const model::CellLabel& label) {
  if (auto step = workload::read_step_label(label))
    return step_scope(*step);
  auto p2p = workload::read_p2p_label(label);
  if (!p2p)
    return "";
  std::vector<std::string> ways;
  for (const workload::P2pTransfer& one : p2p->transfers)
    ways.push_back(to_string(one.from) + " to " + to_string(one.to));
  bool cut = ways.size() > k_most_pairs;
  if (cut)
    ways.resize(k_most_pairs);
  return fmt::format("{} {}{}", model::to_string(p2p->direction), join(ways, ", "),
                     cut ? " ..." : "");
}

// Cells that ended alike.
struct CellProblem {
  std::string kind;
  model::Outcome outcome;
  std::set<std::uint64_t> sizes; // none of steps, whose bytes follow from their model
  std::vector<std::string> which;

  std::string what() const {
    std::string text = kind;
    if (!sizes.empty())
      text += " " + format_size_range(sizes);
    if (which.empty())
      return text;
    std::vector<std::string> shown(
        which.begin(),
        which.begin() + static_cast<std::ptrdiff_t>(std::min(which.size(), k_most_pairs)));
    text += ", " + join(shown, "; ");
    return which.size() == shown.size()
               ? text
               : fmt::format("{} and {} more", text, which.size() - shown.size());
  }
};

std::vector<CellProblem> cell_problems(const TrialRecord& trial) {
  std::vector<CellProblem> problems;
  for (std::size_t c = 0; c < std::min(trial.cells.size(), trial.spec.cells.size()); ++c) {
    const model::CellLabel& label = trial.spec.cells[c].label;
    const model::Outcome& outcome = trial.cells[c].outcome;
    if (outcome.ok())
      continue;
    auto same = std::find_if(problems.begin(), problems.end(), [&](const CellProblem& one) {
      return one.kind == kind_of(label) && one.outcome == outcome;
    });
    if (same == problems.end())
      same = problems.insert(problems.end(), {kind_of(label), outcome, {}, {}});
    if (cell_size(label) != k_no_size)
      same->sizes.insert(label.bytes);
    std::string which = which_of(label);
    if (!which.empty() &&
        std::find(same->which.begin(), same->which.end(), which) == same->which.end())
      same->which.push_back(std::move(which));
  }
  return problems;
}

bool same_end(const TrialRecord& a, const TrialRecord& b) {
  auto cells_a = cell_problems(a);
  auto cells_b = cell_problems(b);
  return trial_setting(a.spec) == trial_setting(b.spec) && a.outcome == b.outcome &&
         std::equal(cells_a.begin(), cells_a.end(), cells_b.begin(), cells_b.end(),
                    [](const CellProblem& x, const CellProblem& y) {
                      return x.kind == y.kind && x.outcome == y.outcome && x.sizes == y.sizes &&
                             x.which == y.which;
                    });
}

std::string describe_cell_index(const TrialRecord& trial, int cell) {
  if (cell < 0 || cell >= static_cast<int>(trial.spec.cells.size()))
    return "";
  return fmt::format(" ({})", cell_in_full(trial.spec.cells[static_cast<std::size_t>(cell)].label));
}

std::string render_cells(const TrialRecord& trial) {
  std::string out;
  for (const CellProblem& problem : cell_problems(trial)) {
    std::string reason = printable(problem.outcome.reason);
    bool said = problem.outcome.reason == trial.outcome.reason;
    out += paragraph("  ",
                     fmt::format("{}: {}{}{}", problem.what(), in_words(problem.outcome.kind),
                                 on_ranks(problem.outcome.ranks),
                                 said || reason.empty() ? "" : ": " + reason),
                     2);
  }
  return out;
}

// How far the workers came, those with the same story on one line.
std::string render_workers(const TrialRecord& trial) {
  std::vector<std::pair<std::string, std::vector<int>>> stories;
  for (const model::WorkerRecord& worker : trial.workers) {
    std::string story = printable(worker.host) + ": ";
    story += worker.last_phase.empty() ? "phase not known"
                                       : "last phase " + printable(worker.last_phase) +
                                             describe_cell_index(trial, worker.last_cell);
    if (!worker.exit.empty())
      story += ", " + printable(worker.exit);
    auto same = std::find_if(stories.begin(), stories.end(),
                             [&](const auto& one) { return one.first == story; });
    if (same == stories.end())
      same = stories.insert(stories.end(), {story, {}});
    same->second.insert(same->second.end(), worker.ranks.begin(), worker.ranks.end());
  }
  std::string out;
  for (const auto& [story, ranks] : stories)
    out += paragraph("  ",
                     fmt::format("{} {} on {}", ranks.size() == 1 ? "rank" : "ranks",
                                 model::format_ranks(ranks), story),
                     2);
  return out;
}

// The last output of the workers that failed, else of any that said something; no two alike.
std::string render_output(const TrialRecord& trial) {
  auto concerned = [&](const model::WorkerRecord& worker) {
    return std::any_of(worker.ranks.begin(), worker.ranks.end(), [&](int rank) {
      const auto& ranks = trial.outcome.ranks;
      return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
    });
  };
  std::vector<const model::WorkerRecord*> order;
  for (const auto& worker : trial.workers)
    order.push_back(&worker);
  std::stable_partition(order.begin(), order.end(),
                        [&](const model::WorkerRecord* worker) { return concerned(*worker); });

  std::string out;
  std::set<std::vector<std::string>> shown;
  for (const model::WorkerRecord* worker : order) {
    auto lines = last_lines(worker->output_tail, k_most_tail_lines);
    if (lines.empty() || shown.size() == k_most_tails || !shown.insert(lines).second)
      continue;
    out += fmt::format("  Last output of {} {} (pid {}):\n",
                       worker->ranks.size() == 1 ? "rank" : "ranks",
                       model::format_ranks(worker->ranks), worker->pid);
    for (const std::string& line : lines)
      out += paragraph("    |", line, 6);
  }
  return out;
}

bool output_contains(const TrialRecord& trial, std::string_view part) {
  return std::any_of(trial.workers.begin(), trial.workers.end(), [&](const auto& worker) {
    return worker.output_tail.find(part) != std::string::npos;
  });
}

// True if a worker died of this signal by itself, not because the supervisor stopped it.
bool died_of(const TrialRecord& trial, std::string_view signal) {
  return std::any_of(trial.workers.begin(), trial.workers.end(),
                     [&](const auto& worker) { return worker.exit.rfind(signal, 0) == 0; });
}

bool came_equally_far(const TrialRecord& trial) {
  return std::all_of(trial.workers.begin(), trial.workers.end(), [&](const auto& worker) {
    return worker.last_phase == trial.workers.front().last_phase &&
           worker.last_cell == trial.workers.front().last_cell;
  });
}

bool in_a_cell(const TrialRecord& trial) {
  return std::any_of(trial.workers.begin(), trial.workers.end(),
                     [](const auto& worker) { return worker.last_cell >= 0; });
}

// What the reader can do. Only advice that holds whatever the cause, or that the evidence points
// to.
std::string advice(const TrialRecord& trial, std::string_view backend) {
  bool nvidia = backend == "nvidia";
  std::string speak =
      nvidia && !output_contains(trial, "NCCL INFO")
          ? "Run this setting alone with NCCL_DEBUG=INFO in the environment: NCCL's own "
            "words are then kept with the trial."
          : "";
  switch (trial.outcome.kind) {
  case OutcomeKind::crashed:
    if (died_of(trial, "signal 9 "))
      return "Signal 9 comes from outside: look in dmesg for the kernel's out-of-memory killer, or "
             "for who killed it.";
    if (died_of(trial, "signal 7 "))
      return "Signal 7 is most often a full /dev/shm: check `df /dev/shm` (containers: "
             "--shm-size).";
    return speak;
  case OutcomeKind::timed_out:
    if (trial.outcome.reason.find("probable cause: ") != std::string::npos &&
        trial.outcome.reason.find("probable cause: unknown") == std::string::npos)
      return speak; // the cause has been named
    if (!came_equally_far(trial))
      return "Ranks that did not come as far as the others are where to look. " + speak;
    return fmt::format("All ranks came equally far: what they did hangs, or {} is too short. {}",
                       in_a_cell(trial) ? "--cell-timeout" : "--startup-timeout", speak);
  case OutcomeKind::failed:
    return speak;
  case OutcomeKind::wrong_data:
    return "Do not use this setting. Repeat it alone; if the default is wrong too, suspect the "
           "hardware.";
  case OutcomeKind::ok:
  case OutcomeKind::skipped:
  case OutcomeKind::not_run:
    return "";
  }
  return "";
}

std::string render_group(const std::vector<const TrialRecord*>& group, std::string_view backend) {
  const TrialRecord& first = *group.front();
  std::vector<std::string> ids;
  for (const TrialRecord* trial : group)
    ids.push_back(std::to_string(trial->spec.id));
  std::string head = fmt::format("{} {} with {}: {}{}", ids.size() == 1 ? "Trial" : "Trials",
                                 join(ids, ", "), trial_setting(first.spec),
                                 in_words(first.outcome.kind), on_ranks(first.outcome.ranks));
  std::string out = paragraph("", head, 0);
  if (!first.outcome.reason.empty())
    out += paragraph("  ", printable(first.outcome.reason), 2);
  out += render_cells(first);
  bool process_matters = first.outcome.kind > OutcomeKind::not_run;
  if (process_matters)
    out += render_workers(first) + render_output(first);
  if (std::string next = advice(first, backend); !next.empty())
    out += paragraph("  Next:", next, 8);
  return out;
}

} // namespace

std::string render_wrong_data(const model::Run& run) {
  std::string lines;
  bool collective = false;
  bool p2p = false;
  for (const TrialRecord& trial : run.trials)
    for (std::size_t c = 0; c < std::min(trial.cells.size(), trial.spec.cells.size()); ++c) {
      const model::CellRecord& record = trial.cells[c];
      if (data_state(record) != DataState::wrong)
        continue;
      const model::Cell& cell = trial.spec.cells[c];
      (workload::read_p2p_label(cell.label) ? p2p : collective) = true;
      std::string what = record.check.wrong > 0
                             ? fmt::format("{} of {} elements, first {}", record.check.wrong,
                                           record.check.elements, record.check.first_wrong)
                             : record.outcome.reason;
      lines += paragraph("!!!",
                         fmt::format("{} with {} (trial {}){}: {}",
                                     workload::read_step_label(cell.label)
                                         ? cell_in_full(cell.label)
                                         : fmt::format("{} {}", describe(cell.label),
                                                       base::format_bytes(cell.label.bytes)),
                                     printable(setting_name(trial.spec, cell)), trial.spec.id,
                                     on_ranks(record.outcome.ranks), printable(what)),
                         4);
    }
  if (lines.empty())
    return "";
  std::string who = !p2p         ? "a collective"
                    : collective ? "a collective and a P2P transfer"
                                 : "a P2P transfer";
  return "!!! WRONG DATA: " + who + " delivered wrong results" + synthetic_mark(run) + "\n" + lines;
}

std::string render_problems(const model::Run& run) {
  std::vector<std::vector<const TrialRecord*>> groups;
  std::size_t trials = 0;
  for (const TrialRecord& trial : run.trials) {
    if (!has_problem(trial))
      continue;
    ++trials;
    auto same = std::find_if(groups.begin(), groups.end(),
                             [&](const auto& group) { return same_end(*group.front(), trial); });
    if (same == groups.end())
      groups.push_back({&trial});
    else
      same->push_back(&trial);
  }
  if (groups.empty())
    return "";
  std::string out =
      fmt::format("Problems in {} of {}{}\n", trials,
                  count_of(run.trials.size(), "trial", "trials"), synthetic_mark(run));
  for (const auto& group : groups)
    out += "\n" + render_group(group, run.header.backend);
  return out;
}

} // namespace ncclprobe::analysis
