// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/tune/tuned_table.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis;
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
