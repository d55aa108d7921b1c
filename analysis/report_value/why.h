// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_value.h"

#include <optional>
#include <string>

// Why something is missing or as it is: of a closed set of kinds, like the findings of a report.
// Its sentence is a clause without a full stop. Absent: there is nothing to explain.
namespace ncclprobe::analysis {

using Why = std::optional<Finding>;

inline std::string in_words(const Why& why) {
  return why ? in_words(*why) : "";
}
inline std::string_view id_of(const Why& why) {
  return why ? why->kind->id : std::string_view();
}

// Three fields: the words, `key`_id and `key`_values.
inline Object fields_of(const std::string& key, const Why& why) {
  return {{key, why ? Value(in_words(why)) : Value()},
          {key + "_id", why ? Value(why->kind->id) : Value()},
          {key + "_values", why ? Value(why->values) : Value()}};
}
template <typename Row, typename Get>
void add_why(TableOf<Row>& table, const std::string& key, Get get) {
  for (std::size_t i = 0; i < 3; ++i) {
    auto column = table.add(fields_of(key, {})[i].first, [key, get, i](const Row& row) {
      return fields_of(key, std::invoke(get, row))[i].second;
    });
    if (i == 2)
      column.nested();
  }
}

} // namespace ncclprobe::analysis
