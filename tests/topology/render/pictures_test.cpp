// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "support/golden.h"
#include "topology/example_machines.h"
#include "topology/machine_files.h"
#include "topology/read/smi_matrix.h"
#include "topology/render/dot.h"
#include "topology/render/palette.h"
#include "topology/render/svg.h"
#include "topology/render/tree.h"

#include <algorithm>
#include <pugixml.hpp>
#include <sstream>

using namespace ncclprobe;
using namespace ncclprobe::topology;
using namespace ncclprobe::topology_test;

namespace {

// Its name without what says the format.
std::string stem(const std::string& name) {
  std::string text = name.substr(0, name.rfind('.'));
  return text.ends_with("-hwloc") ? text.substr(0, text.size() - 6) : text;
}

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

Machine machine_of_matrix(const std::string& text) {
  auto machine = read_smi_matrix(text, "topo.txt");
  REQUIRE(machine);
  return *machine;
}

struct Line {
  double x1, y1, x2, y2; // from the left and from above
};
struct Area {
  std::string what;
  double left, top, right, bottom;
};
struct Drawing {
  std::vector<Line> lines;
  std::vector<Area> kept_free; // texts but the numbers of links, and GPUs
};

// The straight parts of "M10 20V30Q...H40Q...V20".
void add_lines(const std::string& path, std::vector<Line>& lines) {
  std::istringstream in(path);
  double x = 0;
  double y = 0;
  for (char command = 0; in >> command;) {
    double to_x = x;
    double to_y = y;
    double control = 0;
    if (command == 'H')
      in >> to_x;
    else if (command == 'V')
      in >> to_y;
    else if (command == 'Q')
      in >> control >> control >> to_x >> to_y;
    else
      in >> to_x >> to_y;
    if (command == 'H' || command == 'V')
      lines.push_back({std::min(x, to_x), std::min(y, to_y), std::max(x, to_x), std::max(y, to_y)});
    x = to_x;
    y = to_y;
  }
}

Drawing drawing_of(const std::string& svg) {
  pugi::xml_document document;
  REQUIRE(document.load_string(svg.c_str()));
  Drawing drawing;
  for (pugi::xml_node node : document.document_element().children()) {
    std::string kind = node.name();
    std::string css = node.attribute("class").value();
    double x = node.attribute("x").as_double();
    double y = node.attribute("y").as_double();
    if (kind == "path" && css == "link")
      add_lines(node.attribute("d").value(), drawing.lines);
    if (kind == "text" && css != "count") {
      std::string words = node.child_value();
      drawing.kept_free.push_back(
          {words, x, y - 10, x + 5.0 * static_cast<double>(words.size()), y});
    }
    if (kind == "rect" && node.attribute("fill").value() == outline_fill(OutlineNode::Kind::gpu))
      drawing.kept_free.push_back({"a GPU", x, y, x + node.attribute("width").as_double(),
                                   y + node.attribute("height").as_double()});
  }
  return drawing;
}

// More than that one ends at the other's edge.
bool meet(const Line& line, const Area& area) {
  constexpr double k_edge = 0.2; // of rounding
  return line.x2 > area.left + k_edge && line.x1 < area.right - k_edge &&
         line.y2 > area.top + k_edge && line.y1 < area.bottom - k_edge;
}

} // namespace

TEST_CASE("trees read as agreed") {
  for (const char* name : {"dgx-a100.xml", "dgx1-v100.xml", "four-t4.xml", "h200-vm.q.txt",
                           "no-gpu.xml", "switches-hwloc.xml", "two-h200-vm.xml"})
    support::check_golden("topology-" + stem(name) + ".tree.txt",
                          render_tree(read_machine(name), Lines::utf8));
  support::check_golden("topology-full.tree.txt", render_tree(full_machine(), Lines::ascii));
}

TEST_CASE("graphs for Graphviz read as agreed") {
  support::check_golden("topology-bridged-pair.dot", render_dot(read_machine("bridged-pair.xml")));
  support::check_golden("topology-two-h200-vm.dot", render_dot(read_machine("two-h200-vm.xml")));
}

TEST_CASE("every picture is well-formed and shows every GPU once") {
  for (const std::string& name : machine_names()) {
    Machine machine = read_machine(name);

    std::string svg = render_svg(machine);

    INFO(name);
    pugi::xml_document document;
    CHECK(document.load_string(svg.c_str()));
    for (const Gpu& gpu : machine.hosts[0].gpus) {
      std::string title = "class=\"title\">GPU" + std::to_string(gpu.index);
      CHECK(occurrences(svg, title + " ") + occurrences(svg, title + "<") == 1);
    }
  }
}

TEST_CASE("no line of a picture goes through a text or another GPU") {
  for (const std::string& name : machine_names()) {
    INFO(name);
    Drawing drawing = drawing_of(render_svg(read_machine(name)));
    for (const Line& line : drawing.lines)
      for (const Area& area : drawing.kept_free) {
        INFO("line " << line.x1 << "," << line.y1 << " to " << line.x2 << "," << line.y2 << " and "
                     << area.what);
        CHECK_FALSE(meet(line, area));
      }
  }
}

TEST_CASE("pictures draw the NVLinks that a matrix states") {
  Machine switched = read_machine("eight-h200-vm.topo-m.txt");
  Machine bridged = machine_of_matrix("\tGPU0\tGPU1\tGPU2\nGPU0\tX\tNV4\tSYS\n"
                                      "GPU1\tNV4\tX\tSYS\nGPU2\tSYS\tSYS\tX\n");

  CHECK(occurrences(render_svg(switched), ">NV18</text>") == 8);
  CHECK(occurrences(render_dot(switched), "label=\"NV18\"") == 8);
  CHECK(occurrences(render_tree(switched, Lines::ascii), " - NVSwitch: 18 links") == 8);
  CHECK_THAT(render_tree(switched, Lines::ascii), ContainsSubstring("NVSwitches are inferred"));
  CHECK(occurrences(render_svg(bridged), ">NV4</text>") == 1);
  CHECK(occurrences(render_dot(bridged), "label=\"NV4\"") == 1);
  CHECK_THAT(render_tree(bridged, Lines::ascii), ContainsSubstring("GPU0 - GPU1: 4 links"));
  CHECK_THAT(render_tree(bridged, Lines::ascii), !ContainsSubstring("NVLinks unknown"));
}

TEST_CASE("pictures read as agreed") {
  support::check_golden("topology-bridged-pair.svg", render_svg(read_machine("bridged-pair.xml")));
  support::check_golden("topology-two-h200-vm.svg", render_svg(read_machine("two-h200-vm.xml")));
}

TEST_CASE("names from devices cannot break out of a picture") {
  Machine machine = full_machine();
  machine.hosts[0].gpus[0].name = Fact<std::string>("<b> \"x\" & y\n", Source::synthetic);

  CHECK_THAT(render_svg(machine), ContainsSubstring("&lt;b&gt; &quot;x&quot; &amp; y"));
  CHECK_THAT(render_dot(machine), ContainsSubstring("<b> \\\"x\\\" & y "));
}
