// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "trace/rows.h"

#include "support/catch.h"

#include <set>
#include <string>
#include <type_traits>

using namespace ncclprobe::trace;

TEST_CASE("every table has a number, a name and columns of its own") {
  std::set<Table> numbers{Table::strings};
  std::set<std::string> names{name_of(Table::strings)};
  std::apply(
      [&](const auto&... row) {
        auto look = [&](const auto& each) {
          using Row = std::decay_t<decltype(each)>;
          STATIC_REQUIRE(std::is_trivially_copyable_v<Row>);
          CHECK(numbers.insert(Row::k_table).second);
          CHECK(names.insert(name_of(Row::k_table)).second);
          std::set<std::string> columns_seen;
          std::size_t bytes = 0;
          std::apply(
              [&](const auto&... column) {
                auto one = [&](const auto& what) {
                  using Value = typename std::decay_t<decltype(what)>::Value;
                  if constexpr (std::is_enum_v<Value>) {
                    std::size_t place = 0; // a label's place in files is its value
                    for (const auto& [value, label] : enum_names(Value{}))
                      CHECK(static_cast<std::size_t>(value) == place++);
                  }
                  CHECK(columns_seen.insert(what.name).second);
                  bytes += sizeof(each.*what.field);
                };
                (one(column), ...);
              },
              columns(each));
          INFO(name_of(Row::k_table));
          CHECK(sizeof(Row) - bytes < 16); // padding, not a field that is left out of the file
        };
        (look(row), ...);
      },
      AllRows{});
  CHECK(names.count("?") == 0);
}

TEST_CASE("a duration that 32 bits do not hold is marked") {
  CHECK(short_duration(0) == 0);
  CHECK(short_duration(4'294'967'294) == 4'294'967'294);
  CHECK(short_duration(4'294'967'295) == k_long_duration);
  CHECK(short_duration(UINT64_MAX) == k_long_duration);
}
