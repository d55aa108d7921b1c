// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/render/tree.h"

#include "topology/outline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ncclprobe::topology {

namespace {

struct Strokes {
  const char* branch; // before a child that is not the last
  const char* corner; // before the last one
  const char* bar;    // below a branch
};
constexpr Strokes k_ascii{"|- ", "`- ", "|  "};
constexpr Strokes k_utf8{"├─ ", "└─ ", "│  "};

void add_line(std::string& out, const OutlineNode& node) {
  out += node.title;
  if (!node.details.empty())
    out += fmt::format("  [{}]", fmt::join(node.details, ", "));
  out += '\n';
}

void add_children(std::string& out, const OutlineNode& node, const std::string& indent,
                  const Strokes& strokes) {
  for (const OutlineNode& child : node.children) {
    bool last = &child == &node.children.back();
    out += indent + (last ? strokes.corner : strokes.branch);
    add_line(out, child);
    add_children(out, child, indent + (last ? "   " : strokes.bar), strokes);
  }
}

std::string bundle_text(const NvlinkBundle& bundle) {
  std::string text = fmt::format("  GPU{} - {}: {} link{}", bundle.gpu,
                                 bundle.peer ? fmt::format("GPU{}", *bundle.peer) : "NVSwitch",
                                 bundle.links, bundle.links == 1 ? "" : "s");
  if (bundle.gb_per_s)
    text += fmt::format(", {:.6g} GB/s each way", *bundle.gb_per_s);
  return text + "\n";
}

} // namespace

std::string render_tree(const Machine& machine, Lines lines) {
  std::string out;
  for (std::size_t i = 0; i < machine.hosts.size(); ++i) {
    Outline outline = outline_of(machine.hosts[i], i);
    if (i > 0)
      out += '\n';
    add_line(out, outline.root);
    add_children(out, outline.root, "", lines == Lines::ascii ? k_ascii : k_utf8);
    if (!outline.nvlinks.empty())
      out += "NVLinks:\n";
    for (const NvlinkBundle& bundle : outline.nvlinks)
      out += bundle_text(bundle);
    for (const std::string& remark : outline.remarks)
      out += "Note: " + remark + "\n";
    if (!outline.sources.empty())
      out += "Sources: " + outline.sources + "\n";
  }
  return out;
}

} // namespace ncclprobe::topology
