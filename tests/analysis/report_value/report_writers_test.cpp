// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report_value/report_writers.h"
#include "base/described.h"
#include "support/catch.h"

#include <nlohmann/json.hpp>

#include <sstream>

using namespace ncclprobe;
using namespace ncclprobe::analysis;

namespace {

struct Link {
  std::string name;
  std::uint64_t bytes = 0;
  std::optional<double> gb_per_s;
  double ratio = 1;
};

constexpr FindingKind k_slow{"slow_link", Severity::warning,
                             "{name} is {percent:.1f}% slower than the others."};

TablePtr links_table(std::vector<Link> links) {
  TableOf<Link> table(std::move(links));
  table.add("name", &Link::name).titled("link").left();
  table.add("size_bytes", &Link::bytes).titled("size", {Unit::size});
  table.add("gb_per_s", &Link::gb_per_s).titled("GB/s", {Unit::number}).if_any();
  table.add("ratio", &Link::ratio).titled("ratio", {Unit::ratio}).dispensable(1);
  table.add("hidden", [](const Link& link) { return link.name.size(); });
  table.show("fits", [](const Link& link) { return link.bytes < 2048; });
  return table.table();
}

Report links_report(std::vector<Link> links) {
  TablePtr table = links_table(std::move(links));
  return {
      .sections = {{"links",
                    "Links of this host",
                    {View{table},
                     Findings{"Caution", {{&k_slow, {{"name", "b"}, {"percent", 12.34}}}}, 9}}}},
      .data = {{"schema", "test"}, {"links", table}, {"none", nullptr}, {"empty", List{}}},
      .rows = table};
}

const std::vector<Link> k_two{{"a", 1024, 12.5, 1.25}, {"b", 102'398'976, std::nullopt, 1.0004}};

std::size_t widest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t widest = 0;
  for (std::string line; std::getline(lines, line);)
    widest = std::max(widest, line.size());
  return widest;
}

} // namespace

TEST_CASE("a report in text shows titled columns by their units, then its findings") {
  CHECK(write_text(links_report(k_two)) == "Links of this host\n"
                                           "  link    size   GB/s    ratio  fits\n"
                                           "  a         1K  12.50    1.25x   yes\n"
                                           "  b     97.66M      -  1.0004x    no\n"
                                           "Caution  b is 12.3% slower than the others.\n");
}

TEST_CASE("JSON has every key once, in the order of the report, and the findings' values") {
  auto json = nlohmann::ordered_json::parse(written(links_report(k_two), Format::json));

  CHECK(json.dump() ==
        R"({"schema":"test","links":[)"
        R"({"name":"a","size_bytes":1024,"gb_per_s":12.5,"ratio":1.25,"hidden":1},)"
        R"({"name":"b","size_bytes":102398976,"gb_per_s":null,"ratio":1.0004,"hidden":1}],)"
        R"("none":null,"empty":[],"findings":[{"id":"slow_link","severity":"warning",)"
        R"("values":{"name":"b","percent":12.34},"text":"b is 12.3% slower than the others."}]})");
}

TEST_CASE("JSON is laid out as its library does it") {
  const std::string text = written(links_report(k_two), Format::json);

  CHECK(text == nlohmann::ordered_json::parse(text).dump(2) + "\n");
}

TEST_CASE("CSV has the columns with a key, and nothing where nothing is known") {
  CHECK(written(links_report({{"a, \"b\"", 8, std::nullopt, 1.5}}), Format::csv) ==
        "name,size_bytes,gb_per_s,ratio,hidden\r\n\"a, \"\"b\"\"\",8,,1.5,6\r\n");
}

TEST_CASE("an interval is a list in JSON, two fields of CSV, and both ends for people") {
  TableOf<std::optional<Interval>> table({Interval{1.25, 2.5}, std::nullopt});
  table.add("time_ms", [](const auto& one) { return one; })
      .titled("95%", {Unit::fixed, 1})
      .interval();
  const Report report{.sections = {{"times", "", {View{table.table()}}}},
                      .data = {{"times", table.table()}},
                      .rows = table.table()};

  CHECK(written(report, Format::csv) == "time_ms_low,time_ms_high\r\n1.25,2.5\r\n,\r\n");
  CHECK(write_text(report) == "      95%\n  1.2-2.5\n        -\n");
  CHECK(nlohmann::json::parse(written(report, Format::json)).dump() ==
        R"({"times":[{"time_ms":[1.25,2.5]},{"time_ms":null}]})");
}

