// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/rows.h"

#include "analysis/report/csv_report.h"

#include <charconv>
#include <string>
#include <type_traits>
#include <vector>

// Tables of a trace as CSV: a column "rank", then the table's own; texts spelt out.
namespace ncclprobe::analysis::trace_export {

template <typename Row>
std::string csv_heading() {
  std::string line = "rank";
  std::apply([&](const auto&... column) { ((line += ',', line += column.name), ...); },
             columns(Row{}));
  return line + "\r\n";
}

template <typename Row, typename TextOf>
void append_csv(std::string& to, int rank, const std::vector<Row>& rows, TextOf text_of) {
  auto number = [&](auto value) {
    char digits[24];
    to.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  };
  auto add = [&](const auto& value) {
    using T = std::decay_t<decltype(value)>;
    to += ',';
    if constexpr (std::is_same_v<T, trace::TextId>)
      to += csv_field(std::string(text_of(value)));
    else if constexpr (std::is_enum_v<T>)
      number(static_cast<std::underlying_type_t<T>>(value));
    else
      number(value);
  };
  for (const Row& row : rows) {
    number(rank);
    std::apply([&](const auto&... column) { (add(row.*column.field), ...); }, columns(Row{}));
    to += "\r\n";
  }
}

} // namespace ncclprobe::analysis::trace_export
