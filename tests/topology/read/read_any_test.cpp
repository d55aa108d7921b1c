// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "topology/machine_files.h"
#include "topology/machine_json.h"
#include "topology/read/read_any.h"
#include "topology/read/source_text.h"

using namespace ncclprobe;
using namespace ncclprobe::topology;
using namespace ncclprobe::topology_test;

namespace {

FileFormat format_of(const std::string& text) {
  auto format = detect_format(text, "file");
  INFO((format ? "" : format.error().text()));
  REQUIRE(format);
  return *format;
}

} // namespace

TEST_CASE("a file is known by what it holds") {
  CHECK(format_of(machine_text("dgx-a100.xml")) == FileFormat::nccl_xml);
  CHECK(format_of(machine_text("eight-h200-vm.graph.xml")) == FileFormat::nccl_graph);
  CHECK(format_of(machine_text("switches-hwloc.xml")) == FileFormat::hwloc_xml);
  CHECK(format_of(machine_text("eight-h200-vm.topo-m.txt")) == FileFormat::smi_matrix);
  CHECK(format_of(machine_text("h200-vm.q.txt")) == FileFormat::smi_query);
  CHECK(format_of(machine_text("h200-vm.nvlink-s.txt")) == FileFormat::smi_nvlink);
  CHECK(format_of(write_machine_json({})) == FileFormat::json);
}

TEST_CASE("every machine comes back from our JSON as it was") {
  for (const std::string& name : machine_names()) {
    Machine machine = read_machine(name);

    auto read = read_any(write_machine_json(machine), name + ".json");

    INFO(name);
    REQUIRE(read);
    CHECK(std::get<Machine>(read->content) == machine);
  }
}

TEST_CASE("what describes no machine is refused, and the message says what would") {
  for (const char* text : {"", "hello", "[[[[", "<html/>", "<", "<!-- x", "{",
                           "\x7f"
                           "ELF"}) {
    INFO(text);
    auto read = read_any(text, "file");
    REQUIRE_FALSE(read);
    CHECK(read.error().code == base::Errc::invalid_argument);
    CHECK_THAT(read.error().text(), ContainsSubstring("file:1: "));
  }
  CHECK_THAT(read_any("hello", "file").error().text(), ContainsSubstring("nvidia-smi topo -m"));
  CHECK_THAT(read_any("<html/>", "file").error().text(), ContainsSubstring("<html>"));
}

TEST_CASE("huge and binary files are refused before they are read") {
  std::string huge(k_most_file_bytes + 1, 'x');
  std::string binary("GPU0\0GPU1", 9);

  CHECK_THAT(read_any(huge, "file").error().text(),
             ContainsSubstring("file:1: 64 MiB") && ContainsSubstring("at most 64 MiB are read"));
  CHECK_THAT(read_any(binary, "file").error().text(), ContainsSubstring("file:1: not a text file"));
}
