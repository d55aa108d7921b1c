// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/diagnosis/driver_event.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace ncclprobe::analysis {
namespace {

constexpr std::string_view k_driver_mark = "NVRM: ";
constexpr std::array<std::string_view, 4> k_beginnings = {
    "The NVIDIA ", "API mismatch", "This can occur when", "This PCI I/O region"};
// Lines of other parts of the kernel may come between.
constexpr std::uint64_t k_most_between = 3;
constexpr std::size_t k_most_text = 600;

std::string_view without_end_blanks(std::string_view text) {
  std::size_t last = text.find_last_not_of(" \t\r");
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

// The driver's text in the line; empty if the driver did not write it.
std::string_view words_of(std::string_view body) {
  std::size_t at = body.find(k_driver_mark);
  if (at == std::string_view::npos)
    return {};
  body.remove_prefix(at + k_driver_mark.size());
  body.remove_prefix(std::min(body.find_first_not_of(' '), body.size()));
  return without_end_blanks(body);
}

bool begins_event(std::string_view words) {
  return std::ranges::any_of(k_beginnings,
                             [&](std::string_view one) { return words.starts_with(one); });
}

// A complete line about a GPU is not a continuation.
bool stands_alone(std::string_view words) {
  return words.starts_with("Xid ") || words.starts_with("GPU ") || words.starts_with("loading ");
}

} // namespace

bool DriverEvent::keep(const LogLine& line, std::uint64_t number) {
  std::string_view words = words_of(line.body);
  if (words.empty() || stands_alone(words))
    return false;
  if (!kept_) {
    if (!begins_event(words))
      return false;
    kept_ = Whole{line, std::string(k_driver_mark) + std::string(words), number};
    kept_->place.body = {};
  } else
    kept_->text += " " + std::string(words);
  last_number_ = number;
  complete_ = words.ends_with('.') || kept_->text.size() > k_most_text;
  return true;
}

bool DriverEvent::is_over(const LogLine& line, std::uint64_t number) const {
  return kept_ && (complete_ || number > last_number_ + 1 + k_most_between ||
                   begins_event(words_of(line.body)));
}

std::optional<DriverEvent::Whole> DriverEvent::take() {
  complete_ = false;
  return std::exchange(kept_, std::nullopt);
}

} // namespace ncclprobe::analysis
