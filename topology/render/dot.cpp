// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/render/dot.h"

#include "topology/outline.h"
#include "topology/render/palette.h"

#include <fmt/format.h>

namespace ncclprobe::topology {

namespace {

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result + "\"";
}

// \n separates lines of a label; Graphviz reads it itself.
std::string label_of(const OutlineNode& node) {
  std::string label = quoted(node.title);
  label.pop_back();
  for (const std::string& detail : node.details) {
    std::string line = quoted(detail);
    label += "\\n" + line.substr(1, line.size() - 2);
  }
  return label + "\"";
}

class DotWriter {
public:
  std::string take() { return "graph topology {\n" + heading() + out_ + "}\n"; }

  void host(const Outline& outline, std::size_t position) {
    prefix_ = fmt::format("h{}_", position);
    OutlineNode root = outline.root;
    root.details.insert(root.details.end(), outline.remarks.begin(), outline.remarks.end());
    if (!outline.sources.empty())
      root.details.push_back("Sources: " + outline.sources);
    out_ += fmt::format("  subgraph {} {{\n    label={}; style=rounded; color={};\n",
                        quoted("cluster_" + prefix_), label_of(root),
                        quoted(std::string(outline_stroke(OutlineNode::Kind::host))));
    // An invisible node keeps the NUMA nodes in order.
    out_ += fmt::format("    {} [style=invis, shape=point];\n", name_of(outline.root.id));
    for (const OutlineNode& child : outline.root.children) {
      add(child, "");
      out_ +=
          fmt::format("    {} -- {} [style=invis];\n", name_of(outline.root.id), name_of(child.id));
    }
    add_nvlinks(outline);
    out_ += "  }\n";
  }

private:
  static std::string heading() {
    return "  graph [fontname=\"Helvetica\", ordering=out, ranksep=0.5];\n"
           "  node [fontname=\"Helvetica\", fontsize=10, shape=box, style=\"rounded,filled\"];\n"
           "  edge [fontname=\"Helvetica\", fontsize=9, color=\"#7a7a7a\"];\n";
  }

  std::string name_of(const std::string& id) const { return quoted(prefix_ + id); }

  void add(const OutlineNode& node, const std::string& parent) {
    out_ += fmt::format("    {} [label={}, fillcolor={}, color={}];\n", name_of(node.id),
                        label_of(node), quoted(std::string(outline_fill(node.kind))),
                        quoted(std::string(outline_stroke(node.kind))));
    if (!parent.empty())
      out_ += fmt::format("    {} -- {};\n", name_of(parent), name_of(node.id));
    for (const OutlineNode& child : node.children)
      add(child, node.id);
  }

  void add_nvlinks(const Outline& outline) {
    bool switches = false;
    for (const NvlinkBundle& bundle : outline.nvlinks) {
      switches = switches || !bundle.peer;
      std::string gpu = name_of(fmt::format("gpu{}", bundle.gpu));
      std::string line = fmt::format("color={}, penwidth={}", quoted(std::string(k_nvlink_colour)),
                                     bundle.links > 4 ? 3 : 1 + bundle.links / 2.0);
      if (!bundle.peer) {
        out_ += fmt::format("    {} -- {} [label=\"NV{}\", {}];\n", gpu, name_of("nvswitch"),
                            bundle.links, line);
        continue;
      }
      // A separate label below both: lines between boxes of one row would overlap.
      std::string label = name_of(fmt::format("nv{}_{}", bundle.gpu, *bundle.peer));
      out_ += fmt::format("    {} [label=\"NV{}\", shape=plaintext, style=\"\", margin=0, width=0, "
                          "height=0];\n",
                          label, bundle.links);
      for (const std::string& end : {gpu, name_of(fmt::format("gpu{}", *bundle.peer))})
        out_ += fmt::format("    {} -- {} [{}];\n", end, label, line);
    }
    if (switches)
      out_ +=
          fmt::format("    {} [label=\"NVSwitch\", fillcolor={}, color={}];\n", name_of("nvswitch"),
                      quoted(std::string(outline_fill(OutlineNode::Kind::nvswitch))),
                      quoted(std::string(outline_stroke(OutlineNode::Kind::nvswitch))));
  }

  std::string out_;
  std::string prefix_; // of the host's names
};

} // namespace

std::string render_dot(const Machine& machine) {
  DotWriter writer;
  for (std::size_t i = 0; i < machine.hosts.size(); ++i)
    writer.host(outline_of(machine.hosts[i], i), i);
  return writer.take();
}

} // namespace ncclprobe::topology
