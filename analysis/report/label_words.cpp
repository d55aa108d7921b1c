// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/label_words.h"

#include "base/name_ranks.h"

#include <algorithm>

namespace ncclprobe::analysis {

std::string in_words(model::OutcomeKind kind) {
  std::string words(model::to_string(kind));
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

std::string describe(const model::CellLabel& label) {
  std::string text = fmt::format("{}, {}", label.workload(), model::to_string(label.type));
  const auto* one = label.collective();
  if (one && model::reduces(one->collective))
    text += fmt::format(" {}", model::to_string(label.op));
  if (one && model::has_root(one->collective))
    text += fmt::format(", root {}", label.root);
  if (const std::string variant = label.variant(); !variant.empty())
    text += ", " + printable(variant);
  return text;
}

std::string describe(const SettingResult& result) {
  return describe(result.label) +
         (result.timing_mode == model::TimingMode::latency ? ", latency of single launches" : "");
}

std::string placement_text(model::Placement placement) {
  return placement == model::Placement::in_place ? "in place" : "out of place";
}

std::optional<double> in_us(std::optional<double> ns) {
  return ns ? std::optional(*ns / 1e3) : std::nullopt;
}

std::string on_ranks(const std::vector<int>& ranks) {
  return ranks.empty() ? "" : " on " + base::name_ranks(ranks);
}

} // namespace ncclprobe::analysis
