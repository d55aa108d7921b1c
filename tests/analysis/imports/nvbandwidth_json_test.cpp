// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/imports/import_logs.h"
#include "analysis/imports/imported_run.h"
#include "analysis/imports/nvbandwidth_json.h"
#include "analysis/p2p/p2p_matrix.h"
#include "support/catch.h"

namespace ncclprobe::analysis::imports {
namespace {

using model::P2pDirection;
using model::P2pMethod;

model::Run run_of_document(const std::string& text, const ImportHints& hints = {}) {
  ImportedInput input{.path = "nvbandwidth.json",
                      .format = model::ImportFormat::nvbandwidth_json,
                      .fingerprint = "1",
                      .processes = base::value_or_throw(read_nvbandwidth_json(text, hints))};
  return base::value_or_throw(make_run({input}));
}

double value_of(const model::Run& run, P2pMethod method, P2pDirection direction,
                const model::P2pTransfer& transfer) {
  for (const P2pMatrix& matrix : p2p_matrices(run))
    if (matrix.method == method && matrix.direction == direction)
      if (const P2pEntry* entry = matrix.at(transfer); entry && entry->figure)
        return entry->figure->value;
  return 0;
}

} // namespace

TEST_CASE("matrices of nvbandwidth become P2P matrices, by who drives which copy") {
  const model::Run run = run_of_document(import_log("nvbandwidth_0.8.json"));
  auto value = [&](P2pMethod method, const model::P2pTransfer& transfer) {
    return value_of(run, method, P2pDirection::uni, transfer);
  };

  CHECK(is_p2p(run));
  // Row 0, column 1: GPU 0 writes to GPU 1.
  CHECK(value(P2pMethod::ce, {{false, 0}, {false, 1}}) == Approx(395.5));
  CHECK(value(P2pMethod::ce, {{false, 1}, {false, 0}}) == Approx(396.25));
  // GPU 0 reads from GPU 1.
  CHECK(value(P2pMethod::ce_read, {{false, 1}, {false, 0}}) == Approx(390.5));
  CHECK(value(P2pMethod::host, {{true, 1}, {false, 1}}) == Approx(55.8));
  CHECK(value(P2pMethod::host, {{false, 0}, {true, 0}}) == Approx(56.1));
  CHECK(value(P2pMethod::latency, {{false, 0}, {false, 1}}) == Approx(812.5));
}

TEST_CASE("both ways at once are one cell of two transfers") {
  const model::Run run = run_of_document(import_log("nvbandwidth_0.8.json"));

  // Measured twice: 371 and 369 from 0 to 1, 370 and 370 back.
  CHECK(value_of(run, P2pMethod::ce, P2pDirection::bi, {{false, 0}, {false, 1}}) ==
        Approx(370).margin(0.01));
  CHECK(value_of(run, P2pMethod::ce, P2pDirection::bi, {{false, 1}, {false, 0}}) ==
        Approx(370).margin(0.01));
}

TEST_CASE("what has no like is named, and so is what did not pass") {
  const auto process =
      base::value_or_throw(read_nvbandwidth_json(import_log("nvbandwidth_0.8.json"), {})).at(0);

  CHECK(process.version == "v0.8");
  REQUIRE(process.remarks.size() == 2);
  CHECK_THAT(process.remarks[0], ContainsSubstring("all_to_host_memcpy_ce"));
  CHECK_THAT(process.remarks[1], ContainsSubstring("device_to_device_memcpy_read_sm (Waived)"));
  CHECK(process.ranks.at(1).gpu == "NVIDIA H200");
  CHECK(process.ranks[1].hostname == "h200-1");
  CHECK(process.ranks[1].pci_bus_id == "00000000:3b:00.0");
  REQUIRE(process.libraries.size() == 1);
  CHECK(process.libraries[0].version == "580.95.05");
}

TEST_CASE("the size of a copy does not change its bandwidth") {
  const model::Run run = run_of_document(import_log("nvbandwidth_0.8.json"),
                                         {.buffer_bytes = std::uint64_t{64} << 20});

  CHECK(run.trials.at(0).spec.cells.at(0).label.bytes == 64 << 20);
  CHECK(value_of(run, P2pMethod::ce, P2pDirection::uni, {{false, 0}, {false, 1}}) == Approx(395.5));
}

TEST_CASE("the number of GPUs of older documents comes from a matrix") {
  std::string text = import_log("nvbandwidth_0.8.json");
  text.replace(text.find("GPU Device list"), 15, "something else ");

  const auto process = base::value_or_throw(read_nvbandwidth_json(text, {})).at(0);

  CHECK(process.ranks.size() == 2);
  CHECK(process.ranks[0].gpu.empty());
}

TEST_CASE("of a broken matrix the numbers between two GPUs are taken") {
  const auto process = base::value_or_throw(read_nvbandwidth_json(
      R"({"nvbandwidth":{"testcases":[{"name":"device_to_device_memcpy_write_ce",)"
      R"("status":"Passed","bandwidth_matrix":[["1","2"],7]}]}})",
      {}));

  REQUIRE(process.at(0).cells.size() == 1);
  CHECK(process[0].cells[0].label.p2p()->transfers ==
        std::vector<model::P2pTransfer>{{{false, 0}, {false, 1}}});
}

TEST_CASE("documents without a copy are refused") {
  for (const char* text :
       {"{}", "{\"nvbandwidth\":{\"error\":\"no GPU\"}}", "{\"nvbandwidth\":{\"testcases\":[]}}",
        "{\"nvbandwidth\":{\"testcases\":[{\"name\":\"device_to_device_memcpy_write_ce\","
        "\"status\":\"Passed\",\"bandwidth_matrix\":[[\"N/A\"]]}]}}",
        ""}) {
    INFO(text);
    const auto result = read_nvbandwidth_json(text, {});
    REQUIRE_FALSE(result);
    CHECK(result.error().code == Errc::invalid_argument);
  }
}

} // namespace ncclprobe::analysis::imports
