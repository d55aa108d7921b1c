// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/units.h"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <unordered_set>

namespace ncclprobe::base {
namespace {

constexpr std::size_t k_most_sizes = 10'000;

std::optional<std::uint64_t> binary_unit(std::string_view unit) {
  if (unit.empty() || unit == "B")
    return 1;
  std::string_view rest = unit.substr(1);
  if (!rest.empty() && rest != "B" && rest != "iB")
    return std::nullopt;
  switch (unit.front()) {
  case 'k':
  case 'K':
    return std::uint64_t{1} << 10;
  case 'm':
  case 'M':
    return std::uint64_t{1} << 20;
  case 'g':
  case 'G':
    return std::uint64_t{1} << 30;
  case 't':
  case 'T':
    return std::uint64_t{1} << 40;
  default:
    return std::nullopt;
  }
}

Error size_error(std::string_view text) {
  return {Errc::invalid_argument, fmt::format("'{}' is not a size", text),
          "write a whole number of bytes, or with K, M, G or T, such as 64K, 64KB or 64KiB, which "
          "all mean 65536"};
}

std::vector<std::string_view> split_keeping_empty(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    auto at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos)
      return parts;
    text.remove_prefix(at + 1);
  }
}

Result<void> append_range(std::string_view text, std::vector<std::uint64_t>& sizes) {
  auto parts = split_keeping_empty(text, ':');
  if (parts.size() > 3)
    return fail(Errc::invalid_argument, "'{}' has more parts than first:last:step", text);
  NCCLPROBE_TRY_ASSIGN(const std::uint64_t first, parse_bytes(parts[0]));
  if (parts.size() == 1) {
    sizes.push_back(first);
    return {};
  }
  NCCLPROBE_TRY_ASSIGN(const std::uint64_t last, parse_bytes(parts[1]));
  if (first > last)
    return fail(Errc::invalid_argument, "'{}': the first size is larger than the last", text);
  std::string_view step = parts.size() == 3 ? parts[2] : "x2";
  if (step.empty() || (step[0] != 'x' && step[0] != '+'))
    return fail(Errc::invalid_argument, "'{}': the step must be xFACTOR or +BYTES", text);
  NCCLPROBE_TRY_ASSIGN(const std::uint64_t amount, parse_bytes(step.substr(1)));
  bool multiply = step[0] == 'x';
  if (multiply ? amount < 2 : amount == 0)
    return fail(Errc::invalid_argument, "'{}': {}", text,
                multiply ? "a factor below 2 never reaches the last size"
                         : "a step of 0 never ends");
  if (multiply && first == 0)
    return fail(Errc::invalid_argument, "'{}': 0 times a factor never grows", text);
  for (std::uint64_t size = first; size <= last;) {
    if (sizes.size() > k_most_sizes)
      break; // reported by the caller
    sizes.push_back(size);
    std::uint64_t next = multiply ? size * amount : size + amount;
    if (multiply ? next / amount != size : next < size)
      break; // past 2^64
    size = next;
  }
  return {};
}

} // namespace

Result<std::uint64_t> parse_bytes(std::string_view text) {
  std::uint64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{})
    return fail(size_error(text));
  auto unit = binary_unit(text.substr(end - text.data()));
  if (!unit || (number != 0 && number > UINT64_MAX / *unit))
    return fail(size_error(text));
  return number * *unit;
}

std::string format_bytes(std::uint64_t bytes) {
  constexpr std::array<char, 4> suffixes{'K', 'M', 'G', 'T'};
  std::string suffix;
  for (char next : suffixes) {
    if (bytes == 0 || bytes % 1024 != 0)
      break;
    bytes /= 1024;
    suffix = next;
  }
  return std::to_string(bytes) + suffix;
}

Result<std::vector<std::uint64_t>> parse_sizes(std::string_view text) {
  std::vector<std::uint64_t> sizes;
  for (std::string_view part : split_keeping_empty(text, ','))
    NCCLPROBE_TRY(append_range(part, sizes));
  if (sizes.size() > k_most_sizes)
    return fail(Errc::invalid_argument, "'{}' means more than {} sizes", text, k_most_sizes);
  std::unordered_set<std::uint64_t> seen;
  std::erase_if(sizes, [&](std::uint64_t size) { return !seen.insert(size).second; });
  return sizes;
}

Result<std::int64_t> parse_duration_ns(std::string_view text) {
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view unit = error == std::errc{} ? text.substr(end - text.data()) : "?";
  double factor = unit.empty() || unit == "s"    ? 1e9
                  : unit == "ms"                 ? 1e6
                  : unit == "us"                 ? 1e3
                  : unit == "m" || unit == "min" ? 60e9
                  : unit == "h"                  ? 3600e9
                                                 : 0;
  if (factor == 0 || !(number > 0) || number * factor > 9e18)
    return fail(Error{Errc::invalid_argument,
                      fmt::format("'{}' is not a duration above zero", text),
                      "write a number with us, ms, s, m or h, such as 90s"});
  return static_cast<std::int64_t>(number * factor);
}

std::string format_duration(double nanoseconds) {
  if (nanoseconds < 0)
    return "-" + format_duration(-nanoseconds);
  if (nanoseconds < 1e3)
    return fmt::format("{:.0f} ns", nanoseconds);
  if (nanoseconds < 1e6)
    return fmt::format("{:.1f} us", nanoseconds / 1e3);
  if (nanoseconds < 1e9)
    return fmt::format("{:.2f} ms", nanoseconds / 1e6);
  double seconds = nanoseconds / 1e9;
  if (seconds < 60)
    return fmt::format("{:.1f} s", seconds);
  auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 3600)
    return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

} // namespace ncclprobe::base
