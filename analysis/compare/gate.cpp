// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/compare/gate.h"

#include "analysis/compare/cell_tests.h"
#include "analysis/results/bandwidth.h"
#include "base/printable.h"
#include "base/similar_words.h"
#include "base/units.h"
#include "model/parse_enum.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <iterator>

namespace ncclprobe::analysis::compare {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos)
    return "";
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

Result<void> read_sizes(std::string_view text, Gate& gate) {
  auto bytes_behind = [&](std::string_view sign) {
    return base::parse_bytes(trimmed(text.substr(sign.size())));
  };
  if (text.starts_with(">=")) {
    NCCLPROBE_TRY_ASSIGN(gate.least_bytes, bytes_behind(">="));
  } else if (text.starts_with("<=")) {
    NCCLPROBE_TRY_ASSIGN(gate.most_bytes, bytes_behind("<="));
  } else if (text.starts_with(">")) {
    NCCLPROBE_TRY_ASSIGN(const std::uint64_t bytes, bytes_behind(">"));
    if (bytes == UINT64_MAX)
      return fail(Errc::invalid_argument, "no size is above {}", bytes);
    gate.least_bytes = bytes + 1;
  } else if (text.starts_with("<")) {
    NCCLPROBE_TRY_ASSIGN(const std::uint64_t bytes, bytes_behind("<"));
    if (bytes == 0)
      return fail(Errc::invalid_argument, "no size is below 0");
    gate.most_bytes = bytes - 1;
  } else {
    const std::size_t dash = text.find('-');
    NCCLPROBE_TRY_ASSIGN(gate.least_bytes, base::parse_bytes(trimmed(text.substr(0, dash))));
    gate.most_bytes = gate.least_bytes;
    if (dash != std::string_view::npos) {
      NCCLPROBE_TRY_ASSIGN(gate.most_bytes, base::parse_bytes(trimmed(text.substr(dash + 1))));
      if (gate.most_bytes < gate.least_bytes)
        return fail(Errc::invalid_argument, "'{}': the first size is larger than the last", text);
    }
  }
  return {};
}

// What CellLabel::workload() can be.
std::vector<std::string> workload_names() {
  std::vector<std::string> names{model::CellLabel{.what = model::EmptyKernelLabel{}}.workload()};
  auto add_each = [&](auto values, auto label_of) {
    for (const auto& [value, name] : values)
      names.push_back(model::CellLabel{.what = label_of(value)}.workload());
  };
  add_each(enum_names(model::Collective{}),
           [](model::Collective one) { return model::CollectiveLabel{.collective = one}; });
  add_each(enum_names(model::P2pMethod{}),
           [](model::P2pMethod one) { return model::P2pLabel{.method = one}; });
  add_each(enum_names(model::StepPattern{}), [](model::StepPattern one) {
    model::StepLabel label;
    label.options.pattern = one;
    return label;
  });
  return names;
}

Result<void> check_workload(const std::string& word) {
  const std::vector<std::string> names = workload_names();
  if (word == "*" || std::ranges::count(names, word) > 0)
    return {};
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string_view nearest = base::most_similar(word, views);
  return fail(Errc::invalid_argument, "'{}' is not a workload{}", base::printable(word),
              nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest));
}

bool is_bandwidth(Gate::Metric metric) {
  return metric == Gate::Metric::busbw || metric == Gate::Metric::algbw;
}

// "-3%" -> the least ratio of speeds.
Result<double> read_change(std::string_view text, Gate::Metric metric) {
  double percent = 0;
  const bool positive = text.starts_with('+');
  const std::string_view number = positive ? text.substr(1) : text;
  auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), percent);
  const bool whole =
      error == std::errc{} && end == number.data() + number.size() - 1 && *end == '%';
  if (is_bandwidth(metric)) {
    // A change may be too small for the ratio.
    if (!whole || positive || !(1 + percent / 100 < 1) || !(percent > -100))
      return fail(Errc::invalid_argument, "'{}' is not a limit for a bandwidth, such as -3%", text);
    return 1 + percent / 100;
  }
  if (!whole || !positive || !(1 + percent / 100 > 1) || !(percent <= 1000))
    return fail(Errc::invalid_argument, "'{}' is not a limit for a time, such as +3%", text);
  return 1 / (1 + percent / 100);
}

std::vector<Suspect> refused_differences(const std::vector<Suspect>& suspects,
                                         const std::vector<FactKind>& vary) {
  std::vector<Suspect> refused;
  for (const Suspect& one : suspects)
    if (std::ranges::count(guarded_facts(), one.kind) > 0 &&
        std::ranges::count(vary, one.kind) == 0)
      refused.push_back(one);
  return refused;
}

std::vector<const CellComparison*>
slowest_first(const std::vector<const CellComparison*>& cells,
              const std::function<bool(const CellComparison&)>& is_meant) {
  std::vector<const CellComparison*> meant;
  std::ranges::copy_if(cells, std::back_inserter(meant),
                       [&](const CellComparison* cell) { return is_meant(*cell); });
  std::ranges::stable_sort(meant, {}, &CellComparison::speed_ratio);
  return meant;
}

// How many values decide all of these cells.
std::optional<int> repeats_of(const std::vector<const CellComparison*>& cells,
                              const RunComparison& comparison, const Request& request) {
  const auto tested = std::ranges::count_if(comparison.cells, [](const CellComparison& one) { //
    return one.adjusted_p.has_value();
  });
  std::optional<int> most;
  for (const CellComparison* cell : cells) {
    const auto needed =
        repeats_needed(*cell, comparison.basis, cell->a_ns.size(), cell->b_ns.size(),
                       static_cast<std::size_t>(tested), request);
    if (!needed)
      return std::nullopt;
    most = std::max(most.value_or(0), *needed);
  }
  return most;
}

