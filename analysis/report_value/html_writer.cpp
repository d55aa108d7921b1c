// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/page/page_bundle.h"
#include "analysis/report_value/html_events.h"
#include "analysis/report_value/page_data.h"
#include "analysis/report_value/report_writers.h"
#include "base/printable.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace ncclprobe::analysis {
namespace {

using base::printable;

// A table in a page has so many rows; beyond it, JSON and CSV are the better tools.
constexpr std::size_t k_most_rows_of_page = 5000;

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos)
    return "";
  return printable(text.substr(first, text.find_last_not_of(' ') - first + 1));
}

void add_text(PageData& data, const Text& text) {
  data.field("kind", "text").field("label", trimmed(text.label));
  data.field("text", printable(text.text));
}

void add_findings(PageData& data, const Findings& findings) {
  data.field("kind", "findings").field("label", trimmed(findings.label));
  if (!findings.more.section.empty())
    data.field("section", findings.more.section).field("more", printable(findings.more.text));
  data.key("findings").open('[');
  for (const Finding& one : findings.all)
    data.open('{')
        .field("id", one.kind->id)
        .field("severity", base::to_string(one.kind->severity))
        .field("text", printable(in_words(one)))
        .close('}');
  data.close(']');
}

void add_code(PageData& data, const Code& code) {
  data.field("kind", "code").key("lines").open('[');
  for (const std::string& line : code.lines)
    data.add(printable(line));
  data.close(']');
}

void add_column(PageData& data, const Column& column) {
  data.open('{')
      .field("title", printable(column.title))
      .field("left", Value(column.align == Column::Align::left))
      .close('}');
}

// The number or the text by which a cell is sorted; a cell that shows what it holds needs none.
Value sort_value(const Column& column, std::size_t row) {
  Value value = column.value(row);
  if (const auto* list = std::get_if<List>(&value.held()))
    value = list->empty() ? Value() : Value(list->front());
  const auto& held = value.held();
  const bool is_number = std::holds_alternative<double>(held) ||
                         std::holds_alternative<std::int64_t>(held) ||
                         std::holds_alternative<std::uint64_t>(held);
  return is_number ? value : Value();
}

void add_table(PageData& data, View view) {
  const std::size_t first_rows = view.most_rows;
  view.most_rows = k_most_rows_of_page;
  const ShownTable table = shown_table(view);
  data.field("kind", "table").field("more", Value(table.more_rows));
  data.field("first", Value(std::min(first_rows, table.cells.size())));
  data.key("columns").open('[');
  for (const Column* column : table.columns)
    add_column(data, *column);
  data.close(']').key("cells").open('[');
  for (const auto& row : table.cells) {
    data.open('[');
    for (const std::string& cell : row)
      data.add(cell);
    data.close(']');
  }
  data.close(']').key("order").open('['); // by column
  for (const Column* column : table.columns) {
    data.open('[');
    for (std::size_t row = 0; row < table.cells.size(); ++row)
      data.add(sort_value(*column, view.rows ? (*view.rows)[row] : row));
    data.close(']');
  }
  data.close(']');
}

void add_block(PageData& data, const Block& block) {
  data.open('{');
  if (const auto* text = std::get_if<Text>(&block))
    add_text(data, *text);
  else if (const auto* found = std::get_if<Findings>(&block))
    add_findings(data, *found);
  else if (const auto* code = std::get_if<Code>(&block))
    add_code(data, *code);
  else
    add_table(data, std::get<View>(block));
  data.close('}');
}

