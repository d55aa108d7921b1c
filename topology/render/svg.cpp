// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/render/svg.h"

#include "topology/render/outline.h"
#include "topology/render/palette.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace ncclprobe::topology {

namespace {

using Kind = OutlineNode::Kind;

// Pixels. Text is not measured: a letter of the sizes used here is this wide at most on average.
constexpr double k_letter = 6.3;
constexpr double k_title_letter = 7.2;
constexpr double k_line = 14;
constexpr double k_pad = 10;
constexpr double k_widest_row = 2000;

std::string escaped(std::string_view text) {
  std::string result;
  for (char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '"')
      result += "&quot;";
    else
      result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return result;
}

struct Box {
  const OutlineNode* node = nullptr;
  double x = 0; // relative to the box around it
  double y = 0;
  double width = 0;
  double height = 0;
  std::vector<Box> inside;
};

bool is_leaf(const OutlineNode& node) {
  return node.kind == Kind::gpu || node.kind == Kind::nic;
}

// What stands under the title: a leaf has a line for each detail, a box around others one for all.
std::vector<std::string> detail_lines(const OutlineNode& node) {
  if (is_leaf(node) || node.details.empty())
    return node.details;
  return {fmt::format("{}", fmt::join(node.details, ", "))};
}

double text_width(const OutlineNode& node) {
  double width = static_cast<double>(node.title.size()) * k_title_letter;
  for (const std::string& line : detail_lines(node))
    width = std::max(width, static_cast<double>(line.size()) * k_letter);
  return width + 2 * k_pad;
}

Box box_of(const OutlineNode& node);

// Side by side from `top` on, in rows of a sane width. The bottom of the last row is given back.
double place_in_rows(std::vector<Box>& boxes, double top, double& width) {
  double x = k_pad;
  double row_bottom = top;
  for (Box& box : boxes) {
    if (x > k_pad && x + box.width > k_widest_row) {
      x = k_pad;
      top = row_bottom + k_pad;
    }
    box.x = x;
    box.y = top;
    x += box.width + k_pad;
    width = std::max(width, x);
    row_bottom = std::max(row_bottom, top + box.height);
  }
  return row_bottom;
}

// NICs stand above the rest: the GPUs' lower edges stay free for NVLinks.
Box box_of(const OutlineNode& node) {
  Box box;
  box.node = &node;
  box.width = text_width(node);
  double bottom = k_pad + k_line + static_cast<double>(detail_lines(node).size()) * k_line;
  std::vector<Box> nics;
  std::vector<Box> others;
  for (const OutlineNode& child : node.children)
    (child.kind == Kind::nic ? nics : others).push_back(box_of(child));
  for (std::vector<Box>* row : {&nics, &others}) {
    if (row->empty())
      continue;
    bottom = place_in_rows(*row, bottom + k_pad / 2, box.width) + k_pad / 2;
    box.inside.insert(box.inside.end(), row->begin(), row->end());
  }
  box.height = bottom + k_pad / 2;
  return box;
}

struct Spot { // the lower edge of a GPU
  double left = 0;
  double right = 0;
  double bottom = 0;
};

class Picture {
public:
  void host(const Outline& outline) {
    gpus_.clear();
    Box box = box_of(outline.root);
    draw(box, k_pad, bottom_);
    width_ = std::max(width_, box.width + 2 * k_pad);
    double below = bottom_ + box.height;
    double links_bottom = draw_nvlinks(outline, below, box.width);
    bottom_ = std::max(below, links_bottom) + k_pad;
    for (const std::string& remark : outline.remarks)
      note("Note: " + remark);
    if (!outline.sources.empty())
      note("Sources: " + outline.sources);
    bottom_ += 2 * k_pad;
  }

  std::string take() const {
    return fmt::format(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
               "viewBox=\"0 0 {0:.0f} {1:.0f}\">\n"
               "<style>text{{font-family:Helvetica,Arial,sans-serif;font-size:11px;fill:#222}}"
               ".title{{font-size:12px;font-weight:bold}}.note{{font-style:italic}}"
               ".link{{fill:none;stroke:{2}}}.count{{fill:{2};text-anchor:middle;"
               "font-weight:bold;stroke:#fff;stroke-width:3px;paint-order:stroke}}</style>\n"
               "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
               width_, bottom_, k_nvlink_colour) +
           boxes_ + links_ + counts_ + "</svg>\n";
  }

private:
  void note(const std::string& words) {
    text(k_pad, bottom_ += k_line, "note", words);
    width_ = std::max(width_, static_cast<double>(words.size()) * k_letter + 2 * k_pad);
  }

