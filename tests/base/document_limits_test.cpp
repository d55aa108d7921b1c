// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/document_limits.h"
#include "support/catch.h"

#include <nlohmann/json.hpp>

using namespace ncclprobe::base;
using nlohmann::json;

namespace {

std::string repeated(std::string_view text, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i)
    all += text;
  return all;
}

bool is_too_deep(const Result<void>& checked) {
  return !checked &&
         checked.error().message == "x is nested more than 100 levels deep, which is the limit";
}

} // namespace

TEST_CASE("JSON may be nested up to the limit") {
  CHECK(check_json_limits(repeated("[", 100) + repeated("]", 100), "x"));
  CHECK(is_too_deep(check_json_limits(repeated("[", 101), "x")));
  CHECK(is_too_deep(check_json_limits(repeated("{\"a\":", 101), "x")));
  CHECK(check_json_limits(repeated("[[],{}],", 1000), "x"));
  CHECK(check_json_limits("\"" + repeated("[\\\"", 1000) + "\"", "x")); // in a text
}

TEST_CASE("JSON may have values up to the limit") {
  CHECK(check_json_limits(repeated("1,", 1'000'000), "x"));
  auto checked = check_json_limits(std::string(k_most_values + 1, ','), "x");
  REQUIRE_FALSE(checked);
  CHECK_THAT(checked.error().message, ContainsSubstring("more than 10000000 values"));
}

TEST_CASE("CBOR of a JSON document passes") {
  const json document{{"numbers", {0, 23, 24, 300, 70'000, 1LL << 40, -5, 1.5, true, nullptr}},
                      {"text", std::string(300, 'x')},
                      {"bytes", json::binary({1, 2, 3})},
                      {"list", json(std::vector<int>(1000, 7))}};
  std::string bytes;
  json::to_cbor(document, bytes);

  CHECK(check_cbor_limits(bytes, "x"));
}

TEST_CASE("CBOR that would make a parser recurse is refused") {
  CHECK(is_too_deep(check_cbor_limits(std::string(100'000, '\x81'), "x")));   // lists in lists
  CHECK(is_too_deep(check_cbor_limits(repeated("\xa1\x61k", 100'000), "x"))); // maps in maps
  CHECK_FALSE(check_cbor_limits(std::string(100'000, '\x7f'), "x")); // texts without a length
  CHECK_FALSE(check_cbor_limits(std::string(100'000, '\xc0'), "x")); // tags of tags
  CHECK_FALSE(check_cbor_limits("\x9b\xff\xff\xff\xff\xff\xff\xff\xff", "x")); // 2^64 - 1 values
  CHECK_FALSE(check_cbor_limits("\x78\x10short", "x"));
  CHECK_FALSE(check_cbor_limits("", "x"));
}

TEST_CASE("parts of TOML's keys count as levels") {
  CHECK(check_toml_limits("a" + repeated(".a", 100) + " = 1\nb.c = 1.5\n", "x"));
  CHECK(is_too_deep(check_toml_limits("a" + repeated(".a", 101) + " = 1", "x")));
  CHECK(is_too_deep(check_toml_limits("a" + repeated(" . \"b\" . 'c'", 51) + " = 1", "x")));
  CHECK(is_too_deep(check_toml_limits("[a" + repeated(".a", 100) + "]", "x"))); // and the bracket
  CHECK(is_too_deep(check_toml_limits("a = " + repeated("[", 101), "x")));
  CHECK(is_too_deep(check_toml_limits("a = " + repeated("{ a.a.a = ", 34), "x"))); // 34 times 3
}

TEST_CASE("dots that part no key are no levels") {
  CHECK(check_toml_limits("a = [" + repeated("1.5, ", 1000) + "]", "x"));
  CHECK(check_toml_limits("# " + repeated("a.", 1000) + "\nb = \"" + repeated("a.", 1000) + "\"",
                          "x"));
  CHECK(check_toml_limits(repeated("a.b = 1979-05-27T07:32:00.5\n", 1000), "x"));
  CHECK(check_toml_limits("a = '''" + repeated("a.", 1000) + "\n'' a.a'''''\nb = 1", "x"));
}

TEST_CASE("no key hides behind a string that ends otherwise than it seems") {
  const std::string deep = "b" + repeated(".b", 200) + " = 1 }";
  for (const char* begin : {R"(a = { c = """x"""", )", R"(a = { c = """x""""", )",
                            "a = { c = '''x'''', ", R"(a = { c = "\"", )", R"(a = { c = '\', )",
                            R"(a = { c = """\"""", )", R"(a = { "#" = 1, )", R"(a = { c = "", )"}) {
    INFO(begin);
    CHECK(is_too_deep(check_toml_limits(begin + deep, "x")));
  }
}

TEST_CASE("TOML is read up to a size") {
  auto checked = check_toml_limits(std::string(k_most_toml_bytes + 1, '\n'), "x");
  REQUIRE_FALSE(checked);
  CHECK_THAT(checked.error().message, ContainsSubstring("x has more than 4 MiB"));
}
