// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/spool_reader.h"

#include "support/catch.h"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace ncclprobe::support {

// All rows of a table in a spool that is whole, with their ranks.
template <typename Row>
std::vector<std::pair<int, Row>> ranked_rows(const std::filesystem::path& spool) {
  std::vector<std::pair<int, Row>> all;
  auto read = trace::read_spool(spool, [&](const trace::SpoolBlock& block) {
    if (block.table == Row::k_table)
      for (const Row& row : block.as<Row>())
        all.emplace_back(block.rank, row);
  });
  REQUIRE(read);
  CHECK(read->bytes_left_out == 0);
  return all;
}

template <typename Row>
std::vector<Row> rows_in(const std::filesystem::path& spool) {
  std::vector<Row> all;
  for (const auto& [rank, row] : ranked_rows<Row>(spool))
    all.push_back(row);
  return all;
}

inline std::string text_in(const std::filesystem::path& spool, trace::TextId id) {
  std::vector<std::string> texts{""};
  REQUIRE(trace::read_spool(spool, [&](const trace::SpoolBlock& block) {
    if (block.table == trace::Table::strings)
      texts.push_back(block.text());
  }));
  return texts.at(id.id);
}

} // namespace ncclprobe::support
