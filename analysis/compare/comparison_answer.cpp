// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/compare/comparison_answer.h"

#include "analysis/compare/comparison_words.h"
#include "analysis/report/label_words.h"

#include <map>

namespace ncclprobe::analysis::compare {
namespace {

constexpr FindingKind k_differ{
    "differ", Severity::note,
    "The two runs differ. B, cell by cell: {by_cell}. Each run is one sample of its boot, node and "
    "hour. Whether this is a regression needs a baseline of 3 runs or more, or --interleave."};
constexpr FindingKind k_regression{
    "regression", Severity::error,
    "Regression: B is slower beyond the scatter between runs. Mean speed {change}. Cell by cell: "
    "{by_cell}."};
constexpr FindingKind k_regression_and_improvement{
    "regression_and_improvement", Severity::error,
    "Regression in {slower_in}, improvement in {faster_in}, beyond the scatter between runs. Mean "
    "speed {change}.{by_cell}"};
constexpr FindingKind k_improvement{
    "improvement", Severity::note,
    "Improvement: B is faster beyond the scatter between runs. Mean speed {change}. Cell by cell: "
    "{by_cell}."};
constexpr FindingKind k_no_difference{
    "no_difference", Severity::note,
    "No difference: a difference of {difference} or more is excluded{by_cell}."};
constexpr FindingKind k_cells_beyond{
    "cells_beyond", Severity::warning,
    "Not decided: the mean over all cells shows no difference of {difference} or more, but the "
    "whole 95% interval of {beyond} of {cells} is beyond it: {changes}.{needed}"};
constexpr FindingKind k_undecided{
    "undecided", Severity::warning,
    "Not decided: a difference of {difference} is neither shown nor excluded. {needed}"};
constexpr FindingKind k_wrong_data{"wrong_data", Severity::error,
                                   "Wrong data, which is never compared: {cells}."};
constexpr FindingKind k_not_comparable{"not_comparable", Severity::warning,
                                       "Not comparable: {reasons}."};

// Whether a cell or the mean has this verdict.
bool has(const RunComparison& comparison, CellVerdict verdict) {
  return comparison.count(verdict) > 0 ||
         (comparison.overall && comparison.overall->verdict == verdict);
}

// "2 of 4 cells", "the mean" if no cell has this verdict.
std::string places_in_words(const RunComparison& comparison, CellVerdict verdict, int cells) {
  const int count = comparison.count(verdict);
  return count == 0 ? "the mean"
                    : fmt::format("{} of {}", count,
                                  count_of(static_cast<std::size_t>(cells), "cell", "cells"));
}

// " Other cells: 3 no difference, 1 not decided."
std::string rest_in_words(const RunComparison& comparison) {
  std::vector<std::string> texts;
  for (const CellVerdict rest : {CellVerdict::no_difference, CellVerdict::not_decided})
    if (const int count = comparison.count(rest); count > 0)
      texts.push_back(fmt::format("{} {}", count, in_words(rest)));
  return texts.empty() ? "" : fmt::format(" Other cells: {}.", join(texts, ", "));
}

// "9 of 12 slower, none faster, 3 no difference"
std::string verdicts_in_words(const RunComparison& comparison, int cells) {
  const int slower = comparison.count(CellVerdict::slower);
  const int faster = comparison.count(CellVerdict::faster);
  auto number = [](int count) { return count == 0 ? std::string("none") : std::to_string(count); };
  std::string text = slower >= faster
                         ? fmt::format("{} of {} slower, {} faster", slower, cells, number(faster))
                         : fmt::format("{} of {} faster, {} slower", faster, cells, number(slower));
  for (const CellVerdict rest : {CellVerdict::no_difference, CellVerdict::not_decided})
    if (const int count = comparison.count(rest); count > 0)
      text += fmt::format(", {} {}", count, in_words(rest));
  return text;
}

// What a mean without a difference says of its cells.
std::string decided_in_words(const RunComparison& comparison, int cells) {
  if (cells == 1)
    return "";
  if (!comparison.overall)
    return fmt::format(" in each of {} cells", cells);
  const int open = comparison.count(CellVerdict::not_decided);
  return open == 0 ? fmt::format(". Each of the {} cells is decided too", cells)
                   : fmt::format(". {} of {} cells {} not decided", open, cells,
                                 open == 1 ? "is" : "are");
}

std::string percent_text(double share) {
  return fmt::format("{:g}%", 100 * share);
}

// "12 cells: other ranks; 3 cells: wrong data"
std::string reasons_in_words(const RunComparison& comparison) {
  std::map<Reason, std::size_t> cells_by_reason;
  for (const CellComparison& one : comparison.cells)
    if (one.verdict == CellVerdict::not_comparable)
      ++cells_by_reason[one.reason];
  std::vector<std::string> texts;
  for (const auto& [reason, cells] : cells_by_reason)
    texts.push_back(count_of(cells, "cell", "cells") + ": " + in_words(reason));
  return texts.empty() ? "neither side has a cell" : join(texts, "; ");
}

} // namespace

std::vector<std::string> left_out_in_words(const RunComparison& comparison) {
  std::map<Reason, std::vector<std::string>> names_by_reason;
  for (const CellComparison& one : comparison.cells)
    if (one.verdict == CellVerdict::not_comparable)
      names_by_reason[one.reason].push_back(in_words(one.key));
  std::vector<std::string> texts;
  for (const auto& [reason, names] : names_by_reason)
    texts.push_back(fmt::format("{}, {}: {}", count_of(names.size(), "cell", "cells"),
                                in_words(reason), first_few(names)));
  return texts;
}

namespace {

std::string sentence_of_needed(const std::string& needed) {
  return fmt::format(" It takes {}.", needed);
}

// What would decide the mean or, without one, each cell. Empty if more values alone do not.
std::string undecided_needs(const RunComparison& comparison) {
  if (comparison.overall)
    return needed_in_words(comparison, comparison.overall->repeats, comparison.overall->reason);
  const CellComparison* first = nullptr;
  const CellComparison* last = nullptr;
  auto repeats_of = [](const CellComparison* one) {
    return one->repeats.value_or(k_most_repeats + 1);
  };
  for (const CellComparison& one : comparison.cells) {
    if (one.verdict != CellVerdict::not_decided)
      continue;
    if (needed_in_words(comparison, one.repeats, one.reason).empty())
      return "";
    if (!first || repeats_of(&one) < repeats_of(first))
      first = &one;
    if (!last || repeats_of(&one) > repeats_of(last))
      last = &one;
  }
  if (!last)
    return "";
  const std::string most = needed_in_words(comparison, last->repeats, last->reason);
  return repeats_of(first) == repeats_of(last)
             ? most
             : fmt::format("{} to {}, depending on the cell", repeats_in_words(first->repeats),
                           most);
}

// Why most of the undecided cells are so, and what would decide them.
std::string undecided_in_words(const RunComparison& comparison) {
  std::map<Reason, std::size_t> cells_by_reason;
  for (const CellComparison& one : comparison.cells)
    if (one.verdict == CellVerdict::not_decided)
      ++cells_by_reason[one.reason];
  std::vector<std::string> texts;
  for (const auto& [reason, cells] : cells_by_reason)
    texts.push_back(count_of(cells, "cell", "cells") + ": " + in_words(reason));
  std::string text = join(texts, "; ") + ".";
  if (const std::string needed = undecided_needs(comparison); !needed.empty())
    text += sentence_of_needed(needed);
  else if (cells_by_reason.contains(Reason::no_noise_floor))
    text += " A baseline (--against) or runs in turns (--interleave) can decide it.";
  return text;
}

Finding answer_of(const RunComparison& comparison) {
  const int cells =
      static_cast<int>(comparison.cells.size()) - comparison.count(CellVerdict::not_comparable);
  const int faster = comparison.count(CellVerdict::faster);
  const int slower = comparison.count(CellVerdict::slower);
  const int open = comparison.count(CellVerdict::not_decided);
  const std::string change = comparison.overall ? change_in_words(*comparison.overall) : "";
  const std::string difference = percent_text(comparison.request.difference);
  switch (comparison.conclusion) {
  case Conclusion::differ:
    return {&k_differ,
            {{"cells", cells},
             {"faster", faster},
             {"slower", slower},
             {"same", comparison.count(CellVerdict::no_difference)},
             {"open", open},
             {"by_cell", verdicts_in_words(comparison, cells)}}};
  case Conclusion::regression:
    if (has(comparison, CellVerdict::faster))
      return {&k_regression_and_improvement,
              {{"change", change},
               {"slower", slower},
               {"faster", faster},
               {"cells", cells},
               {"slower_in", places_in_words(comparison, CellVerdict::slower, cells)},
               {"faster_in", places_in_words(comparison, CellVerdict::faster, cells)},
               {"by_cell", rest_in_words(comparison)}}};
    return {&k_regression,
            {{"change", change},
             {"slower", slower},
             {"faster", faster},
             {"cells", cells},
             {"by_cell", verdicts_in_words(comparison, cells)}}};
  case Conclusion::improvement:
    return {&k_improvement,
            {{"change", change},
             {"faster", faster},
             {"cells", cells},
             {"by_cell", verdicts_in_words(comparison, cells)}}};
  case Conclusion::no_difference:
    return {&k_no_difference,
            {{"difference", difference},
             {"open", open},
             {"cells", cells},
             {"by_cell", decided_in_words(comparison, cells)}}};
  case Conclusion::undecided:
    if (const auto beyond = comparison.beyond_the_difference();
        comparison.overall && comparison.overall->verdict == CellVerdict::no_difference)
      return {&k_cells_beyond,
              {{"difference", difference},
               {"beyond", beyond.size()},
               {"cells", count_of(static_cast<std::size_t>(cells), "cell", "cells")},
               {"changes", changes_in_words(beyond)},
               {"needed", sentence_of_needed(needed_in_words(comparison, comparison.repeats(),
                                                             Reason::too_noisy))}}};
    return {&k_undecided, {{"difference", difference}, {"needed", undecided_in_words(comparison)}}};
  case Conclusion::not_comparable:
    break;
  }
  return {&k_not_comparable, {{"reasons", reasons_in_words(comparison)}}};
}

} // namespace

std::vector<Finding> answers_of(const RunComparison& comparison) {
  std::vector<std::string> wrong;
  for (const CellComparison& one : comparison.cells)
    if (one.wrong_in_a || one.wrong_in_b)
      wrong.push_back(fmt::format("{} (in {})", in_words(one.key),
                                  !one.wrong_in_b   ? "A"
                                  : !one.wrong_in_a ? "B"
                                                    : "A and B"));
  std::vector<Finding> all;
  if (!wrong.empty())
    all.push_back({&k_wrong_data, {{"cells", first_few(std::move(wrong))}}});
  all.push_back(answer_of(comparison));
  return all;
}

} // namespace ncclprobe::analysis::compare
