// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/render/boxes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace ncclprobe::topology {

namespace {

using Kind = OutlineNode::Kind;

constexpr double k_letter = 6.8;       // at 11 pixels
constexpr double k_title_letter = 8.0; // bold at 12 pixels
constexpr std::size_t k_leaf_letters = 26;
// For hosts without GPUs: adapters form rows of about this width.
constexpr double k_usual_width = 420;

// Counts only the first byte of each UTF-8 character.
std::size_t letters_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

bool is_leaf(const OutlineNode& node) {
  return node.kind == Kind::gpu || node.kind == Kind::nic;
}

bool holds_gpu(const OutlineNode& node) {
  return node.kind == Kind::gpu || std::ranges::any_of(node.children, holds_gpu);
}

// "GPU0 NVIDIA H200"; a long name goes below the number.
std::vector<std::string> leaf_title(const std::string& title) {
  std::size_t number = std::min(title.find(' '), title.size());
  if (letters_of(title) <= k_leaf_letters || number == title.size())
    return {title};
  std::vector<std::string> lines = wrapped(title.substr(number), k_leaf_letters);
  lines.insert(lines.begin(), title.substr(0, number));
  return lines;
}

double head_height(const Box& box) {
  constexpr double k_below_text = 3; // the letters' part below the baseline
  return k_pad + k_below_text + k_line * static_cast<double>(box.title.size() + box.details.size());
}

double head_width(const Box& box) {
  double width = 0;
  for (const std::string& line : box.title)
    width = std::max(width, title_width(line));
  for (const std::string& line : box.details)
    width = std::max(width, text_width(line));
  return width + 2 * k_pad;
}

// With a margin at either end.
double row_width(const std::vector<Box>& row) {
  double width = k_pad;
  for (const Box& box : row)
    width += box.width + k_pad;
  return width;
}

double row_height(const std::vector<Box>& row) {
  double height = 0;
  for (const Box& box : row)
    height = std::max(height, box.height);
  return height;
}

// Places the boxes from (x, y) on, row by row within `width`; returns their lower edge.
double place_above(std::vector<Box>& boxes, double x, double y, double width) {
  double left = x + k_pad;
  double right = x + width - k_pad;
  double at = left;
  double bottom = y;
  for (Box& box : boxes) {
    if (at > left && at + box.width > right + 0.5) {
      at = left;
      y = bottom + k_pad;
    }
    box.x = at;
    box.y = y;
    at += box.width + k_pad;
    bottom = std::max(bottom, y + box.height);
  }
  return bottom;
}

// Sizes are computed from the leaves up, then places from the root down.
Box measured(const OutlineNode& node, const LeastWidths& least_widths) {
  Box box;
  box.node = &node;
  for (const OutlineNode& child : node.children)
    (holds_gpu(child) ? box.row : box.above).push_back(measured(child, least_widths));
  double inside = box.row.empty() ? 0 : row_width(box.row);
  if (is_leaf(node)) {
    box.title = leaf_title(node.title);
    for (const std::string& detail : node.details)
      for (std::string& line : wrapped(detail, k_leaf_letters))
        box.details.push_back(std::move(line));
  } else {
    double width = std::max(inside, k_usual_width) - 2 * k_pad;
    box.title = wrapped(node.title, letters_in(width * k_letter / k_title_letter));
    if (!node.details.empty())
      box.details = wrapped(fmt::format("{}", fmt::join(node.details, ", ")), letters_in(width));
  }
  box.width = std::max(head_width(box), inside);
  if (auto least = least_widths.find(node.id); least != least_widths.end())
    box.width = std::max(box.width, least->second);
  if (!box.above.empty()) {
    double all = row_width(box.above);
    double widest = std::ranges::max(box.above, {}, &Box::width).width + 2 * k_pad;
    box.width = std::max({box.width, widest, box.row.empty() ? std::min(all, k_usual_width) : 0});
  }
  box.height = head_height(box);
  if (!box.above.empty())
    box.height = place_above(box.above, 0, box.height, box.width) + k_pad;
  if (!box.row.empty())
    box.height += row_height(box.row) + k_pad;
  return box;
}

// The row of GPUs is at the bottom and as wide as its box; boxes that contain GPUs extend up to the
// box above.
void place(Box& box, double x, double y) {
  box.x = x;
  box.y = y;
  double top = y + head_height(box);
  if (!box.above.empty())
    top = place_above(box.above, x, top, box.width) + k_pad;
  for (Box& inner : box.above)
    place(inner, inner.x, inner.y);
  double at = x + k_pad;
  double spare =
      box.row.empty() ? 0 : (box.width - row_width(box.row)) / static_cast<double>(box.row.size());
  double lowest = box.bottom() - k_pad;
  double leaf_height = 0;
  for (const Box& inner : box.row)
    if (is_leaf(*inner.node))
      leaf_height = std::max(leaf_height, inner.height);
  for (Box& inner : box.row) {
    inner.width += spare;
    inner.height = is_leaf(*inner.node) ? leaf_height : lowest - top;
    place(inner, at, lowest - inner.height);
    at += inner.width + k_pad;
  }
}

} // namespace

Box place_boxes(const OutlineNode& host, double x, double y, const LeastWidths& least_widths) {
  Box box = measured(host, least_widths);
  place(box, x, y);
  return box;
}

double text_width(std::string_view text) {
  return static_cast<double>(letters_of(text)) * k_letter;
}

double title_width(std::string_view text) {
  return static_cast<double>(letters_of(text)) * k_title_letter;
}

std::vector<std::string> wrapped(std::string_view text, std::size_t letters) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    std::size_t end = std::min(text.find(' '), text.size());
    std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty())
      continue;
    if (!lines.empty() && letters_of(lines.back()) + 1 + letters_of(word) <= letters)
      lines.back().append(" ").append(word);
    else
      lines.emplace_back(word);
  }
  return lines;
}

std::size_t letters_in(double width) {
  return static_cast<std::size_t>(std::max(width, k_letter) / k_letter);
}

} // namespace ncclprobe::topology
