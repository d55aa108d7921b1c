// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "plugin/capture/limits.h"

#include <charconv>
#include <optional>
#include <string_view>

namespace ncclprobe::plugin {
namespace {

// Less would not hold what is written at once.
constexpr std::uint64_t k_least_bytes = 16 << 20;
constexpr std::uint64_t k_longest_s = 1'000'000'000;
constexpr std::uint64_t k_most_steps = 1'000'000'000;

// A whole number above 0 and its unit, which is empty if there is none.
struct Quantity {
  std::uint64_t number = 0;
  std::string_view unit;
};
std::optional<Quantity> quantity(std::string_view text) {
  Quantity read;
  const char* const end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data(), end, read.number);
  if (problem != std::errc{} || read.number == 0)
    return std::nullopt;
  read.unit = {rest, static_cast<std::size_t>(end - rest)};
  return read;
}

std::optional<std::uint64_t> nanoseconds(std::string_view text) {
  const auto read = quantity(text);
  if (!read || read->number > k_longest_s)
    return std::nullopt;
  if (read->unit == "s")
    return read->number * 1'000'000'000;
  if (read->unit == "ms")
    return read->number * 1'000'000;
  return std::nullopt;
}

std::optional<std::uint64_t> steps(std::string_view text) {
  const auto read = quantity(text);
  return read && read->unit.empty() && read->number <= k_most_steps ? std::optional(read->number)
                                                                    : std::nullopt;
}

std::optional<std::uint64_t> bytes(std::string_view text) {
  const auto read = quantity(text);
  return read && read->unit.empty() && read->number >= k_least_bytes ? std::optional(read->number)
                                                                     : std::nullopt;
}

} // namespace

std::variant<Limits, std::string> limits_of(const char* (*value_of)(const char* variable)) {
  Limits limits;
  struct Variable {
    const char* name;
    std::uint64_t* into;
    std::optional<std::uint64_t> (*read)(std::string_view);
    const char* form;
  };
  for (const Variable& one :
       {Variable{"NCCLPROBE_CAPTURE_FOR", &limits.for_ns, nanoseconds, "60s or 500ms"},
        Variable{"NCCLPROBE_CAPTURE_LAST", &limits.last_ns, nanoseconds, "30s or 500ms"},
        Variable{"NCCLPROBE_CAPTURE_MAX_BYTES", &limits.most_bytes, bytes,
                 "a number of bytes, at least 16777216"},
        Variable{"NCCLPROBE_CAPTURE_STEPS", &limits.steps, steps, "a number of steps"},
        Variable{"NCCLPROBE_CAPTURE_EVERY", &limits.every, steps, "a number of steps"}}) {
    const char* text = value_of(one.name);
    if (text == nullptr || *text == '\0')
      continue;
    const auto value = one.read(text);
    if (!value)
      return std::string(one.name) + " is " + text + ": it must be " + one.form;
    *one.into = *value;
  }
  return limits;
}

} // namespace ncclprobe::plugin