// Without the facts that differ, which come first.
void decide_gate(GateResult& result, const RunComparison& comparison, std::size_t gates) {
  auto leave = [&](GateVerdict verdict, GateReason reason) {
    result.verdict = verdict;
    result.reason = reason;
  };
  const double limit = result.gate.least_speed_ratio;
  if (result.cells.empty()) {
    const bool lacks_metric = std::ranges::any_of(
        comparison.cells, [&](const CellComparison& one) { return result.gate.names(one.key); });
    return leave(GateVerdict::not_comparable,
                 lacks_metric ? GateReason::lacks_metric : GateReason::nothing_selected);
  }
  for (const CellComparison* cell : result.cells)
    if (cell->verdict == CellVerdict::not_comparable)
      return leave(GateVerdict::not_comparable, GateReason::cells_not_comparable);
  if (comparison.basis == Basis::two_runs)
    return leave(GateVerdict::undecided, GateReason::between_runs_unknown);
  const Request limit_as_request{.difference = 1 / limit - 1};
  result.mean = mean_of(comparison, result.cells, gates, limit_as_request);
  auto is_beyond = [limit](const Decision& one) {
    return one.verdict == CellVerdict::slower && one.speed_ratio <= limit;
  };
  result.beyond = slowest_first(result.cells, is_beyond);
  if (!result.beyond.empty() || is_beyond(*result.mean))
    return leave(GateVerdict::regression, GateReason::none);
  if (result.mean->interval && result.mean->reason != Reason::too_few_runs &&
      result.mean->interval->low > limit) {
    result.beyond = slowest_first(result.cells, [limit](const CellComparison& one) {
      return one.adjusted_p && one.interval->high < limit;
    });
    if (result.beyond.empty())
      return leave(GateVerdict::passed, GateReason::none);
    result.repeats = repeats_of(result.beyond, comparison, limit_as_request);
    return leave(GateVerdict::undecided, GateReason::cells_beyond_limit);
  }
  result.repeats = result.mean->repeats;
  const bool sees_it = result.mean->detectable && *result.mean->detectable <= 1 / limit;
  leave(GateVerdict::undecided,
        sees_it ? GateReason::near_the_limit : GateReason::too_little_power);
}

} // namespace

bool Gate::names(const CellKey& key) const {
  return (workload == "*" || workload == key.label.workload()) && key.label.bytes >= least_bytes &&
         key.label.bytes <= most_bytes;
}

bool Gate::selects(const CellKey& key) const {
  if (!names(key))
    return false;
  const bool single_launches = key.timing == model::TimingMode::latency;
  switch (metric) {
  case Metric::busbw:
    return !single_launches && busbw_factor(key.label, key.ranks).has_value();
  case Metric::algbw:
    return !single_launches && (key.label.collective() || key.label.p2p());
  case Metric::time:
    return true;
  case Metric::latency:
    return single_launches;
  }
  return false;
}

Result<Gate> parse_gate(const std::string& text) {
  auto refuse = [&](std::string_view why) {
    return fail({Errc::invalid_argument, fmt::format("gate '{}': {}", text, why),
                 "write for example 'busbw(all_reduce,>=1M) -3%'"});
  };
  Gate gate;
  gate.text = text;
  const std::string_view all = text;
  const std::size_t open = all.find('('), close = all.find(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open)
    return refuse("it does not have the form METRIC(WORKLOAD,SIZES) CHANGE");
  auto metric =
      model::parse_enum<Gate::Metric>(std::string(trimmed(all.substr(0, open))), "metric");
  if (!metric)
    return refuse(metric.error().message);
  gate.metric = *metric;
  const std::string_view inside = all.substr(open + 1, close - open - 1);
  const std::size_t comma = inside.find(',');
  gate.workload = std::string(trimmed(inside.substr(0, comma)));
  if (gate.workload.empty())
    return refuse("it names no workload; * is any");
  if (auto known = check_workload(gate.workload); !known)
    return refuse(known.error().message);
  if (comma != std::string_view::npos)
    if (auto sizes = read_sizes(trimmed(inside.substr(comma + 1)), gate); !sizes)
      return refuse(sizes.error().message + "; sizes are 1M, 1K-64K, >=1M, >1M, <=64K or <64K");
  auto change = read_change(trimmed(all.substr(close + 1)), gate.metric);
  if (!change)
    return refuse(change.error().message);
  gate.least_speed_ratio = *change;
  return gate;
}

const std::vector<FactKind>& guarded_facts() {
  static const std::vector<FactKind> k_guarded{FactKind::gpu, FactKind::fabric, FactKind::nccl,
                                               FactKind::driver};
  return k_guarded;
}

std::vector<GateResult> judge_gates(const std::vector<Gate>& gates, const RunComparison& comparison,
                                    const std::vector<FactKind>& vary) {
  std::vector<GateResult> results;
  for (const Gate& gate : gates) {
    GateResult& result = results.emplace_back();
    result.gate = gate;
    for (const CellComparison& cell : comparison.cells)
      if (gate.selects(cell.key))
        result.cells.push_back(&cell);
    result.refused = refused_differences(comparison.suspects, vary);
    if (result.refused.empty()) {
      decide_gate(result, comparison, gates.size());
    } else {
      result.verdict = GateVerdict::not_comparable;
      result.reason = GateReason::other_machine;
    }
  }
  return results;
}

GateVerdict worst(const std::vector<GateResult>& results) {
  for (GateVerdict verdict :
       {GateVerdict::regression, GateVerdict::not_comparable, GateVerdict::undecided})
    if (std::ranges::count(results, verdict, &GateResult::verdict) > 0)
      return verdict;
  return GateVerdict::passed;
}

} // namespace ncclprobe::analysis::compare
