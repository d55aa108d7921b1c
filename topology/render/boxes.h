// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "topology/outline.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

// The places of a picture's boxes. All GPUs of a host form one row, with only the borders of
// enclosing boxes below, so NVLinks can leave them downwards without crossing text or another
// GPU.
namespace ncclprobe::topology {

// Pixels.
inline constexpr double k_line = 14;
inline constexpr double k_pad = 10;

struct Box {
  const OutlineNode* node = nullptr;
  std::vector<std::string> title; // lines
  std::vector<std::string> details;
  double x = 0; // of the picture
  double y = 0;
  double width = 0;
  double height = 0;
  std::vector<Box> above; // boxes without a GPU, in rows
  std::vector<Box> row;   // boxes with GPUs, or the GPUs, side by side

  double bottom() const { return y + height; }
};

// Minimum widths of boxes, by OutlineNode::id.
using LeastWidths = std::map<std::string, double>;

// The box of a host with all boxes in it; its upper left corner is at (x, y).
Box place_boxes(const OutlineNode& host, double x, double y, const LeastWidths& least_widths);

// An upper bound: text is not measured, but no usual font has wider letters on average.
double text_width(std::string_view text);
double title_width(std::string_view text);

// Lines of at most that many letters, split at blanks; a longer word stays whole.
std::vector<std::string> wrapped(std::string_view text, std::size_t letters);
// As many letters as fit.
std::size_t letters_in(double width);

} // namespace ncclprobe::topology