TEST_CASE("large reports for machines are written in pieces") {
  const Report report = links_report(std::vector<Link>(10'000, k_two.front()));

  for (Format format : {Format::json, Format::csv}) {
    std::string all;
    write(report, format, [&](std::string_view piece) {
      CHECK(piece.size() < 2 * k_piece_bytes);
      all += piece;
    });

    CHECK(all.size() > 3 * k_piece_bytes);
    CHECK(std::ranges::count(all, '\n') > 10'000);
    CHECK(all == written(report, format));
  }
}

TEST_CASE("a report in Markdown has its tables in pipes") {
  CHECK(write_markdown(links_report({{"a", 1024, 12.5, 1.25}})) ==
        "### Links of this host\n\n"
        "| link | size | GB/s | ratio | fits |\n"
        "| :-- | --: | --: | --: | --: |\n"
        "| a | 1K | 12.50 | 1.25x | yes |\n\n"
        "- **Caution** b is 12.3% slower than the others.\n");
}

TEST_CASE("a column of which nothing is known is left out if it may be") {
  CHECK(write_text(links_report({{"a", 8, std::nullopt, 1.5}})).find("GB/s") == std::string::npos);
}

TEST_CASE("a table that is too wide loses dispensable columns, and says which") {
  const std::string name(56, 'n');
  const Report report = links_report({{name, 1024, 12.5, 1.25}});

  CHECK_THAT(write_text(report, 100), ContainsSubstring("1.25x"));
  CHECK_THAT(write_text(report, 80), !ContainsSubstring("1.25x"));
  CHECK_THAT(write_text(report, 80), ContainsSubstring("narrow: ratio"));
  CHECK_THAT(write_text(report, 80), ContainsSubstring(name));
}

TEST_CASE("a table that is still too wide goes on in the lines below") {
  std::string name;
  for (int i = 0; i < 30; ++i)
    name += "NCCL_ALGO=Ring ";

  for (int columns : {80, 100, 120})
    CHECK(widest_line(write_text(links_report({{name, 1024, 12.5, 1.25}}), columns)) <=
          static_cast<std::size_t>(columns));
}

TEST_CASE("a long name that is shown once goes on beside the rows that it is the name of") {
  TableOf<std::pair<std::string, int>> rows(
      {{"NCCL_ALGO=Tree NCCL_PROTO=Simple", 1}, {"NCCL_ALGO=Tree NCCL_PROTO=Simple", 2}, {"b", 3}});
  rows.show("setting", [](const auto& row) { return row.first; }).left(20).once();
  rows.show("n", [](const auto& row) { return row.second; });

  CHECK(write_text({.sections = {{"rows", "", {View{rows.table()}}}}}) ==
        "  setting              n\n"
        "  NCCL_ALGO=Tree       1\n"
        "    NCCL_PROTO=Simple  2\n"
        "  b                    3\n");
}

TEST_CASE("a view shows the columns and rows that it names, and counts the others") {
  const View view{.table = links_table(k_two), .columns = {"ratio", "link"}, .most_rows = 1};

  CHECK(write_text({.sections = {{"links", "", {view}}}}) == "  ratio  link\n"
                                                             "  1.25x  a\n"
                                                             "  ... 1 more (JSON has them)\n");
}

TEST_CASE("a view of a column that is not there is refused") {
  CHECK_THROWS_AS(shown_table({.table = links_table(k_two), .columns = {"speed"}}),
                  std::logic_error);
}

TEST_CASE("hostile text is text in every form") {
  const std::string hostile = "\x1b[31mred\x1b[0m\n| <b>x</b> [a](b) \xff\xe2\x80\xae";
  Report report = links_report({{hostile, 8, 1.0, 1.5}});
  report.sections.front().blocks.push_back(Text{"", hostile, 0});

  for (const std::string& text : {write_text(report), write_markdown(report)}) {
    CHECK(text.find('\x1b') == std::string::npos);
    CHECK(text.find('\xff') == std::string::npos);
    CHECK(text.find("\xe2\x80\xae") == std::string::npos);
  }
  CHECK_THAT(write_markdown(report), !ContainsSubstring("<b>") && !ContainsSubstring("[a]"));
  CHECK_FALSE(nlohmann::json::parse(written(report, Format::json), nullptr, false).is_discarded());
}

TEST_CASE("findings are found by their kind and have their values") {
  const Report report = links_report(k_two);

  REQUIRE(findings(report).size() == 1);
  CHECK(findings(report)[0]->kind == &k_slow);
  CHECK(findings(report)[0]->values[1].second == Value(12.34));
}

TEST_CASE("what is found twice is told once to machines") {
  Report report = links_report(k_two);
  report.sections.push_back(report.sections.front());

  CHECK(findings(report).size() == 1);
}

TEST_CASE("lines to copy are never wrapped") {
  const std::string line = "export NCCL_ALGO=" + std::string(200, 'x');
  const Report report{.sections = {{"code", "", {Code{{line + "\x1b[2J"}}}}}};

  CHECK(write_text(report) == "  " + line + "\n");
  CHECK(write_markdown(report) == "    " + line + "\n");
}

TEST_CASE("a value that says its fields is an object with sorted keys") {
  const base::Error error{base::Errc::io, "no space", "free some"};

  CHECK(described(error) ==
        Value(Object{{"code", "io"}, {"hint", "free some"}, {"message", "no space"}}));
}

TEST_CASE("units are written as people read them") {
  CHECK(shown(nullptr) == "-");
  CHECK(shown(std::uint64_t{1536}, {Unit::size}) == "1536");
  CHECK(shown(std::uint64_t{99999} << 10, {Unit::size}) == "97.66M");
  CHECK(shown(std::uint64_t{1'048'572}, {Unit::size}) == "1048572"); // not 1M
  CHECK(shown(1.0, {Unit::ratio}) == "1.00x");
  CHECK(shown(1.004, {Unit::ratio}) == "1.004x");
  CHECK(shown(0.9749, {Unit::ratio, 3}) == "0.975x");
  CHECK(shown(0.004, {Unit::number}) == "0.0040");
  CHECK(shown(-0.01, {Unit::fixed, 1}) == "0.0");
  CHECK(shown(0.0999, {Unit::share, 1}) == "10.0");
  CHECK(shown(0.00001, {Unit::chance}) == "<0.0001");
  CHECK(shown(List{0.5, 0.75}, {Unit::fixed, 3}) == "0.500-0.750");
  CHECK(shown(std::vector<std::string>{"a", "b"}) == "a, b");
}
