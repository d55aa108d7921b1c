// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/tune/tuned_table.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using analysis::tune::complete_rows;
using analysis::tune::tuned_rows;

namespace {

constexpr std::uint64_t k_mib = 1 << 20;

search::Space space_of_nccl() {
  return {.parameters = {{"algorithm", {"", "Ring", "Tree"}, true},
                         {"protocol", {"", "LL", "Simple"}, true},
                         {"channels", {"", "8", "16"}, true},
                         {"NCCL_BUFFSIZE", {"", "8388608"}, false}}};
}

model::CellLabel all_reduce(std::uint64_t bytes) {
  model::CellLabel label;
  label.what = model::CollectiveLabel{.collective = model::Collective::all_reduce};
  label.bytes = bytes;
  return label;
}

search::Decision proven(search::Candidate candidate) {
  return {.candidate = std::move(candidate), .proven = true};
}

search::Decision kept() {
  return {.candidate = {0, 0, 0, 0}};
}

} // namespace

TEST_CASE("neighbouring sizes with one choice become one row, and no row covers what was not "
          "measured") {
  const search::Outcome outcome{
      .table = {proven({1, 2, 0, 0}), proven({1, 2, 0, 0}), kept(), proven({1, 2, 0, 0})}};
  const auto rows = tuned_rows(
      space_of_nccl(), outcome,
      {all_reduce(k_mib), all_reduce(4 * k_mib), all_reduce(16 * k_mib), all_reduce(64 * k_mib)},
      {8, 1});
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].min_bytes == k_mib);
  CHECK(rows[0].max_bytes == 4 * k_mib);
  CHECK(rows[1].min_bytes == 64 * k_mib);
  CHECK(rows[1].max_bytes == 64 * k_mib);
  CHECK(rows[0].ranks == 8);
  CHECK(rows[0].nodes == 1);
  CHECK(rows[0].choice == tuning::Choice{tuning::Algorithm::ring, tuning::Protocol::simple});
  CHECK(rows[0].channels == tuning::k_keep_channels);
}

TEST_CASE("a row may choose the channels alone") {
  const search::Outcome outcome{.table = {proven({0, 0, 2, 0})}};
  const auto rows = tuned_rows(space_of_nccl(), outcome, {all_reduce(k_mib)}, {2, 2});
  REQUIRE(rows.size() == 1);
  CHECK_FALSE(rows[0].choice);
  CHECK(rows[0].channels == 16);
}

TEST_CASE("there is no row where the gain is that of the settings, or where NCCL asks no tuner") {
  const search::Decision of_settings = proven({0, 0, 0, 1});
  model::CellLabel all_to_all = all_reduce(k_mib);
  all_to_all.what = model::CollectiveLabel{.collective = model::Collective::all_to_all};
  const search::Outcome outcome{.table = {of_settings, proven({1, 2, 0, 0})}};
  CHECK(tuned_rows(space_of_nccl(), outcome, {all_reduce(k_mib), all_to_all}, {2, 1}).empty());
}

TEST_CASE("a table made of the rows is read back the same") {
  const search::Outcome outcome{.table = {proven({2, 1, 1, 0})}};
  tuning::Table table{{.gpu = "NVIDIA H200"},
                      tuned_rows(space_of_nccl(), outcome, {all_reduce(k_mib)}, {2, 1})};
  CHECK(tuning::parse_table(to_text(table), "table") == table);
}

TEST_CASE("rows get the estimates and the limit of channels that NCCL logs") {
  auto row_of = [](model::Collective collective, int ranks, int nodes) {
    tuning::Row row;
    row.collective = collective;
    row.min_bytes = k_mib;
    row.max_bytes = 4 * k_mib;
    row.ranks = ranks;
    row.nodes = nodes;
    return row;
  };
  auto log_of = [](int nodes) {
    model::Evidence evidence;
    evidence.log =
        fmt::format("n:1:1 [0] NCCL INFO comm 0x1 rank 0 nRanks 8 nNodes {} localRanks 8\n"
                    "n:1:1 [0] NCCL INFO   Algorithm   |   Ring |\n"
                    "n:1:1 [0] NCCL INFO   Protocol    |   LL128 | Simple |\n"
                    "n:1:1 [0] NCCL INFO  AllReduce | 20.0/ 200.0 | 30.0/ 250.0 |\n"
                    "n:1:1 [0] NCCL INFO  AllGather | 20.0/ 0.0 | 10.0/ 500.0 |\n"
                    "n:1:1 [0] NCCL INFO 12 coll channels, 12 collnet channels, 0 nvls channels\n",
                    nodes);
    return evidence;
  };
  using model::Collective;
  model::TrialRecord companion;
  companion.evidence = {log_of(1)};
  std::vector<tuning::Row> rows{
      row_of(Collective::all_reduce, 8, 1), row_of(Collective::all_gather, 8, 1),
      row_of(Collective::broadcast, 8, 1), row_of(Collective::all_reduce, 4, 1)};
  complete_rows(rows, companion);
  REQUIRE(rows[0].estimate);
  CHECK(rows[0].estimate->at_min_us == Approx(30 + k_mib / 250e3));
  CHECK(rows[0].estimate->at_max_us == Approx(30 + 4 * k_mib / 250e3));
  REQUIRE(rows[1].estimate);
  CHECK(rows[1].estimate->at_min_us == Approx(10 + k_mib / 500e3));
  CHECK_FALSE(rows[2].estimate); // is not in the table
  CHECK_FALSE(rows[3].estimate); // another communicator
  CHECK(rows[0].channels == tuning::k_keep_channels);

  rows[0].channels = rows[3].channels = 16;
  rows[1].channels = 8;
  complete_rows(rows, companion);
  CHECK(rows[0].channels == 12); // the communicator has no more
  CHECK(rows[1].channels == 8);
  CHECK(rows[3].channels == 16);

  companion.evidence = {log_of(2)};
  rows = {row_of(Collective::all_reduce, 8, 2), row_of(Collective::all_gather, 8, 2)};
  complete_rows(rows, companion);
  CHECK_FALSE(rows[0].estimate); // corrected by what is not in the log
  CHECK(rows[1].estimate);
}

TEST_CASE("rows are for the NVLink domains in which they were measured") {
  tuning::Row row;
  row.ranks = 8;
  row.nodes = 2;
  std::vector<tuning::Row> rows{row, row};
  rows[1].ranks = 4;
  model::TrialRecord companion;
  companion.evidence = {{.log = "ncclprobe: communicator nRanks 8 nNodes 2 nvlDomains 2 of 3 to 5 "
                                "ranks\n"
                                "ncclprobe: communicator nRanks 4 nNodes 1 nvlDomains 1 of 4 to 4 "
                                "ranks\n"}};
  companion.evidence.push_back(companion.evidence.front()); // of another rank
  complete_rows(rows, companion);
  CHECK(rows[0].domains == tuning::NvlinkDomains{2, 3, 5});
  CHECK_FALSE(rows[1].domains); // on one node, unlike the row

  companion.evidence[1].log = "ncclprobe: communicator nRanks 8 nNodes 2 nvlDomains 1 of 8 to 8 "
                              "ranks\n";
  complete_rows(rows, companion);
  CHECK_FALSE(rows[0].domains); // such communicators differ
}
