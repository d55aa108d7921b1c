// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/compare/comparison_words.h"

#include "analysis/report/cell_name.h"
#include "analysis/report/label_words.h"

#include <algorithm>

namespace ncclprobe::analysis::compare {
namespace {

template <typename T>
std::string with_blanks(T value) {
  std::string words(base::to_string(value));
  std::ranges::replace(words, '_', ' ');
  return words;
}

constexpr std::size_t k_most_named = 3;

std::string percent(double ratio) {
  return fmt::format("{:+.2f}%", 100 * (ratio - 1));
}

// "4.1%", "3.5 times slower"
std::string slowdown_in_words(double ratio) {
  return ratio < 2 ? percent_above(ratio) : fmt::format("{:.2g} times slower", ratio);
}

} // namespace

std::string in_words(Reason reason) {
  switch (reason) {
  case Reason::none:
    return "";
  case Reason::synthetic_against_real:
    return "numbers of a model against measurements";
  case Reason::other_operation:
    return "other reduction";
  case Reason::not_measured:
    return "only one side measured it";
  case Reason::no_times:
    return "no times";
  case Reason::not_as_asked:
    return "other libraries or CPUs than requested";
  case Reason::one_process:
    return "only one process was measured";
  case Reason::no_noise_floor:
    return "no A/A comparison, so the noise is unknown";
  case Reason::other_ranks:
  case Reason::other_type:
  case Reason::other_size:
  case Reason::other_placement:
  case Reason::other_timing:
  case Reason::other_setting:
  case Reason::wrong_data:
  case Reason::too_few_processes:
  case Reason::too_few_runs:
  case Reason::too_noisy:
    return with_blanks(reason);
  }
  return "";
}

std::string in_words(CellVerdict verdict) {
  return with_blanks(verdict);
}

std::string in_words(GateVerdict verdict) {
  return with_blanks(verdict);
}

std::string in_words(FactKind kind) {
  switch (kind) {
  case FactKind::gpu:
    return "GPU";
  case FactKind::nccl:
    return "NCCL";
  case FactKind::cuda:
    return "CUDA";
  case FactKind::mpi:
    return "MPI";
  case FactKind::cpu:
    return "CPU";
  case FactKind::firmware:
    return "GPU firmware (VBIOS)";
  case FactKind::sm_clock:
    return "SM clock";
  case FactKind::choice:
    return "NCCL's choice";
  case FactKind::plugin:
    return "file";
  case FactKind::backend:
  case FactKind::fabric:
  case FactKind::ranks:
  case FactKind::hosts:
  case FactKind::driver:
  case FactKind::kernel:
  case FactKind::variable:
  case FactKind::host_names:
  case FactKind::boot:
  case FactKind::topology:
  case FactKind::placement:
  case FactKind::throttling:
  case FactKind::ncclprobe:
    return with_blanks(kind);
  }
  return "";
}

std::string in_words(const Suspect& one) {
  auto value = [](const std::string& text) { return text.empty() ? "not set" : text; };
  return fmt::format("{}: {} against {}", one.name.empty() ? in_words(one.kind) : one.name,
                     value(one.a), value(one.b));
}

std::string with_setting(const CellKey& key, std::string text) {
  return key.setting == "default" ? text : text + ", " + printable(key.setting);
}

std::string name_in_words(const CellKey& key) {
  return with_setting(key, key.label.step() ? cell_in_full(key.label)
                                            : cell_name(key.label, key.timing));
}

std::string in_words(const CellKey& key) {
  if (key.label.step())
    return name_in_words(key);
  std::string text = cell_name(key.label, key.timing);
  if (const std::string size = cell_size(key.label); size != k_no_size)
    text += ", " + size;
  text += ", " + count_of(static_cast<std::size_t>(std::max(key.ranks, 0)), "rank", "ranks");
  return with_setting(key, std::move(text));
}

std::string first_few(std::vector<std::string> cells) {
  if (cells.size() > k_most_named) {
    const std::size_t more = cells.size() - k_most_named;
    cells.resize(k_most_named);
    cells.push_back(fmt::format("and {} more (--format csv lists them)", more));
  }
  return join(cells, "; ");
}

std::string change_in_words(const Decision& one) {
  std::string text = percent(one.speed_ratio);
  if (one.interval)
    text += fmt::format(" ({:.0f}%: {} to {})", 100 * k_confidence, percent(one.interval->low),
                        percent(one.interval->high));
  return text;
}

std::string changes_in_words(const std::vector<const CellComparison*>& cells) {
  std::vector<std::string> texts;
  for (const CellComparison* cell : cells)
    texts.push_back(in_words(cell->key) + ": " + change_in_words(*cell));
  return first_few(std::move(texts));
}

std::string repeats_in_words(const std::optional<int>& repeats) {
  static_assert(k_most_repeats == 10'000);
  return repeats ? std::to_string(*repeats) : "more than 10,000";
}

std::string needed_in_words(const RunComparison& comparison, const std::optional<int>& repeats,
                            Reason reason) {
  // No number of this is known if there is none, but of what is too noisy it is too large.
  if (!repeats && reason != Reason::too_noisy)
    return "";
  const std::string count = repeats_in_words(repeats);
  switch (comparison.basis) {
  case Basis::two_runs:
    return count + " processes of each";
  case Basis::baseline: {
    const std::string runs =
        fmt::format("{} runs in the baseline (now {})", count, comparison.runs_a);
    // The baseline alone shows how runs differ, so any number of new runs will do.
    return reason == Reason::too_few_runs
               ? runs
               : fmt::format("{} and {} new runs (now {})", runs, count, comparison.runs_b);
  }
  case Basis::interleaved:
    return fmt::format("{} pairs (now {})", count, comparison.runs_a);
  }
  return "";
}

std::string why_in_words(const CellComparison& cell, Basis basis) {
  std::string text = in_words(cell.reason);
  if (cell.reason != Reason::too_noisy)
    return text;
  return text + fmt::format(": takes {} {}", repeats_in_words(cell.repeats),
                            basis == Basis::two_runs   ? "processes"
                            : basis == Basis::baseline ? "runs"
                                                       : "pairs");
}

std::string why_in_words(const GateResult& result, const RunComparison& comparison) {
  switch (result.reason) {
  case GateReason::none:
    return changes_in_words(result.beyond);
  case GateReason::other_machine: {
    std::vector<std::string> texts;
    for (const Suspect& one : result.refused)
      texts.push_back(in_words(one));
    return join(texts, "; ") + "; --vary allows it";
  }
  case GateReason::nothing_selected:
    return "neither side measured such a cell";
  case GateReason::lacks_metric:
    return fmt::format("such cells have no {}; all have time, P2P transfers algbw too",
                       base::to_string(result.gate.metric));
  case GateReason::cells_not_comparable: {
    std::vector<std::string> texts;
    for (const CellComparison* cell : result.cells)
      if (cell->verdict == CellVerdict::not_comparable)
        texts.push_back(in_words(cell->key) + ": " + in_words(cell->reason));
    return first_few(std::move(texts));
  }
  case GateReason::between_runs_unknown:
    return "one run on each side does not show how runs differ; use a baseline of 3 runs or more, "
           "or --interleave";
  case GateReason::cells_beyond_limit: {
    const std::size_t beyond = result.beyond.size();
    return fmt::format(
        "the mean excludes the limit, but the whole {:.0f}% interval of {} of {} {} beyond it: {}; "
        "it takes {}",
        100 * k_confidence, beyond, count_of(result.cells.size(), "cell", "cells"),
        beyond == 1 ? "is" : "are", changes_in_words(result.beyond),
        needed_in_words(comparison, result.repeats, Reason::too_noisy));
  }
  case GateReason::too_little_power:
  case GateReason::near_the_limit:
    break;
  }
  std::string text = "the difference is too close to the limit for these runs";
  if (result.reason == GateReason::too_little_power) {
    text = "too little power for this limit";
    if (result.mean->detectable)
      text += ": these runs cannot show less than " + slowdown_in_words(*result.mean->detectable);
  }
  if (const std::string needed = needed_in_words(comparison, result.repeats, result.mean->reason);
      !needed.empty())
    text += "; it takes " + needed;
  return text;
}

} // namespace ncclprobe::analysis::compare
