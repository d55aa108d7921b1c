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

std::string needed_in_words(const RunComparison& comparison, const std::optional<int>& repeats) {
  if (!repeats)
    return "";
  const auto count = static_cast<std::size_t>(*repeats);
  switch (comparison.basis) {
  case Basis::two_runs:
    return count_of(count, "process", "processes") + " of each";
  case Basis::baseline:
    return fmt::format("{} in the baseline (now {}) and {} (now {})",
                       count_of(count, "run", "runs"), comparison.runs_a,
                       count_of(count, "new run", "new runs"), comparison.runs_b);
  case Basis::interleaved:
    return fmt::format("{} (now {})", count_of(count, "pair", "pairs"), comparison.runs_a);
  }
  return "";
}

std::string why_in_words(const GateResult& result, const RunComparison& comparison) {
  switch (result.reason) {
  case GateReason::none: {
    std::vector<std::string> texts;
    for (const CellComparison* cell : result.beyond)
      texts.push_back(in_words(cell->key) + ": " + change_in_words(*cell));
    return first_few(std::move(texts));
  }
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
  if (const std::string needed = needed_in_words(comparison, result.mean->repeats); !needed.empty())
    text += "; it takes " + needed;
  return text;
}

} // namespace ncclprobe::analysis::compare