void add_chart(PageData& data, const Chart& chart) {
  data.open('{').field("kind", base::to_string(chart.kind)).field("title", printable(chart.title));
  const std::pair<const char*, const std::string*> roles[] = {
      {"x", &chart.x},           {"y", &chart.y},
      {"series", &chart.series}, {"interval", &chart.interval},
      {"points", &chart.points}, {"state", &chart.state},
      {"band", &chart.band},     {"value", &chart.value}};
  const auto& columns = chart.table->columns;
  for (const auto& [role, key] : roles) {
    if (key->empty())
      continue;
    const auto found = std::ranges::find(columns, *key, &Column::key);
    if (found == columns.end())
      throw std::logic_error("report: a chart names no column of its table: " + *key);
    data.field(role, Value(found - columns.begin()));
  }
  data.key("lines").open('[');
  for (const ReferenceLine& line : chart.lines)
    data.open('{').field("name", printable(line.name)).field("at", Value(line.at)).close('}');
  data.close(']').key("columns").open('[');
  for (const Column& column : columns)
    data.open('{')
        .field("key", column.key)
        .field("title", printable(column.title))
        .field("unit", base::to_string(column.format.unit))
        .field("digits", Value(column.format.digits))
        .close('}');
  data.close(']').key("rows").open('[');
  for (std::size_t row = 0; row < chart.table->rows; ++row) {
    data.open('[');
    for (const Column& column : columns)
      data.add(column.value(row));
    data.close(']');
  }
  data.close(']').close('}');
}

// In the order of a page: the answer first. What a terminal shows again at its end stands once.
std::vector<const Section*> in_page_order(const Report& report) {
  std::vector<const Section*> sections;
  for (const Section& section : report.sections) {
    const bool again = section.part == Section::Part::answer &&
                       std::ranges::any_of(sections, [&](const Section* other) {
                         return other->key == section.key && other->title == section.title;
                       });
    if (!again && !(section.title.empty() && section.blocks.empty() && section.charts.empty() &&
                    section.timelines.empty()))
      sections.push_back(&section);
  }
  std::ranges::stable_sort(sections, {}, &Section::part);
  return sections;
}

void add_section(PageData& data, const Section& section, const std::string& id) {
  data.open('{')
      .field("id", id)
      .field("part", base::to_string(section.part))
      .field("title", trimmed(section.title));
  data.key("charts").open('[');
  for (const Chart& chart : section.charts)
    if (chart.table->rows > 0)
      add_chart(data, chart);
  data.close(']').key("timelines").open('[');
  for (const EventChart& timeline : section.timelines)
    add_events(data, timeline);
  data.close(']').key("blocks").open('[');
  for (const Block& block : section.blocks)
    add_block(data, block);
  data.close(']').close('}');
}

std::string title_of(const Report& report) {
  if (!report.title.empty())
    return printable(report.title);
  const auto titled = std::ranges::find_if(
      report.sections, [](const Section& section) { return !section.title.empty(); });
  return titled == report.sections.end() ? "ncclprobe" : trimmed(titled->title);
}

std::string as_html(std::string_view text) {
  std::string out;
  for (char c : text)
    out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

} // namespace

base::Result<void> check_format(Format format) {
  if (format == Format::html && !has_page())
    return base::fail({base::Errc::unsupported, "this build cannot write HTML pages",
                       std::string(k_no_page_hint)});
  return {};
}

void write_html(const Report& report, const Sink& sink) {
  const std::string title = title_of(report);
  sink(fmt::format(R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; img-src blob: data:; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{}</title>
<style>)",
                   page_script_hash(), page_style_hash(), as_html(title)));
  sink(page_style());
  sink("</style>\n</head>\n<body>\n<noscript>This report needs JavaScript. It loads nothing from "
       "the "
       "network. <code>ncclprobe report</code> prints the same as text.</noscript>\n"
       "<script type=\"application/json\" id=\"data\">");
  {
    PageData data(sink);
    data.open('{').field("title", title).key("sections").open('[');
    std::map<std::string, int> seen; // so that every section has an address of its own
    for (const Section* section : in_page_order(report)) {
      const int count = ++seen[section->key];
      add_section(data, *section,
                  count == 1 ? section->key : fmt::format("{}-{}", section->key, count));
    }
    data.close(']').close('}');
  }
  sink("</script>\n<script>");
  sink(page_script());
  sink("</script>\n</body>\n</html>\n");
}

} // namespace ncclprobe::analysis
