// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/record_form.h"
#include "support/catch.h"

#include <map>

using namespace ncclprobe;
using store::ColumnForm;
using store::Number;

namespace {

enum class Colour { red, green };
constexpr auto enum_names(Colour) {
  return std::to_array<std::pair<Colour, std::string_view>>(
      {{Colour::red, "red"}, {Colour::green, "green"}});
}
struct Wheel {
  double radius_m = 0;
  std::map<int, int> spokes;
};
NCCLPROBE_DESCRIBE(Wheel, NCCLPROBE_COLUMN(radius_m, "radius, m"),
                   NCCLPROBE_COLUMN(spokes, "how many are bent"))
struct Engine {
  std::string maker;
  std::optional<int> power_w;
};
NCCLPROBE_DESCRIBE(Engine, NCCLPROBE_COLUMN(maker, "who made it"),
                   NCCLPROBE_COLUMN(power_w, "power, W", base::grown))
struct Price {
  std::int64_t cents = 0;
};
NCCLPROBE_DESCRIBE(Price, NCCLPROBE_COLUMN(cents, "cents"))
struct Car {
  std::vector<int> seats;
  Colour colour = Colour::red;
  Engine engine;
  Engine spare;
  std::vector<Wheel> wheels;
  std::vector<Price> prices;
};
NCCLPROBE_DESCRIBE(Car, NCCLPROBE_COLUMN(seats, "numbers of its seats"),
                   NCCLPROBE_COLUMN(colour, "of its roof"),
                   NCCLPROBE_COLUMN(engine, "in front", base::flat),
                   NCCLPROBE_COLUMN(spare, "in the boot", base::whole),
                   NCCLPROBE_COLUMN(wheels, "its wheels"),
                   NCCLPROBE_COLUMN(prices, "of its wheels", base::Rows{"wheels"}))

std::vector<store::TableForm> tables_of_cars() {
  std::vector<store::TableForm> tables;
  store::FormMaker(tables).make<Car>("cars", "all cars", store::TableForm::Size::any);
  return tables;
}

const ColumnForm& column(const store::TableForm& table, std::string_view name) {
  for (const ColumnForm& one : table.columns)
    if (one.name == name)
      return one;
  throw std::out_of_range(std::string(name));
}

std::vector<std::string> names_of(const store::TableForm& table) {
  std::vector<std::string> names;
  for (const ColumnForm& one : table.columns)
    names.push_back(one.name);
  return names;
}

} // namespace

TEST_CASE("a record is a table, each list of records in it one of its own") {
  const auto tables = tables_of_cars();

  REQUIRE(tables.size() == 2);
  CHECK(tables[0].name == "cars");
  CHECK(names_of(tables[0]) ==
        std::vector<std::string>{"seats", "colour", "maker", "power_w", "spare"});
  CHECK(tables[1].name == "wheels");
  CHECK(tables[1].parent == 0U);
  CHECK(names_of(tables[1]) == std::vector<std::string>{"car", "radius_m", "spokes", "cents"});
  CHECK(tables[1].columns[0].holds == ColumnForm::Holds::parent);
}

TEST_CASE("a column says how its values are stored and what they mean") {
  const auto tables = tables_of_cars();

  CHECK(column(tables[0], "colour").labels == std::vector<std::string>{"red", "green"});
  CHECK(column(tables[0], "power_w").number == Number::i32);
  CHECK(column(tables[0], "power_w").missing == static_cast<std::uint64_t>(INT32_MIN));
  CHECK(column(tables[0], "power_w").may_be_absent);
  CHECK_FALSE(column(tables[0], "maker").may_be_absent);
  CHECK(column(tables[1], "radius_m").number == Number::f64);
  CHECK(column(tables[1], "radius_m").about == "radius, m");
  for (const char* text : {"seats", "maker", "spare"})
    CHECK(column(tables[0], text).holds == ColumnForm::Holds::texts);
  CHECK(column(tables[1], "spokes").holds == ColumnForm::Holds::texts);
}

TEST_CASE("a list that would be the table of another record is refused") {
  std::vector<store::TableForm> tables;
  store::FormMaker maker(tables);
  maker.make<Price>("wheels", "not those of cars", store::TableForm::Size::any);
  maker.make<Price>("other", "", store::TableForm::Size::any);

  CHECK_THROWS_AS(maker.make<Car>("cars", "", store::TableForm::Size::any), base::Exception);
}
