// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/diagnosis/literal_scanner.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <queue>

namespace ncclprobe::analysis {
namespace {

struct Node {
  std::map<std::uint8_t, std::size_t> children; // by column
  std::size_t fallback = 0;
  std::vector<int> words; // that end here, those of the fallbacks too
};

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
    std::size_t at = 0;
    for (unsigned char c : words[number]) {
      auto found = nodes[at].children.find(column_[c]);
      if (found != nodes[at].children.end()) {
        at = found->second;
        continue;
      }
      nodes[at].children[column_[c]] = nodes.size();
      at = nodes.size();
      nodes.emplace_back();
    }
    nodes[at].words.push_back(static_cast<int>(number));
  }

  // Breadth first, so that the row of a shorter state is complete before it is copied.
  std::vector<std::size_t> rows(nodes.size() * columns_, 0);
  std::queue<std::size_t> waiting;
  waiting.push(0);
  while (!waiting.empty()) {
    std::size_t at = waiting.front();
    waiting.pop();
    Node& node = nodes[at];
    const Node& fallback = nodes[node.fallback];
    if (at != 0)
      node.words.insert(node.words.end(), fallback.words.begin(), fallback.words.end());
    for (std::size_t column = 0; column < columns_; ++column) {
      std::size_t otherwise = at == 0 ? 0 : rows[node.fallback * columns_ + column];
      auto child = node.children.find(static_cast<std::uint8_t>(column));
      rows[at * columns_ + column] = child == node.children.end() ? otherwise : child->second;
      if (child != node.children.end()) {
        nodes[child->second].fallback = otherwise;
        waiting.push(child->second);
      }
    }
  }

  std::vector<std::size_t> order, place(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i)
    order.push_back(i);
  std::stable_partition(order.begin(), order.end(),
                        [&](std::size_t i) { return nodes[i].words.empty(); });
  for (std::size_t i = 0; i < order.size(); ++i)
    place[order[i]] = i;
  next_.resize(rows.size());
  std::size_t quiet = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    quiet += nodes[order[i]].words.empty();
    if (!nodes[order[i]].words.empty())
      words_at_.push_back(nodes[order[i]].words);
    for (std::size_t column = 0; column < columns_; ++column)
      next_[i * columns_ + column] =
          static_cast<std::uint32_t>(place[rows[order[i] * columns_ + column]] * columns_);
  }
  first_hit_ = static_cast<std::uint32_t>(quiet * columns_);
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
