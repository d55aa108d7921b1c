// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/diagnosis/literal_scanner.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <utility>

namespace ncclprobe::analysis {
namespace {

struct Node {
  std::vector<std::pair<std::uint8_t, std::uint32_t>> children; // by column
  std::uint32_t fallback = 0;
  std::vector<int> words; // that end here, those of the fallbacks too

  // 0, the root, is nobody's child.
  std::uint32_t child(std::uint8_t column) const {
    for (auto [key, node] : children)
      if (key == column)
        return node;
    return 0;
  }
};

// Where a node goes on: its own child, or that of the nearest fallback that has one.
std::uint32_t next_of(const std::vector<Node>& nodes, std::uint32_t at, std::uint8_t column) {
  while (true) {
    std::uint32_t child = nodes[at].child(column);
    if (child != 0 || at == 0)
      return child;
    at = nodes[at].fallback;
  }
}

} // namespace

LiteralScanner::LiteralScanner(const std::vector<std::string>& words) {
  // Column 0 is every character that is in no word.
  for (const std::string& word : words)
    for (unsigned char c : word)
      if (column_[c] == 0)
        column_[c] = static_cast<std::uint8_t>(columns_++);
  for (int c = 'A'; c <= 'Z'; ++c)
    column_[static_cast<std::size_t>(c)] = column_[static_cast<std::size_t>(std::tolower(c))];

  std::vector<Node> nodes(1);
  for (std::size_t number = 0; number < words.size(); ++number) {
    std::uint32_t at = 0;
    for (unsigned char c : words[number]) {
      std::uint32_t child = nodes[at].child(column_[c]);
      if (child == 0) {
        child = static_cast<std::uint32_t>(nodes.size());
        nodes[at].children.emplace_back(column_[c], child);
        nodes.emplace_back();
      }
      at = child;
    }
    nodes[at].words.push_back(static_cast<int>(number));
  }

  // Breadth first, so that a shorter state is complete before others fall back to it.
  std::vector<std::uint32_t> breadth_first = {0};
  for (std::size_t i = 0; i < breadth_first.size(); ++i) {
    std::uint32_t at = breadth_first[i];
    Node& node = nodes[at];
    if (at != 0) {
      const std::vector<int>& more = nodes[node.fallback].words;
      node.words.insert(node.words.end(), more.begin(), more.end());
    }
    for (auto [column, child] : node.children) {
      nodes[child].fallback = at == 0 ? 0 : next_of(nodes, node.fallback, column);
      breadth_first.push_back(child);
    }
  }

  std::vector<std::uint32_t> order = breadth_first;
  auto first_hit = std::stable_partition(
      order.begin(), order.end(), [&](std::uint32_t node) { return nodes[node].words.empty(); });
  first_hit_ = static_cast<std::uint32_t>(
      static_cast<std::size_t>(std::distance(order.begin(), first_hit)) * columns_);
  std::vector<std::uint32_t> row(nodes.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    row[order[i]] = static_cast<std::uint32_t>(i * columns_);
  for (auto node = first_hit; node != order.end(); ++node)
    words_at_.push_back(std::move(nodes[*node].words));

  next_.resize(nodes.size() * columns_);
  auto row_at = [&](std::uint32_t node) {
    return next_.begin() + static_cast<std::ptrdiff_t>(row[node]);
  };
  for (std::uint32_t at : breadth_first) {
    const Node& node = nodes[at];
    if (at != 0)
      std::copy_n(row_at(node.fallback), columns_, row_at(at));
    for (auto [column, child] : node.children)
      row_at(at)[column] = row[child];
  }
}

std::size_t LiteralScanner::find(std::string_view text) const {
  std::uint32_t state = 0; // the root has no word, so it stays the first
  const std::uint32_t* next = next_.data();
  for (std::size_t i = 0; i < text.size(); ++i) {
    state = next[state + column_[static_cast<unsigned char>(text[i])]];
    if (state >= first_hit_)
      return i + 1;
  }
  return std::string_view::npos;
}

std::vector<int> LiteralScanner::all_in(std::string_view text) const {
  std::vector<int> found;
  std::uint32_t state = 0;
  for (char c : text) {
    state = next_[state + column_[static_cast<unsigned char>(c)]];
    if (state >= first_hit_) {
      const auto& words = words_at_[(state - first_hit_) / columns_];
      found.insert(found.end(), words.begin(), words.end());
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

} // namespace ncclprobe::analysis
