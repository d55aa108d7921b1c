// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/step_label.h"

#include "base/number_list.h"
#include "model/parse_enum.h"
#include "workload/label_words.h"

#include <charconv>

namespace ncclprobe::workload {
namespace {

constexpr std::string_view k_suffix = "_step";

// The rest of a word that begins with `key`.
std::optional<std::string_view> value_of(std::string_view word, std::string_view key) {
  if (!word.starts_with(key))
    return std::nullopt;
  return word.substr(key.size());
}

template <typename T>
bool read_number(std::string_view text, T& into) {
  auto [after, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  return error == std::errc{} && after == text.data() + text.size();
}

} // namespace

bool StepLabel::communicates() const {
  return ranks.size() > 1 && (parts == StepParts::all || parts == StepParts::communication);
}

std::string_view StepLabel::input_copy() const {
  for (const std::string& one : options)
    if (auto copy = value_of(one, "copy="))
      return *copy;
  return {};
}

model::CellLabel make_cell_label(const StepLabel& label, std::uint64_t bytes,
                                 model::DataType type) {
  model::CellLabel cell;
  cell.workload = label.pattern + std::string(k_suffix);
  cell.bytes = bytes;
  cell.type = type;
  cell.variant = fmt::format("{} ranks={} batch={}", label.model,
                             base::format_number_list(label.ranks), label.batch);
  if (label.sequence > 0)
    cell.variant += fmt::format(" sequence={}", label.sequence);
  cell.variant += fmt::format(" parts={}", model::to_string(label.parts));
  for (const std::string& one : label.options)
    cell.variant += " " + one;
  return cell;
}

std::optional<StepLabel> read_step_label(const model::CellLabel& cell) {
  std::vector<std::string_view> words = words_of(cell.variant);
  if (!cell.workload.ends_with(k_suffix) || words.empty())
    return std::nullopt;
  StepLabel label;
  label.pattern = cell.workload.substr(0, cell.workload.size() - k_suffix.size());
  label.model = words.front();
  bool good = true;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (auto ranks = value_of(words[i], "ranks="))
      label.ranks = base::parse_number_list(*ranks);
    else if (auto batch = value_of(words[i], "batch="))
      good = read_number(*batch, label.batch) && good;
    else if (auto sequence = value_of(words[i], "sequence="))
      good = read_number(*sequence, label.sequence) && good;
    else if (auto parts = value_of(words[i], "parts=")) {
      auto known = model::parse_enum<StepParts>(*parts, "part of a step");
      good = known.has_value() && good;
      label.parts = known.value_or(StepParts::all);
    } else {
      label.options.emplace_back(words[i]);
    }
  }
  if (!good || label.ranks.empty())
    return std::nullopt;
  return label;
}

} // namespace ncclprobe::workload