  void draw(const Box& box, double x, double y) {
    boxes_ += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
                          "rx=\"5\" fill=\"{}\" stroke=\"{}\"/>\n",
                          x, y, box.width, box.height, outline_fill(box.node->kind),
                          outline_stroke(box.node->kind));
    double line = y + k_pad / 2 + k_line;
    text(x + k_pad, line, "title", box.node->title);
    for (const std::string& detail : detail_lines(*box.node))
      text(x + k_pad, line += k_line, "", detail);
    if (box.node->kind == Kind::gpu)
      gpus_[box.node->id] = {x, x + box.width, y + box.height};
    for (const Box& inner : box.inside)
      draw(inner, x + inner.x, y + inner.y);
  }

  void text(double x, double y, std::string_view css_class, const std::string& words) {
    std::string attribute = css_class.empty() ? "" : fmt::format(" class=\"{}\"", css_class);
    boxes_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>\n", x, y, attribute,
                          escaped(words));
  }

  // Where a bundle leaves its GPU: several share the lower edge evenly.
  struct Ends {
    std::map<int, int> total;
    std::map<int, int> used;
  };
  double leave(Ends& ends, int gpu) {
    const Spot& spot = gpus_[fmt::format("gpu{}", gpu)];
    int place = ++ends.used[gpu];
    return spot.left + (spot.right - spot.left) * place / (ends.total[gpu] + 1);
  }

  double draw_nvlinks(const Outline& outline, double below, double width) {
    Ends ends;
    double lowest = below;
    double switch_top = below + 40;
    bool switches = false;
    for (const NvlinkBundle& bundle : outline.nvlinks) {
      ++ends.total[bundle.gpu];
      if (bundle.peer)
        ++ends.total[*bundle.peer];
      switches = switches || !bundle.peer;
    }
    for (const NvlinkBundle& bundle : outline.nvlinks) {
      double from_x = leave(ends, bundle.gpu);
      double from_y = gpus_[fmt::format("gpu{}", bundle.gpu)].bottom;
      if (!bundle.peer) {
        links_ += fmt::format("<path class=\"link\" stroke-width=\"2.5\" d=\"M{0:.1f} {1:.1f}"
                              "V{2:.1f}\"/>\n",
                              from_x, from_y, switch_top);
        count(from_x, below + 24, bundle.links);
        continue;
      }
      double to_x = leave(ends, *bundle.peer);
      double to_y = gpus_[fmt::format("gpu{}", *bundle.peer)].bottom;
      double depth = below + 30 + std::abs(to_x - from_x) * 0.1;
      links_ += fmt::format("<path class=\"link\" stroke-width=\"{:.1f}\" d=\"M{:.1f} {:.1f}"
                            "C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}\"/>\n",
                            std::min(1 + bundle.links * 0.6, 4.0), from_x, from_y, from_x, depth,
                            to_x, depth, to_x, to_y);
      double curve_bottom = 0.125 * from_y + 0.75 * depth + 0.125 * to_y;
      count((from_x + to_x) / 2, curve_bottom + 4, bundle.links);
      lowest = std::max(lowest, curve_bottom + 8);
    }
    if (!switches)
      return lowest;
    constexpr double k_bar = 24;
    links_ += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\" rx=\"5\" "
                          "fill=\"{}\" stroke=\"{}\"/>\n<text class=\"title\" x=\"{:.1f}\" "
                          "y=\"{:.1f}\">NVSwitch</text>\n",
                          k_pad, switch_top, width, k_bar, outline_fill(Kind::nvswitch),
                          outline_stroke(Kind::nvswitch), 2 * k_pad, switch_top + 16);
    return std::max(lowest, switch_top + k_bar);
  }

  void count(double x, double y, int links) {
    links_ +=
        fmt::format("<text class=\"count\" x=\"{:.1f}\" y=\"{:.1f}\">NV{}</text>\n", x, y, links);
  }

  std::string boxes_;
  std::string links_; // drawn over the boxes
  std::string counts_;
  std::map<std::string, Spot> gpus_;
  double width_ = 0;
  double bottom_ = k_pad;
};

} // namespace

std::string render_svg(const Machine& machine) {
  Picture picture;
  for (std::size_t i = 0; i < machine.hosts.size(); ++i) {
    Outline outline = outline_of(machine.hosts[i], i);
    picture.host(outline);
  }
  return picture.take();
}

} // namespace ncclprobe::topology
