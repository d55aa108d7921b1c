// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "wire/packing.h"

#include <limits>
#include <variant>

using namespace ncclprobe;

namespace {

enum class Color { red, blue };
constexpr auto enum_names(Color) {
  return std::to_array<std::pair<Color, std::string_view>>(
      {{Color::red, "red"}, {Color::blue, "blue"}});
}
using base::to_string;

// One field of every kind.
struct Everything {
  std::vector<std::int64_t> integers;
  std::vector<std::uint64_t> naturals;
  std::string text;
  std::map<int, std::string> texts;
  std::optional<double> real;
  std::optional<bool> absent;
  Color color = Color::red;
  std::variant<int, std::string> either;
  bool operator==(const Everything&) const = default;
};
NCCLPROBE_FIELDS(Everything, integers, naturals, text, texts, real, absent, color, either)

Everything everything() {
  return {{-5, 0, 63, 64, -65, std::numeric_limits<std::int64_t>::min(),
           std::numeric_limits<std::int64_t>::max()},
          {0, 127, 128, std::numeric_limits<std::uint64_t>::max()},
          std::string("a\0b\xFF", 4),
          {{0, "x"}, {7, ""}},
          0.1,
          std::nullopt,
          Color::blue,
          "other"};
}

} // namespace

TEST_CASE("packed values come back as they were") {
  CHECK(wire::unpack<Everything>(wire::pack(everything())) == everything());
}

TEST_CASE("small numbers take one byte, whatever their sign") {
  CHECK(wire::pack(std::int64_t{-64}).size() == 1);
  CHECK(wire::pack(std::uint64_t{127}).size() == 1);
  CHECK(wire::pack(std::numeric_limits<std::uint64_t>::max()).size() == 10);
}

TEST_CASE("packed bytes that end early are refused at every length") {
  const std::string bytes = wire::pack(everything());

  for (std::size_t size = 0; size < bytes.size(); ++size)
    CHECK_THROWS_AS(wire::unpack<Everything>(std::string_view(bytes).substr(0, size)),
                    base::Exception);
}

TEST_CASE("bytes that are left over are refused") {
  CHECK_THROWS_AS(wire::unpack<int>(wire::pack(1) + "x"), base::Exception);
}

TEST_CASE("numbers that do not fit their field are refused") {
  CHECK_THROWS_AS(wire::unpack<int>(wire::pack(std::int64_t{1} << 40)), base::Exception);
  CHECK_THROWS_AS(wire::unpack<Color>(wire::pack(2U)), base::Exception);
  CHECK_THROWS_AS(wire::unpack<std::uint64_t>(std::string(11, '\xFF')), base::Exception);
  CHECK_THROWS_AS((wire::unpack<std::variant<int, bool>>("\x02x")), base::Exception);
}
