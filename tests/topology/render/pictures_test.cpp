// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "support/golden.h"
#include "topology/example_machines.h"
#include "topology/machine_files.h"
#include "topology/render/dot.h"
#include "topology/render/svg.h"
#include "topology/render/tree.h"

#include <pugixml.hpp>

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
    for (const Gpu& gpu : machine.hosts[0].gpus)
      CHECK(occurrences(svg, "class=\"title\">GPU" + std::to_string(gpu.index) +
                                 (gpu.name ? " " : "<")) == 1);
  }
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
