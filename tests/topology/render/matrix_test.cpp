// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "machine/source_text.h"

#include "base/text_files.h"
#include "support/catch.h"
#include "support/golden.h"
#include "topology/machine_files.h"
#include "topology/read/smi_matrix.h"
#include "topology/render/matrix.h"

#include <algorithm>
#include <set>
#include <sstream>

using namespace ncclprobe;
using namespace ncclprobe::topology;
using namespace ncclprobe::topology_test;

TEST_CASE("matrices read as agreed") {
  for (const char* name : {"dgx-a100", "dgx1-v100", "four-t4", "no-gpu", "one-gpu", "two-h200-vm"})
    support::check_golden(std::string("topology-") + name + ".matrix.txt",
                          render_matrix(read_machine(std::string(name) + ".xml"), Legend::no));
  support::check_golden("topology-switches.matrix.txt",
                        render_matrix(read_machine("switches-hwloc.xml"), Legend::yes));
}

TEST_CASE("a matrix of nvidia-smi is printed with the same cells") {
  std::string recorded = machine_text("eight-h200-vm.topo-m.txt");

  std::string printed = render_matrix(read_machine("eight-h200-vm.topo-m.txt"), Legend::no);

  auto theirs = plain_lines(recorded);
  auto ours = plain_lines(printed);
  for (std::size_t line = 1; line <= 8; ++line) {
    auto expected = base::words_of(theirs[line]);
    expected.pop_back(); // "GPU NUMA ID", for GPUs whose memory is a NUMA node
    CHECK(base::words_of(ours[line]) == expected);
  }
}

TEST_CASE("a matrix is read back as it was printed") {
  for (const char* name : {"dgx-a100.xml", "dgx1-v100.xml", "four-t4.xml", "switches-hwloc.xml"}) {
    Machine machine = read_machine(name);

    auto again = read_smi_matrix(render_matrix(machine, Legend::yes), name);

    INFO(name << ": " << (again ? "" : again.error().text()));
    REQUIRE(again);
    CHECK(labels(*again) == labels(machine));
    CHECK(again->hosts[0].nics.back().name == machine.hosts[0].nics.back().name);
  }
}

TEST_CASE("a matrix that is wider than the window loses no column") {
  const Machine machine = read_machine("dgx-a100.xml");
  const auto words = [](const std::string& text) {
    std::multiset<std::string> all;
    std::istringstream in(text);
    for (std::string word; in >> word;)
      all.insert(word);
    return all;
  };
  const std::string whole = render_matrix(machine, Legend::no);

  const std::string narrow = render_matrix(machine, Legend::no, 80);

  REQUIRE(whole.find('\n') > 80);
  for (const std::string& line : plain_lines(narrow.substr(0, narrow.find("NIC Legend"))))
    CHECK(line.size() <= 80);
  const auto all = words(whole), shown = words(narrow);
  CHECK(std::ranges::includes(shown, all));
  CHECK(shown.size() > all.size()); // the names of the rows are repeated
}

TEST_CASE("hosts have a matrix each, under their name") {
  Machine machine = read_machine("one-gpu.xml");
  machine.hosts.push_back(machine.hosts[0]);
  machine.hosts[1].name = Fact<std::string>("node1", Source::sysfs);

  std::string text = render_matrix(machine, Legend::no);

  CHECK_THAT(text, ContainsSubstring("Host 0\n"));
  CHECK_THAT(text, ContainsSubstring("\nHost node1\n"));
}
