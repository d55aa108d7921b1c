// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "machine/machine_json.h"
#include "machine/source_text.h"

#include "support/catch.h"
#include "topology/machine_files.h"
#include "topology/read/read_any.h"

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
  CHECK(format_of(machine_text("two-h100.q.xml")) == FileFormat::smi_xml);
  CHECK(format_of(write_machine_json({})) == FileFormat::json);
  CHECK(format_of("GPU 0: NVIDIA H200 (UUID: GPU-1)\n") == FileFormat::smi_nvlink); // nvidia-smi -L
}

TEST_CASE("a document that speaks of machines is none") {
  for (const char* name : {"README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "CHANGELOG.md",
                           "docs/method.md", "launch/setup.sh"}) {
    INFO(name);
    auto read = read_any(machine_text(std::string("../../") + name), name);
    REQUIRE_FALSE(read);
    CHECK(read.error().code == base::Errc::invalid_argument);
  }
  for (const char* text :
       {"GPU0 is slow\nGPU1 is not\n", "GPUs of one host\n", "GPU 0: is hot\nand loud\n",
        "See the NVSMI LOG.\n", "{\"a\": 1}", "<html><gpu/></html>"}) {
    INFO(text);
    CHECK_FALSE(read_any(text, "file"));
  }
}

TEST_CASE("a mark of byte order in front is no part of the file") {
  for (const char* name : {"dgx-a100.xml", "eight-h200-vm.topo-m.txt", "two-h200-vm.json"}) {
    INFO(name);
    auto read = read_any("\xef\xbb\xbf" + machine_text(name), name);
    REQUIRE(read);
    CHECK(std::get<Machine>(read->content) == read_machine(name));
  }
  auto utf16 = read_any(std::string("\xff\xfeG\0P\0", 6), "file");
  REQUIRE_FALSE(utf16);
  CHECK_THAT(utf16.error().text(), ContainsSubstring("UTF-16") && ContainsSubstring("iconv"));
}

TEST_CASE("control characters of a file reach neither names nor messages") {
  auto read =
      read_any("<system version=\"1\"><cpu numaid=\"0\" vendor=\"a\x1b[31mb\x07\"><nic><net "
               "name=\"e\x1b]0;x\" dev=\"0\"/></nic></cpu></system>",
               "file");
  REQUIRE(read);
  const Host& host = std::get<Machine>(read->content).hosts[0];
  CHECK(host.cpu.vendor.value == "ab?");
  CHECK(host.nics[0].name == "e?]0;x");

  auto matrix = read_any("\tGPU0\tGPU1\tNIC0\nGPU0\tX\tNV4\tPIX\nGPU1\tNV4\tX\tSYS\n"
                         "NIC0\tPIX\tSYS\tX\n\nNIC Legend:\n  NIC0: m\x9b"
                         "2Jlx\xe2\x80\xae\n",
                         "file");
  REQUIRE(matrix);
  CHECK(std::get<Machine>(matrix->content).hosts[0].nics[0].name == "m?2Jlx?");

  auto refused = read_any("\tGPU0\tGPU1\nGPU0\tX\tF\x1b[2JAR\x07\n", "file");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().text().find('\x1b') == std::string::npos);
  CHECK_THAT(refused.error().text(), ContainsSubstring("'FAR?'") || ContainsSubstring("FAR"));
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
             ContainsSubstring("file:1: 64 MiB") && ContainsSubstring("the limit is 64 MiB"));
  CHECK_THAT(read_any(binary, "file").error().text(), ContainsSubstring("file:1: not a text file"));
}
