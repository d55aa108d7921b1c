// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/proof/nccl_tuning.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>

namespace ncclprobe::analysis {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// The cells of "a | b | c |", without empty ones.
std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  while (!line.empty()) {
    const std::size_t bar = std::min(line.find('|'), line.size());
    if (auto cell = trimmed(line.substr(0, bar)); !cell.empty())
      cells.push_back(cell);
    line.remove_prefix(std::min(bar + 1, line.size()));
  }
  return cells;
}

std::string capitals(std::string_view text) {
  std::string out(text);
  for (char& one : out)
    one = static_cast<char>(std::toupper(static_cast<unsigned char>(one)));
  return out;
}

std::vector<std::string> names_in(const std::vector<std::string_view>& cells) {
  std::vector<std::string> names;
  for (std::size_t i = 1; i < cells.size(); ++i)
    names.push_back(capitals(cells[i]));
  return names;
}

template <typename Number>
std::optional<Number> number_in(std::string_view text) {
  text = trimmed(text);
  Number value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} ? std::optional(value) : std::nullopt;
}

int number_after(std::string_view words, std::string_view mark) {
  const std::size_t at = words.find(mark);
  return at == std::string_view::npos ? 0
                                      : number_in<int>(words.substr(at + mark.size())).value_or(0);
}

bool is_function(std::string_view name) {
  constexpr std::array<std::string_view, 5> k_functions{"Broadcast", "Reduce", "AllGather",
                                                        "ReduceScatter", "AllReduce"};
  return std::ranges::find(k_functions, name) != k_functions.end();
}

} // namespace

void TuningReader::read(std::string_view words) {
  if (words.starts_with("comm ") && words.find(" nRanks ") != std::string_view::npos) {
    ranks_ = number_after(words, " nRanks ");
    nodes_ = number_after(words, " nNodes ");
    is_new_ = true;
    return;
  }
  if (words.find(" coll channels,") != std::string_view::npos && !is_new_) {
    tables_.back().channels = number_in<int>(words.substr(0, words.find(' '))).value_or(0);
    return;
  }
  if (words.find('|') == std::string_view::npos)
    return;
  const std::vector<std::string_view> cells = cells_of(words);
  if (cells.size() < 2)
    return;
  if (cells.front() == "Algorithm") {
    algorithms_ = names_in(cells);
    if (is_new_)
      tables_.push_back({ranks_, nodes_, {}, 0});
    is_new_ = false;
  } else if (cells.front() == "Protocol") {
    protocols_ = names_in(cells);
  } else if (is_function(cells.front()) && !tables_.empty() && !algorithms_.empty()) {
    // The last block has protocols for more algorithms than exist.
    const std::size_t each = (cells.size() - 1) / algorithms_.size();
    if (each == 0 || each * algorithms_.size() != cells.size() - 1 || protocols_.size() < each)
      return;
    for (std::size_t i = 0; i + 1 < cells.size(); ++i) {
      const std::string_view cell = cells[i + 1];
      const std::size_t slash = cell.find('/');
      if (slash == std::string_view::npos)
        continue;
      auto latency_us = number_in<double>(cell.substr(0, slash));
      auto gb_per_s = number_in<double>(cell.substr(slash + 1));
      if (latency_us && gb_per_s && *gb_per_s > 0)
        tables_.back().algorithms.push_back({std::string(cells.front()), algorithms_[i / each],
                                             protocols_[i % each], *latency_us, *gb_per_s});
    }
  }
}

TunedTime tuned_time(const TunedAlgorithm& tuned, std::uint64_t bytes, int nodes) {
  constexpr std::uint64_t k_corrected_bytes = std::uint64_t{512} << 20;
  TunedTime out{tuned.latency_us + static_cast<double>(bytes) / (1000 * tuned.gb_per_s), true};
  if (tuned.function == "AllReduce")
    out.is_whole = tuned.algorithm == "RING"
                       ? tuned.protocol != "SIMPLE" || nodes <= 1
                       : tuned.algorithm != "TREE" || bytes >= k_corrected_bytes;
  return out;
}

} // namespace ncclprobe::analysis
