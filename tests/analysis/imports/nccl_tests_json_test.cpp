// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/imports/import_logs.h"
#include "analysis/imports/nccl_tests_json.h"
#include "support/catch.h"

namespace ncclprobe::analysis::imports {
namespace {

ImportedProcess read_results(const std::string& text, const ImportHints& hints = {}) {
  return base::value_or_throw(read_nccl_tests_json(text, hints)).at(0);
}

} // namespace

TEST_CASE("the JSON of nccl-tests gives the same cells as its text, with more digits") {
  const ImportedProcess one = read_results(import_log("all_reduce_per_iteration_2.19.6.json"));

  REQUIRE(one.cells.size() == 26);
  const ImportedCell& cell = cell_of(one, 134217728, model::Placement::in_place);
  CHECK(cell.label.collective()->collective == model::Collective::all_reduce);
  CHECK(cell.record.samples.at(0).elapsed_ns == 10'097'351); // 20 times 504.867529 us
  CHECK(cell.record.samples[0].iterations == 20);
  CHECK(cell.record.check.checked);
  CHECK(one.libraries.at(0).version == "2.28.3");
  CHECK(one.started == "2026-11-23 10:57:12");
}

TEST_CASE("GPUs that the JSON does not list are those behind the listed one") {
  const ImportedProcess one = read_results(import_log("all_reduce_per_iteration_2.19.6.json"));

  REQUIRE(one.ranks.size() == 2);
  CHECK(one.ranks[0].pci_bus_id == "0000:19:00.0");
  CHECK(one.ranks[1].device == 1);
  CHECK(one.ranks[1].gpu == "NVIDIA H200");
  CHECK(one.ranks[1].pci_bus_id.empty());
}

TEST_CASE("of the environment only what affects communication is taken") {
  const ImportedProcess one = read_results(import_log("all_gather_2.19.6.json"));

  CHECK(one.environment ==
        std::vector<model::Setting>{{"CUDA_VISIBLE_DEVICES", "0,1"}, {"NCCL_ALGO", "Ring"}});
}

TEST_CASE("the JSON tells wrong data and the collective") {
  const ImportedProcess one = read_results(import_log("all_gather_2.19.6.json"));

  CHECK(one.cells.at(0).label.collective()->collective == model::Collective::all_gather);
  const auto wrong = std::ranges::find_if(
      one.cells, [](const ImportedCell& cell) { return cell.record.check.wrong > 0; });
  REQUIRE(wrong != one.cells.end());
  CHECK(wrong->record.check.wrong == 12);
  CHECK(wrong->record.outcome.kind == model::OutcomeKind::wrong_data);
}

TEST_CASE("a JSON file that is cut off keeps its whole results") {
  const std::string text = import_log("all_gather_2.19.6.json");
  std::size_t most = 0;
  for (std::size_t end = 0; end < text.size(); end += 7) {
    const auto cut = read_nccl_tests_json(text.substr(0, end), {});
    if (!cut)
      continue;
    CHECK(cut->at(0).cells.size() >= most);
    most = cut->at(0).cells.size();
    CHECK(cut->at(0).remarks.size() >= read_results(text).remarks.size());
  }
  CHECK(most == 24);
}

TEST_CASE("CPU times and foreign documents are refused") {
  std::string cpu = import_log("all_gather_2.19.6.json");
  for (std::size_t at = cpu.find("\"time\""); at != std::string::npos; at = cpu.find("\"time\""))
    cpu.replace(at, 6, "\"cpu_time\"");
  for (const std::string& text :
       {cpu, std::string("{}"), std::string("[1]"), std::string("{\"results\":[7]}"),
        std::string("{\"results\":[{\"size\":-1}],\"config\":[]}"), std::string("no JSON"),
        std::string(5000, '[')}) {
    INFO(text.substr(0, 100));
    const auto result = read_nccl_tests_json(text, {});
    REQUIRE_FALSE(result);
    CHECK(result.error().code == Errc::invalid_argument);
  }
}

TEST_CASE("registered buffers and unaligned ones are another kind of cell") {
  std::string text = import_log("all_gather_2.19.6.json");
  text.replace(text.find("\"-g\",\"2\""), 8, "\"-R\",\"1\",\"-u3\"");

  const ImportedProcess one = read_results(text);

  CHECK(one.cells.at(0).label.collective()->memory == model::Memory::registered);
  CHECK(one.cells[0].label.collective()->offset == 3);
}

} // namespace ncclprobe::analysis::imports
