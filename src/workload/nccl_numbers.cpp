// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/nccl_numbers.h"

#include "base/similar_words.h"

#include <algorithm>

namespace ncclprobe::workload {
namespace {

using base::same_word;
using model::Setting;

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Number for words that people write instead: yes, no, 8M. Empty if it is none of these.
std::string as_number(std::string_view text) {
  for (const char* word : {"yes", "true", "on", "y", "t", "enable", "enabled"})
    if (same_word(text, word))
      return "1";
  for (const char* word : {"no", "false", "off", "n", "f", "disable", "disabled"})
    if (same_word(text, word))
      return "0";
  std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  std::string_view unit = text.substr(digits);
  constexpr std::pair<std::string_view, int> k_units[] = {{"K", 10}, {"M", 20}, {"G", 30}};
  for (const auto& [letter, shift] : k_units)
    for (const char* rest : {"", "B", "iB"})
      if (digits > 0 && digits < 10 && same_word(unit, fmt::format("{}{}", letter, rest)))
        return std::to_string(read_integer(text.substr(0, digits)).value << shift);
  return "";
}

std::string with_value(const Setting& setting, std::int64_t value) {
  return model::label_of({{setting.name, std::to_string(value)}});
}

std::string written_as_number(const Setting& setting) {
  std::string number = as_number(setting.value);
  return number.empty() ? "" : model::label_of({{setting.name, number}});
}

std::string what_is_taken(Outside outside, std::int64_t limit) {
  switch (outside) {
  case Outside::nearest:
    return fmt::format("NCCL takes {}", limit);
  case Outside::standard:
    return "NCCL continues with its default";
  case Outside::on:
    return "NCCL takes it for 1";
  case Outside::off:
    return "NCCL takes it for 0";
  default:
    return "NCCL does not check it, and does not document the effect";
  }
}

Judgement outside(const Setting& setting, const Limits& limits, std::int64_t value) {
  bool low = value < limits.least;
  std::int64_t limit = low ? limits.least : limits.most;
  return {Reading::limited, fmt::format("{} than {}", low ? "less" : "more", limit),
          what_is_taken(low ? limits.below : limits.above, limit), with_value(setting, limit), ""};
}

} // namespace

Judgement judge_integer(const Setting& setting, const Variable& variable, int version) {
  IntegerReading reading = read_integer(setting.value);
  if (!reading.fits)
    return {Reading::misread, "it does not fit into 64 bits", "NCCL continues with its default",
            written_as_number(setting), "Invalid value"};
  if (!reading.whole)
    return {Reading::misread, fmt::format("'{}' is not a number", setting.value),
            fmt::format("NCCL reads it as {} without a warning", reading.value),
            written_as_number(setting), ""};
  // For block sizes. NCCL checks the limits only for values above 0.
  bool threads = setting.name == "NCCL_NTHREADS" || setting.name == "NCCL_LL128_NTHREADS";
  if (threads && reading.value <= 0)
    return {Reading::limited, "it is not above 0", "NCCL continues with its default", "", ""};
  if (is_outside(variable, reading.value, version))
    return outside(setting, legal_numbers(variable, version), reading.value);
  if (threads && reading.value % 32 != 0)
    return {Reading::limited, "it is not a multiple of 32", "NCCL uses the largest allowed value",
            with_value(setting, reading.value / 32 * 32), ""};
  if (setting.name == "NCCL_WORK_FIFO_BYTES" && (reading.value & (reading.value - 1)) != 0)
    return {Reading::limited, "it is not a power of 2", "NCCL continues with its default", "",
            "is being ignored because it is not a power of 2"};
  if (setting.value.size() > 1 && setting.value.starts_with('0') && is_number(setting.value) &&
      reading.value != 0)
    return {Reading::uncertain, "a number that begins with 0 is octal",
            fmt::format("NCCL reads it as {}", reading.value), "", ""};
  return {};
}

Judgement judge_flag(const Setting& setting) {
  for (const char* word : {"1", "T", "TRUE", "0", "F", "FALSE"})
    if (same_word(setting.value, word))
      return {};
  return {Reading::misread,
          fmt::format("'{}' is not one of 1, T, TRUE, 0, F, FALSE", setting.value),
          "NCCL continues with its default, without a warning", written_as_number(setting), ""};
}

} // namespace ncclprobe::workload
