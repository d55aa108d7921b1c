// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/json_document.h"
#include "support/catch.h"

using namespace ncclprobe::base;

namespace {

enum class Color { red, blue };
constexpr auto enum_names(Color) {
  return std::to_array<std::pair<Color, std::string_view>>(
      {{Color::red, "red"}, {Color::blue, "blue"}});
}

struct Part {
  int size = 1;
  std::optional<double> weight;
  bool operator==(const Part&) const = default;
};
NCCLPROBE_GROWN_FIELDS(Part, (size), (weight))

struct Shop {
  std::vector<Part> parts;
  std::map<int, std::string> names;
  Color color = Color::blue;
  bool sold = false;
  std::uint64_t serial = 1;
  std::optional<std::string> owner;
  bool operator==(const Shop&) const = default;
};
NCCLPROBE_PARTLY_LENIENT_FIELDS(Shop, (parts, names, color), (sold, serial, owner))

std::string error_of(const char* text) {
  auto read = parse_json<Shop>(text);
  return read ? "" : read.error().text();
}

} // namespace

TEST_CASE("a value becomes JSON with its keys sorted, and comes back") {
  const Shop whole{{{1, 2.5}, {3, {}}}, {{2, "b"}}, Color::red, true, UINT64_MAX, "me"};

  const std::string text = write_json(whole);

  CHECK(text == R"({"color":"red","names":[[2,"b"]],"owner":"me",)"
                R"("parts":[{"size":1,"weight":2.5},{"size":3}],)"
                R"("serial":18446744073709551615,"sold":true})");
  CHECK(parse_json<Shop>(text).value() == whole);
}

TEST_CASE("what may be missing has its default") {
  CHECK(parse_json<Shop>(R"({"parts": [], "names": [], "color": "blue"})").value() == Shop{});
}

TEST_CASE("an error says what is wrong, and where") {
  CHECK(error_of(R"({"parts": [{"size": 1}, {"size": "a"}]})") ==
        "/parts/1/size: type must be number, but is string");
  CHECK(error_of(R"({"parts": [{}]})") == "/parts/0: key 'size' not found");
  CHECK(error_of(R"({"parts": [{"size": 5000000000}]})") ==
        "/parts/0/size: 5000000000 is too large for this field");
  CHECK(error_of(R"({"parts": [{"size": 1.5}]})") ==
        "/parts/0/size: the number 1.5 is out of range");
  CHECK(error_of(R"({"parts": [], "names": [], "color": "pink"})") ==
        "/color: 'pink' is not one of red, blue");
  CHECK(error_of("3") == "type must be object, but is number");

  JsonPlace place;
  CHECK_FALSE(parse_json<Shop>("{\"parts\": [", &place));
  CHECK(place.byte == 12);
}

TEST_CASE("bytes that are no UTF-8 are replaced in JSON, and kept in CBOR") {
  const std::vector<std::string> texts{"a\xFF"};
  CHECK(write_json(texts) == "[\"a\xEF\xBF\xBD\"]");

  const Shop whole{{}, {{1, "a\xFF"}}};
  Shop read;
  REQUIRE(read_json_or_cbor(json_or_cbor(writable(whole)), readable(read)));
  CHECK(read == whole);
}
