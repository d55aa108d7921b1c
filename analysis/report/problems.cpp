// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/problems.h"

#include "analysis/report/cell_name.h"
#include "analysis/report/heading.h"
#include "analysis/report/label_columns.h"
#include "analysis/report/label_words.h"
#include "analysis/results/cell_summary.h"
#include "analysis/steps/step_results.h"
#include "base/name_ranks.h"
#include "model/cell_label.h"

#include <algorithm>
#include <array>
#include <set>

namespace ncclprobe::analysis {
namespace {

using model::OutcomeKind;
using model::TrialRecord;

constexpr std::size_t k_most_tails = 2;      // workers whose output is shown
constexpr std::size_t k_most_tail_lines = 8; // of each
constexpr std::size_t k_most_pairs = 6;      // cells that are named one by one

std::string trial_setting(const model::TrialSpec& spec) {
  return printable(spec.label());
}

bool all_cells_ok(const TrialRecord& trial) {
  return std::all_of(trial.cells.begin(), trial.cells.end(),
                     [](const model::CellRecord& cell) { return cell.outcome.ok(); });
}

template <typename Row, typename OutcomeOf>
void add_outcome(TableOf<Row>& table, OutcomeOf outcome_of) {
  table.add("outcome", [=](const Row& row) { return outcome_of(row).kind; });
  table.add("reason", [=](const Row& row) { return outcome_of(row).reason; });
  table.add("failed_ranks", [=](const Row& row) { return outcome_of(row).ranks; });
}

// A companion's failure is shown in place of its evidence (proof_section.h).
bool has_problem(const TrialRecord& trial) {
  return trial.spec.purpose != model::Purpose::companion &&
         (!trial.outcome.ok() || !all_cells_ok(trial));
}

// The common properties of cells that are listed together.
std::string kind_of(const model::CellLabel& label) {
  const auto* step = label.step();
  return step ? printable(steps::describe_step(*step)) : label.workload();
}

// Their differences besides size: "uni 0 to 3", "bi 0 to 1, 1 to 0" for P2P transfers, "2 ranks,
// compute alone" for steps.
std::string which_of(const model::CellLabel& label) {
  if (const auto* step = label.step())
    return step_scope(*step);
  const auto* p2p = label.p2p();
  if (!p2p)
    return "";
  std::vector<std::string> ways;
  for (const model::P2pTransfer& one : p2p->transfers)
    ways.push_back(to_string(one.from) + " to " + to_string(one.to));
  bool cut = ways.size() > k_most_pairs;
  if (cut)
    ways.resize(k_most_pairs);
  return fmt::format("{} {}{}", model::to_string(p2p->direction), join(ways, ", "),
                     cut ? " ..." : "");
}

// Cells with equal outcomes.
struct CellProblem {
  std::string kind;
  model::Outcome outcome;
  std::set<std::uint64_t> sizes; // steps have none: their bytes follow from their model
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
    const model::Cell& cell = trial.spec.cells[c];
    const model::CellLabel& label = cell.label;
    const model::Outcome& outcome = trial.cells[c].outcome;
    if (outcome.ok())
      continue;
    const std::string kind =
        kind_of(label) +
        (cell.settings.empty() ? "" : " with " + printable(model::label_of(cell.settings)));
    auto same = std::find_if(problems.begin(), problems.end(), [&](const CellProblem& one) {
      return one.kind == kind && one.outcome == outcome;
    });
    if (same == problems.end())
      same = problems.insert(problems.end(), {kind, outcome, {}, {}});
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

void add_cells(std::vector<Block>& blocks, const TrialRecord& trial) {
  for (const CellProblem& problem : cell_problems(trial)) {
    const std::string& reason = problem.outcome.reason;
    bool said = reason == trial.outcome.reason;
    blocks.push_back(Text{"  ",
                          fmt::format("{}: {}{}{}", problem.what(), in_words(problem.outcome.kind),
                                      on_ranks(problem.outcome.ranks),
                                      said || reason.empty() ? "" : ": " + reason),
                          2});
  }
}

// The workers' progress; those with the same text share a line.
void add_workers(std::vector<Block>& blocks, const TrialRecord& trial) {
  std::vector<std::pair<std::string, std::vector<int>>> stories;
  for (const model::WorkerRecord& worker : trial.workers) {
    std::string story = worker.host + ": ";
    story += worker.last_phase.empty()
                 ? "phase not known"
                 : "last phase " + worker.last_phase + describe_cell_index(trial, worker.last_cell);
    if (!worker.exit.empty())
      story += ", " + worker.exit;
    auto same = std::find_if(stories.begin(), stories.end(),
                             [&](const auto& one) { return one.first == story; });
    if (same == stories.end())
      same = stories.insert(stories.end(), {story, {}});
    same->second.insert(same->second.end(), worker.ranks.begin(), worker.ranks.end());
  }
  for (const auto& [story, ranks] : stories)
    blocks.push_back(Text{"  ", fmt::format("{} on {}", base::name_ranks(ranks), story), 2});
}

// The last output of the failed workers, else of any with output; no duplicates.
void add_output(std::vector<Block>& blocks, const TrialRecord& trial) {
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

  std::set<std::vector<std::string>> shown_lines;
  for (const model::WorkerRecord* worker : order) {
    auto lines = last_lines(worker->output_tail, k_most_tail_lines);
    if (lines.empty() || shown_lines.size() == k_most_tails || !shown_lines.insert(lines).second)
      continue;
    blocks.push_back(Text{
        "",
        fmt::format("Last output of {} (pid {}):", base::name_ranks(worker->ranks), worker->pid),
        2});
    for (const std::string& line : lines)
      blocks.push_back(Text{"    |", line, 6});
  }
}

bool output_contains(const TrialRecord& trial, std::string_view part) {
  return std::any_of(trial.workers.begin(), trial.workers.end(), [&](const auto& worker) {
    return worker.output_tail.find(part) != std::string::npos;
  });
}

// True if a worker died of this signal and the supervisor did not send it.
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

bool began_with_nccl(const TrialRecord& trial) {
  constexpr std::array<std::string_view, 3> k_before{"", "spawned", "started"};
  return std::any_of(trial.workers.begin(), trial.workers.end(), [&](const auto& worker) {
    return std::ranges::find(k_before, worker.last_phase) == k_before.end();
  });
}

void add_group(std::vector<Block>& blocks, const std::vector<const TrialRecord*>& group,
               std::string_view backend) {
  const TrialRecord& first = *group.front();
  std::vector<std::string> ids;
  for (const TrialRecord* trial : group)
    ids.push_back(std::to_string(trial->spec.id));
  blocks.push_back(Text{});
  blocks.push_back(Text{"",
                        fmt::format("{} {} with {}: {}{}", ids.size() == 1 ? "Trial" : "Trials",
                                    join(ids, ", "), trial_setting(first.spec),
                                    in_words(first.outcome.kind), on_ranks(first.outcome.ranks)),
                        0});
  if (!first.outcome.reason.empty())
    blocks.push_back(Text{"  ", first.outcome.reason, 2});
  add_cells(blocks, first);
  if (first.outcome.kind > OutcomeKind::not_run) { // its processes matter
    add_workers(blocks, first);
    add_output(blocks, first);
  }
  if (std::string next = advice(first, backend); !next.empty())
    blocks.push_back(Text{"  Next:", next, 8});
}

// For machines: cells that failed in some way.
TablePtr problem_cells_table(const TrialRecord& trial) {
  struct Cell {
    const model::Cell* cell;
    const model::CellRecord* record;
    const model::TrialSpec* spec;
  };
  std::vector<Cell> cells;
  for (std::size_t c = 0; c < std::min(trial.cells.size(), trial.spec.cells.size()); ++c)
    if (!trial.cells[c].outcome.ok())
      cells.push_back({&trial.spec.cells[c], &trial.cells[c], &trial.spec});
  TableOf<Cell> table(std::move(cells));
  add_label(
      table, [](const Cell& one) -> auto& { return one.cell->label; });
  table.add("setting", [](const Cell& one) { return setting_name(*one.spec, *one.cell); });
  add_outcome(
      table, [](const Cell& one) -> auto& { return one.record->outcome; });
  table.add("checked_elements", [](const Cell& one) { return one.record->check.elements; });
  table.add("wrong_elements", [](const Cell& one) { return one.record->check.wrong; });
  table.add("first_wrong", [](const Cell& one) { return one.record->check.first_wrong; });
  return table.table();
}

TablePtr workers_table(const TrialRecord& trial) {
  std::vector<const model::WorkerRecord*> workers;
  for (const model::WorkerRecord& worker : trial.workers)
    workers.push_back(&worker);
  TableOf<const model::WorkerRecord*> table(std::move(workers));
  table.add("ranks", &model::WorkerRecord::ranks);
  table.add("host", &model::WorkerRecord::host);
  table.add("pid", &model::WorkerRecord::pid);
  table.add("last_phase", &model::WorkerRecord::last_phase);
  table.add("last_cell", &model::WorkerRecord::last_cell);
  table.add("exit", &model::WorkerRecord::exit);
  table.add("peak_memory_bytes", &model::WorkerRecord::peak_memory_bytes);
  table.add("output_tail", &model::WorkerRecord::output_tail);
  return table.table();
}

TablePtr problems_table(const model::Run& run) {
  std::vector<const TrialRecord*> trials;
  for (const TrialRecord& trial : run.trials)
    if (!trial.outcome.ok() || !all_cells_ok(trial))
      trials.push_back(&trial);
  TableOf<const TrialRecord*> table(std::move(trials));
  using Row = const TrialRecord*;
  table.add("synthetic", [synthetic = is_synthetic(run)](Row) { return synthetic; });
  table.add("trial", [](Row trial) { return trial->spec.id; });
  table.add("replicate", [](Row trial) { return trial->spec.replicate; });
  table.add("setting", [](Row trial) { return trial->spec.label(); });
  add_outcome(
      table, [](Row trial) -> auto& { return trial->outcome; });
  table.add("cells", [](Row trial) { return problem_cells_table(*trial); });
  table.add("workers", [](Row trial) { return workers_table(*trial); });
  return table.table();
}

} // namespace

std::string advice(const model::TrialRecord& trial, std::string_view backend) {
  bool nvidia = backend == "nvidia";
  std::string speak =
      nvidia && began_with_nccl(trial) && !output_contains(trial, "NCCL INFO")
          ? "Run this setting alone with NCCL_DEBUG=INFO in the environment: NCCL's "
            "messages are then stored with the trial."
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
      return speak; // the cause is known
    if (!came_equally_far(trial))
      return "Look at the ranks that did not get as far as the others. " + speak;
    return fmt::format("All ranks got equally far: either they hang there, or {} is too short. {}",
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

Section wrong_data_section(const model::Run& run) {
  Section section{.key = "wrong_data", .part = Section::Part::answer};
  bool collective = false;
  bool p2p = false;
  for (const TrialRecord& trial : run.trials)
    for (std::size_t c = 0; c < std::min(trial.cells.size(), trial.spec.cells.size()); ++c) {
      const model::CellRecord& record = trial.cells[c];
      if (data_state(record) != DataState::wrong)
        continue;
      const model::Cell& cell = trial.spec.cells[c];
      (cell.label.p2p() ? p2p : collective) = true;
      section.blocks.push_back(
          Findings{"!!!",
                   {{&k_wrong_data,
                     {{"cell", cell.label.step() ? cell_in_full(cell.label)
                                                 : fmt::format("{} {}", describe(cell.label),
                                                               size_text(cell.label.bytes))},
                      {"setting", setting_name(trial.spec, cell)},
                      {"trial", trial.spec.id},
                      {"ranks", on_ranks(record.outcome.ranks)},
                      {"what", record.check.wrong > 0
                                   ? fmt::format("{} of {} wrong, first {}", record.check.wrong,
                                                 record.check.elements, record.check.first_wrong)
                                   : record.outcome.reason}}}},
                   4});
    }
  if (section.blocks.empty())
    return section;
  std::string who = !p2p         ? "a collective"
                    : collective ? "a collective and a P2P transfer"
                                 : "a P2P transfer";
  section.title = "!!! WRONG DATA: " + who + " delivered wrong results" + synthetic_mark(run);
  return section;
}

std::vector<ProblemGroup> problem_groups(const model::Run& run) {
  std::vector<ProblemGroup> groups;
  for (const TrialRecord& trial : run.trials) {
    if (!has_problem(trial))
      continue;
    auto same = std::find_if(groups.begin(), groups.end(),
                             [&](const auto& group) { return same_end(*group.front(), trial); });
    if (same == groups.end())
      groups.push_back({&trial});
    else
      same->push_back(&trial);
  }
  return groups;
}

Report problem_report(const model::Run& run) {
  Report report{.data = {{"problems", problems_table(run)}}};
  const auto groups = problem_groups(run);
  if (groups.empty())
    return report;
  std::size_t trials = 0;
  for (const auto& group : groups)
    trials += group.size();
  Section section{k_problem_section,
                  fmt::format("Problems in {} of {}{}", trials,
                              count_of(run.trials.size(), "trial", "trials"), synthetic_mark(run))};
  for (const auto& group : groups)
    add_group(section.blocks, group, run.header.backend);
  section.part = Section::Part::failures;
  report.sections.push_back(std::move(section));
  return report;
}

} // namespace ncclprobe::analysis
