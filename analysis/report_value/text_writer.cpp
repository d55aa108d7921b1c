// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report_value/report_writers.h"
#include "base/printable.h"
#include "base/text_table.h"

#include <algorithm>

namespace ncclprobe::analysis {
namespace {

using base::TextTable;

constexpr int k_least_of_title = 4;
constexpr int k_least_of_words = 8;
constexpr int k_least_cut = 12;
constexpr int k_wrapped_indent = 2; // before continued lines

int width_of(const std::string& text) {
  return static_cast<int>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

int longest_word_of(std::string_view text) {
  std::size_t longest = 0;
  while (!text.empty()) {
    const auto end = std::min(text.find(' '), text.size());
    longest = std::max(longest, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return static_cast<int>(longest);
}

// A table while it is fitted into a window.
class FittedTable {
public:
  FittedTable(ShownTable table, int columns) : table_(std::move(table)) {
    for (const Column* column : table_.columns) {
      limits_.push_back(column->width);
      titles_.push_back({column->title});
    }
    while (width() > columns &&
           (leave_out_one() || wrap_title() || wrap_more(width() - columns, Words::whole) ||
            wrap_more(width() - columns, Words::cut))) {
    }
  }

  std::string render(int indent) const {
    std::size_t height = 0;
    for (const auto& lines : titles_)
      height = std::max(height, lines.size());
    auto title = [&](std::size_t c,
                     std::size_t line) { // the last ones are directly above the cells
      const std::size_t above = height - titles_[c].size();
      return line < above ? std::string() : titles_[c][line - above];
    };
    std::vector<TextTable::Column> titles;
    for (std::size_t c = 0; c < titles_.size(); ++c)
      titles.push_back({title(c, 0), table_.columns[c]->align == Column::Align::left
                                         ? TextTable::Align::left
                                         : TextTable::Align::right});
    TextTable text(std::move(titles));
    for (std::size_t line = 1; line < height; ++line) {
      std::vector<std::string> cells;
      for (std::size_t c = 0; c < titles_.size(); ++c)
        cells.push_back(title(c, line));
      text.add_row(std::move(cells));
    }
    const std::vector<std::string> none(table_.columns.size());
    const std::vector<std::string>* last = &none;
    Lines rest(table_.columns.size());
    for (const auto& row : table_.cells) {
      const bool repeats = repeats_first(row, *last);
      if (!repeats)
        flush(text, rest);
      Lines below(table_.columns.size());
      std::vector<std::string> cells;
      for (std::size_t c = 0; c < row.size(); ++c)
        if (table_.columns[c]->once) {
          if (!repeats)
            rest[c] = lines_of(c, row[c]);
          cells.push_back(take_line(rest[c]));
        } else {
          below[c] = lines_of(c, row[c]);
          cells.push_back(take_line(below[c]));
        }
      text.add_row(std::move(cells));
      flush(text, below);
      last = &row;
    }
    flush(text, rest);
    std::string out = text.render(indent);
    if (!left_out_.empty())
      out += std::string(static_cast<std::size_t>(indent), ' ') +
             "left out, because the output is too narrow: " + base::join(left_out_, ", ") + "\n";
    return out;
  }

private:
  using Lines = std::vector<std::vector<std::string>>; // by column

  // For a column that is shown only when it changes: the first row of equal values.
  bool repeats_first(const std::vector<std::string>& row,
                     const std::vector<std::string>& last) const {
    bool any = false;
    for (std::size_t c = 0; c < row.size() && table_.columns[c]->once; ++c) {
      any = true;
      if (row[c] != last[c])
        return false;
    }
    return any;
  }

  std::vector<std::string> lines_of(std::size_t c, const std::string& cell) const {
    const int limit = limits_[c];
    if (limit == 0 || width_of(cell) <= limit)
      return {cell};
    std::vector<std::string> lines = base::wrap(cell, limit - k_wrapped_indent);
    for (std::size_t i = 1; i < lines.size(); ++i)
      lines[i].insert(0, k_wrapped_indent, ' ');
    return lines;
  }

  static std::string take_line(std::vector<std::string>& lines) {
    if (lines.empty())
      return "";
    std::string first = std::move(lines.front());
    lines.erase(lines.begin());
    return first;
  }

  static void flush(TextTable& text, Lines& lines) {
    while (std::any_of(lines.begin(), lines.end(), [](const auto& one) { return !one.empty(); })) {
      std::vector<std::string> cells;
      for (auto& one : lines)
        cells.push_back(take_line(one));
      text.add_row(std::move(cells));
    }
  }

  static int width_of_lines(const std::vector<std::string>& lines) {
    int width = 0;
    for (const std::string& line : lines)
      width = std::max(width, width_of(line));
    return width;
  }

  int cells_width(std::size_t c) const {
    int width = 0;
    for (const auto& row : table_.cells)
      width = std::max(width, width_of_lines(lines_of(c, row[c])));
    return width;
  }

  int width() const {
    int sum = 2 * static_cast<int>(table_.columns.size()) - 2;
    for (std::size_t c = 0; c < table_.columns.size(); ++c)
      sum += std::max(cells_width(c), width_of_lines(titles_[c]));
    return sum;
  }

  bool leave_out_one() {
    auto most = std::max_element(
        table_.columns.begin(), table_.columns.end(),
        [](const Column* a, const Column* b) { return a->dispensable < b->dispensable; });
    if (most == table_.columns.end() || (*most)->dispensable == 0)
      return false;
    const auto c = most - table_.columns.begin();
    left_out_.push_back((*most)->title);
    table_.columns.erase(most);
    limits_.erase(limits_.begin() + c);
    titles_.erase(titles_.begin() + c);
    for (auto& row : table_.cells)
      row.erase(row.begin() + c);
    return true;
  }

  // The title that exceeds its cells most.
  bool wrap_title() {
    std::size_t widest = 0;
    int most = 0, narrowest = 0;
    for (std::size_t c = 0; c < titles_.size(); ++c) {
      const int least =
          std::max({cells_width(c), longest_word_of(table_.columns[c]->title), k_least_of_title});
      if (const int gain = width_of_lines(titles_[c]) - least; gain > most) {
        most = gain;
        narrowest = least;
        widest = c;
      }
    }
    if (most > 0)
      titles_[widest] = base::wrap(table_.columns[widest]->title, narrowest);
    return most > 0;
  }

  enum class Words { whole, cut };

  // The widest text that can become narrower.
  bool wrap_more(int too_much, Words words) {
    std::size_t widest = table_.columns.size();
    int most = 0, least = 0;
    for (std::size_t c = 0; c < table_.columns.size(); ++c) {
      if (words == Words::cut && table_.columns[c]->align != Column::Align::left)
        continue; // numbers are never split
      const int width = cells_width(c);
      int longest_word = 0;
      for (const auto& row : table_.cells)
        longest_word = std::max(longest_word, longest_word_of(row[c]) + k_wrapped_indent);
      const int narrowest =
          words == Words::whole ? std::max(k_least_of_words, longest_word) : k_least_cut;
      if (width > narrowest && width > most) {
        most = width;
        least = narrowest;
        widest = c;
      }
    }
    if (widest == table_.columns.size())
      return false;
    limits_[widest] = std::max(most - too_much, least);
    return true;
  }

  ShownTable table_;
  std::vector<int> limits_;
  Lines titles_;
  std::vector<std::string> left_out_;
};

std::string text_of(const Block& block, int columns) {
  if (const auto* text = std::get_if<Text>(&block))
    return text->whole
               ? fmt::format("{:<{}}{}\n", text->label, text->hang, base::printable(text->text))
               : base::paragraph(text->label, text->text, text->hang, columns);
  if (const auto* found = std::get_if<Findings>(&block))
    return base::paragraph(found->label, in_words(found->all), found->hang, columns);
  if (const auto* code = std::get_if<Code>(&block)) {
    std::string out;
    for (const std::string& line : code->lines)
      out +=
          std::string(static_cast<std::size_t>(code->indent), ' ') + base::printable(line) + "\n";
    return out;
  }
  const View& view = std::get<View>(block);
  ShownTable table = shown_table(view);
  const std::size_t more = table.more_rows;
  std::string out = FittedTable(std::move(table), columns - view.indent).render(view.indent);
  return more == 0 ? out : out + fmt::format("  ... {} more (JSON has them)\n", more);
}

} // namespace

std::string write_text(const Report& report, int columns) {
  std::string out;
  for (const Section& section : report.sections) {
    if (section.only_on_pages || (section.title.empty() && section.blocks.empty()))
      continue;
    if (!out.empty())
      out += "\n";
    if (!section.title.empty())
      out += base::paragraph("", section.title, section.hang, columns);
    for (const Block& block : section.blocks)
      out += text_of(block, columns);
  }
  return out;
}

} // namespace ncclprobe::analysis
