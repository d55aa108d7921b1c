// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/text_layout.h"

#include "base/printable.h"
#include "base/units.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace ncclprobe::base {
namespace {

constexpr int k_least_columns = 4; // of a line: "a..."

// "a...z" with this many bytes, or slightly fewer to avoid splitting a character.
std::string shortened(const std::string& word, std::size_t width) {
  auto is_inside = [&](std::size_t at) { return (word[at] & 0xC0) == 0x80; };
  const std::size_t tail_bytes = (width - 3) / 2;
  std::size_t head = width - 3 - tail_bytes;
  std::size_t tail = word.size() - tail_bytes;
  while (head > 0 && is_inside(head))
    --head;
  while (tail < word.size() && is_inside(tail))
    ++tail;
  return word.substr(0, head) + "..." + word.substr(tail);
}

} // namespace

std::vector<std::string> wrap(std::string_view unsafe_text, int columns) {
  const std::string safe_text = printable(unsafe_text);
  std::string_view text = safe_text;
  auto width = static_cast<std::size_t>(std::max(columns, k_least_columns));
  std::vector<std::string> lines(1);
  while (!text.empty()) {
    auto blank = text.find(' ');
    std::string word(text.substr(0, blank));
    text.remove_prefix(blank == std::string_view::npos ? text.size() : blank + 1);
    if (word.empty())
      continue;
    if (word.size() > width) {
      word = shortened(word, width);
    }
    std::string& line = lines.back();
    if (line.empty())
      line = word;
    else if (line.size() + 1 + word.size() <= width)
      line += " " + word;
    else
      lines.push_back(word);
  }
  return lines;
}

std::string paragraph(std::string_view title, std::string_view text, int hang, int columns) {
  std::string out;
  for (const std::string& line : wrap(text, columns - hang)) {
    std::string row = fmt::format("{:<{}}{}", out.empty() ? title : "", hang, line);
    row.erase(row.find_last_not_of(' ') + 1);
    out += row + "\n";
  }
  return out;
}

std::vector<std::string> last_lines(std::string_view text, std::size_t count) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    auto end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (!line.empty() && line.back() == '\r')
      line.remove_suffix(1);
    if (line.find_first_not_of(" \t") != std::string_view::npos)
      lines.push_back(printable(line));
  }
  if (lines.size() > count)
    lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(count));
  return lines;
}

std::string format_size_range(const std::set<std::uint64_t>& sizes) {
  if (sizes.empty())
    return "";
  std::string first = format_bytes(*sizes.begin());
  if (sizes.size() == 1)
    return first;
  return fmt::format("{}-{} ({} sizes)", first, format_bytes(*sizes.rbegin()), sizes.size());
}

std::string grouped(std::uint64_t number) {
  const std::string digits = std::to_string(number);
  std::string out;
  for (std::size_t at = 0; at < digits.size(); ++at) {
    if (at > 0 && (digits.size() - at) % 3 == 0)
      out += ',';
    out += digits[at];
  }
  return out;
}

std::string format_number(std::optional<double> value) {
  if (!value)
    return "-";
  return *value > 0 && *value < 0.01 ? fmt::format("{:.4f}", *value)
                                     : fmt::format("{:.2f}", *value);
}

std::string size_text(std::uint64_t bytes) {
  std::string exact = format_bytes(bytes);
  const auto digits = exact.find_first_not_of("0123456789");
  if (std::min(digits, exact.size()) <= 4)
    return exact;
  auto value = static_cast<double>(bytes);
  std::string_view units = "KMGT";
  for (value /= 1024; value >= 1000 && units.size() > 1; value /= 1024)
    units.remove_prefix(1);
  const std::string rounded = fmt::format("{:.4g}{}", value, units.front());
  return rounded.find('.') == std::string::npos ? exact : rounded; // not to pass for a round size
}

std::string ratio_text(double ratio) {
  int digits = 2;
  const double difference = std::abs(ratio - 1);
  while (digits < 4 && difference >= 0.5e-4 && difference < 0.5 * std::pow(10, -digits))
    ++digits;
  return fmt::format("{:.{}f}x", ratio, digits);
}

std::string ms_text(double ns) {
  const double ms = ns / 1e6;
  return ms < 0.001 && ms > 0 ? "<.001"
         : ms < 1             ? fmt::format("{:.3f}", ms)
         : ms < 100           ? fmt::format("{:.2f}", ms)
                              : fmt::format("{:.1f}", ms);
}

std::string percent_above(double ratio) {
  double percent = 100 * (ratio - 1);
  return percent < 10 ? fmt::format("{:.2g}%", percent) : fmt::format("{:.0f}%", percent);
}

std::string count_of(std::size_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

} // namespace ncclprobe::base
