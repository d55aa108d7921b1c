// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report_value/report_writers.h"
#include "base/csv.h"
#include "base/printable.h"

namespace ncclprobe::analysis {
namespace {

using base::join;
using base::printable;

std::string csv_text(const Value& value) {
  if (value.is_null())
    return "";
  if (const auto* number = std::get_if<double>(&value.held()))
    return fmt::format("{:.9g}", *number);
  if (const auto* flag = std::get_if<bool>(&value.held()))
    return *flag ? "true" : "false";
  return shown(value);
}

// Text from others must not become a link, a tag or the end of a cell.
std::string markdown_text(std::string_view unsafe_text) {
  std::string out;
  for (char c : printable(unsafe_text)) {
    if (std::string_view("\\`*_[]<>|#&").find(c) != std::string_view::npos)
      out += '\\';
    out += c;
  }
  return out;
}

std::string markdown_row(const std::vector<std::string>& cells) {
  return "| " + join(cells, " | ") + " |\n";
}

std::string markdown_table(const View& view) {
  const ShownTable table = shown_table(view);
  std::vector<std::string> titles, rule;
  for (const Column* column : table.columns) {
    titles.push_back(markdown_text(column->title));
    rule.emplace_back(column->align == Column::Align::left ? ":--" : "--:");
  }
  std::string out = markdown_row(titles) + markdown_row(rule);
  for (const auto& row : table.cells) {
    std::vector<std::string> cells;
    for (const std::string& cell : row)
      cells.push_back(markdown_text(cell));
    out += markdown_row(cells);
  }
  return table.more_rows == 0 ? out : out + fmt::format("\n... {} more\n", table.more_rows);
}

std::string markdown_paragraph(std::string_view label, std::string_view text) {
  std::string word = markdown_text(label);
  word.erase(0, word.find_first_not_of(' '));
  const std::string words = markdown_text(text);
  return word.empty()  ? words + "\n"
         : word == "-" ? "- " + words + "\n"
                       : "- **" + word + "** " + words + "\n";
}

std::string markdown_block(const Block& block) {
  if (const auto* text = std::get_if<Text>(&block))
    return markdown_paragraph(text->label, text->text);
  if (const auto* found = std::get_if<Findings>(&block))
    return markdown_paragraph(found->label, in_words(found->all));
  if (const auto* code = std::get_if<Code>(&block)) {
    std::string out; // indented, because its content could end a fence
    for (const std::string& line : code->lines)
      out += "    " + printable(line) + "\n";
    return out;
  }
  return markdown_table(std::get<View>(block));
}

} // namespace

void write_csv(const Report& report, const Sink& sink) {
  std::vector<std::string> fields;
  for (const Column& column : report.rows->columns)
    if (column.interval)
      fields.insert(fields.end(), {column.key + "_low", column.key + "_high"});
    else if (!column.key.empty() && !column.nested)
      fields.push_back(column.key);
  std::string piece = base::csv_line(fields);
  for (std::size_t row = 0; row < report.rows->rows; ++row) {
    fields.clear();
    for (const Column& column : report.rows->columns) {
      if (column.key.empty() || column.nested)
        continue;
      const Value value = column.value(row);
      const auto* ends = std::get_if<List>(&value.held());
      if (!column.interval)
        fields.push_back(csv_text(value));
      else
        for (std::size_t end : {0, 1})
          fields.push_back(ends ? csv_text(ends->at(end)) : "");
    }
    piece += base::csv_line(fields);
    if (piece.size() > k_piece_bytes)
      sink(std::exchange(piece, {}));
  }
  sink(piece);
}

std::string write_markdown(const Report& report) {
  std::string out;
  for (const Section& section : report.sections) {
    if (section.only_on_pages || (section.title.empty() && section.blocks.empty()))
      continue;
    if (!out.empty())
      out += "\n";
    if (!section.title.empty())
      out += "### " + markdown_text(section.title) + (section.blocks.empty() ? "\n" : "\n\n");
    bool was_apart = false;
    for (const Block& block : section.blocks) {
      const auto* found = std::get_if<Findings>(&block);
      const bool is_apart = std::holds_alternative<View>(block) ||
                            std::holds_alternative<Code>(block) || (found && found->label.empty());
      if (&block != &section.blocks.front() && (is_apart || was_apart))
        out += "\n";
      out += markdown_block(block);
      was_apart = is_apart;
    }
  }
  return out;
}

void write(const Report& report, Format format, const Sink& sink, int columns) {
  switch (format) {
  case Format::table:
    return sink(write_text(report, columns));
  case Format::json:
    return write_json(report, sink);
  case Format::csv:
    return write_csv(report, sink);
  case Format::markdown:
    return sink(write_markdown(report));
  case Format::html:
    return write_html(report, sink);
  }
}

std::string written(const Report& report, Format format, int columns) {
  std::string all;
  write(
      report, format, [&](std::string_view piece) { all += piece; }, columns);
  return all;
}

} // namespace ncclprobe::analysis
