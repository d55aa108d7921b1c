// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "machine/json_lines.h"
#include "machine/machine_json.h"

#include "support/catch.h"
#include "topology/example_machines.h"
#include "topology/machine_files.h"

#include <nlohmann/json.hpp>

using namespace ncclprobe;
using namespace ncclprobe::topology;
using topology_test::full_machine;

namespace {

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  std::size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), by);
}

} // namespace

TEST_CASE("a machine comes back from JSON as it was") {
  auto read = read_machine_json(write_machine_json(full_machine()), "m.json");

  REQUIRE(read);
  CHECK(*read == full_machine());
}

TEST_CASE("the full example leaves no field of the model unset") {
  std::string text = write_machine_json(full_machine());

  CHECK_THAT(text, !ContainsSubstring("null"));
}

TEST_CASE("an empty machine comes back from JSON with everything unknown") {
  Machine machine{{Host{}}};
  machine.hosts[0].gpus.resize(1);

  auto read = read_machine_json(write_machine_json(machine), "m.json");

  REQUIRE(read);
  CHECK(*read == machine);
}

TEST_CASE("fields that are missing in JSON are unknown") {
  auto read = read_machine_json(R"({"ncclprobe_topology": 1, "hosts": [{"gpus": [{"index": 3}]}]})",
                                "m.json");

  REQUIRE(read);
  CHECK(read->hosts[0].gpus[0].index == 3);
  CHECK_FALSE(read->hosts[0].gpus[0].nvlinks);
}

TEST_CASE("a number that no computer holds is bad JSON like any other") {
  CHECK_FALSE(read_machine_json("888E88888", "huge.json"));
}

TEST_CASE("bad JSON is refused with file and line") {
  std::string text = write_machine_json(full_machine());
  std::string cut = text.substr(0, text.find("\"gpus\""));

  auto read = read_machine_json(cut, "m.json");

  REQUIRE_FALSE(read);
  CHECK(read.error().code == base::Errc::invalid_argument);
  auto lines = std::count(cut.begin(), cut.end(), '\n') + 1;
  CHECK_THAT(read.error().text(), ContainsSubstring("m.json:" + std::to_string(lines) + ":"));
}

TEST_CASE("JSON that is something else is refused") {
  for (const char* text :
       {"", "[]", "3", "{}", R"({"ncclprobe_topology": 2, "hosts": []})",
        R"({"ncclprobe_topology": 1, "hosts": 5})", "\x80", "{\"a\": \"\xff\"}"}) {
    INFO(text);
    auto read = read_machine_json(text, "m.json");
    REQUIRE_FALSE(read);
    CHECK_THAT(read.error().text(), ContainsSubstring("m.json"));
  }
}

TEST_CASE(
    "JSON with an unknown word or a value of another kind is refused with the element's line") {
  std::string text = write_machine_json(full_machine());
  auto complaint_on = [&](const std::string& what, const std::string& by) {
    auto read = read_machine_json(replaced(text, what, by), "m.json");
    return read ? "" : read.error().text();
  };
  auto line_of = [&](const std::string& pointer) {
    return "m.json:" + std::to_string(json_line_of(text, pointer)) + ": ";
  };

  CHECK_THAT(complaint_on("\"infiniband\"", "\"pigeon\""),
             ContainsSubstring(line_of("/hosts/0/nics/0/kind/value") +
                               "'pigeon' is not one of infiniband, roce, ethernet, efa, other"));
  CHECK_THAT(
      complaint_on("\"NV1\"", "\"NV\""),
      ContainsSubstring(line_of("/hosts/0/stated_paths/0/path") + "'NV' is not a path label"));
  CHECK_THAT(complaint_on("\"value\": 108", "\"value\": \"many\""),
             ContainsSubstring(line_of("/hosts/0/gpus/0/multiprocessors/value") +
                               "type must be number, but is string"));
  CHECK_THAT(complaint_on("\"x86_64\"", "7"),
             ContainsSubstring(line_of("/hosts/0/cpu/architecture/value")));
}

TEST_CASE("JSON of a machine that cannot be is refused with the element's line") {
  std::string text = replaced(write_machine_json(full_machine()), "\"parent\": 0", "\"parent\": 1");

  auto read = read_machine_json(text, "m.json");

  REQUIRE_FALSE(read);
  CHECK(read.error().text() ==
        "m.json:" + std::to_string(json_line_of(text, "/hosts/0/pci/1")) +
            ": PCI device 0000:18:00.0 has parent 1, which is not before it");
}

TEST_CASE("what the fuzzer of our JSON begins with is a machine") {
  Machine machine = topology_test::read_machine("../fuzz/corpus/machine_json/two_gpus.json");

  CHECK(machine.hosts.at(0).gpus.size() == 2);
  CHECK(machine.hosts.at(0).stated_paths.size() == 2);
}
