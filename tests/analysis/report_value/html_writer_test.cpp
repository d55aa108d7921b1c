// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/page/page_bundle.h"
#include "analysis/report_value/report_writers.h"
#include "base/base64.h"
#include "support/catch.h"

#include <nlohmann/json.hpp>

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using Json = nlohmann::json;

namespace {

struct Rate {
  std::string name;
  std::uint64_t bytes = 0;
  std::optional<double> gb_per_s;
};

TablePtr rates_table(std::vector<Rate> rates) {
  TableOf<Rate> table(std::move(rates));
  table.add("name", &Rate::name).titled("link").left();
  table.add("size_bytes", &Rate::bytes).titled("size", {Unit::size});
  table.add("gb_per_s", &Rate::gb_per_s).titled("GB/s", {Unit::number});
  return table.table();
}

const std::vector<Rate> k_rates{{"a", 1024, 12.5}, {"b", 2048, std::nullopt}};

// The text of the element that holds the data.
std::string data_text(const Report& report) {
  const std::string page = written(report, Format::html);
  const std::string begin = R"(<script type="application/json" id="data">)";
  const std::size_t from = page.find(begin) + begin.size();
  return page.substr(from, page.find("</script>", from) - from);
}

Json data_of(const Report& report) {
  return Json::parse(data_text(report));
}

} // namespace

TEST_CASE("base64 pads what is no multiple of three bytes") {
  CHECK(base::base64("") == "");
  CHECK(base::base64("f") == "Zg==");
  CHECK(base::base64("fo") == "Zm8=");
  CHECK(base::base64("foob\xff\xfe") == "Zm9vYv/+");
}

TEST_CASE("a page shows a table's texts, and sorts by its numbers") {
  const Report report{.sections = {{"links", "Links", {View{rates_table(k_rates)}}}}};

  const Json table = data_of(report)["sections"][0]["blocks"][0];

  CHECK(table["kind"] == "table");
  CHECK(table["cells"] == Json{{"a", "1K", "12.50"}, {"b", "2K", "-"}});
  CHECK(table["order"] == Json{{nullptr, nullptr}, {1024, 2048}, {12.5, nullptr}});
}

TEST_CASE("a page has the rows that a terminal leaves out") {
  const Report report{
      .sections = {{"links", "", {View{.table = rates_table(k_rates), .most_rows = 1}}}}};

  const Json table = data_of(report)["sections"][0]["blocks"][0];

  CHECK(table["first"] == 1);
  CHECK(table["cells"].size() == 2);
}

TEST_CASE("a page begins with the answer and says it once") {
  const Section answer{
      .key = "answer", .blocks = {Text{"Answer", "keep"}}, .part = Section::Part::answer};
  const Report report{
      .sections = {{.key = "run", .title = "run 1", .part = Section::Part::provenance},
                   {"results", "first", {}},
                   answer,
                   {"results", "second", {}},
                   answer}};

  const Json data = data_of(report);
  std::vector<std::string> ids;
  for (const Json& section : data["sections"])
    ids.push_back(section["id"]);

  CHECK(ids == std::vector<std::string>{"answer", "results", "results-2", "run"});
  CHECK(data["title"] == "run 1");
}

TEST_CASE("a chart names columns by their place") {
  const Chart chart{.kind = ChartKind::curve,
                    .title = "rates",
                    .table = rates_table(k_rates),
                    .x = "size_bytes",
                    .y = "gb_per_s",
                    .series = "name",
                    .lines = {{"ceiling", 25}}};
  const Report report{.sections = {{.key = "links", .charts = {chart}}}};

  const Json drawn = data_of(report)["sections"][0]["charts"][0];

  CHECK(drawn["kind"] == "curve");
  CHECK(drawn["x"] == 1);
  CHECK(drawn["y"] == 2);
  CHECK(drawn["series"] == 0);
  CHECK_FALSE(drawn.contains("interval"));
  CHECK(drawn["rows"] == Json{{"a", 1024, 12.5}, {"b", 2048, nullptr}});
  CHECK(drawn["lines"] == Json{{{"name", "ceiling"}, {"at", 25}}});
}

TEST_CASE("a chart of a column that is not there is refused") {
  const Chart chart{.table = rates_table(k_rates), .x = "speed"};
  const Report report{.sections = {{.key = "links", .charts = {chart}}}};

  CHECK_THROWS_AS(written(report, Format::html), std::logic_error);
}

TEST_CASE("no text of others is markup or script in a page") {
  const std::string hostile = "</script><!--<img src=x onerror=alert(1)>&quot;\xff\xe2\x80\xa8";
  const Chart chart{.title = hostile,
                    .table = rates_table({{hostile, 1, 2.0}}),
                    .x = "size_bytes",
                    .lines = {{hostile, 1}}};
  const Report report{.sections = {{.key = "links",
                                    .title = hostile,
                                    .blocks = {View{rates_table({{hostile, 8, 1.0}})},
                                               Text{hostile, hostile}, Code{{hostile}}},
                                    .charts = {chart}}}};

  const std::string data = data_text(report);

  CHECK(data.find_first_of("<>&") == std::string::npos);
  const Json section = Json::parse(data)["sections"][0];
  CHECK(section["blocks"][0]["cells"][0][0].get<std::string>().starts_with("</script><!--"));
  CHECK(written(report, Format::html).find("<img") == std::string::npos);
}

TEST_CASE("a page allows its own script and style alone") {
  if (!has_page())
    NCCLPROBE_SKIP("this build has no pages");
  const std::string page = written(Report{}, Format::html);

  CHECK_THAT(page, ContainsSubstring("default-src 'none'"));
  CHECK_THAT(page, ContainsSubstring("script-src 'sha256-" + page_script_hash() + "'"));
  CHECK_THAT(page, ContainsSubstring("style-src 'sha256-" + page_style_hash() + "'"));
  CHECK(page.find("unsafe-inline") == std::string::npos);
  CHECK(page.find("http-equiv=\"refresh\"") == std::string::npos);
}
