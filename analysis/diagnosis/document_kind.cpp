// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/diagnosis/document_kind.h"

#include "analysis/diagnosis/log_line.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace ncclprobe::analysis {
namespace {

constexpr std::uint64_t k_looked_at_bytes = 64 * 1024;
// Documents are shorter; the beginning of a longer file is not enough evidence.
constexpr std::uint64_t k_longest_document = 1 << 20;

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool is_letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0;
}

std::string_view trimmed(std::string_view line) {
  constexpr std::string_view k_blanks = " \t\r";
  std::size_t begin = line.find_first_not_of(k_blanks);
  if (begin == std::string_view::npos)
    return {};
  return line.substr(begin, line.find_last_not_of(k_blanks) - begin + 1);
}

// Starts with a prefix of a launcher, a framework, NCCL or the kernel, or with words that only they
// write.
bool is_log_line(std::string_view line) {
  constexpr std::array k_marks{"NCCL WARN", "NCCL INFO", "NVRM: ", "Traceback (most recent"};
  LogLine parts = read_log_line(line);
  return parts.rank || parts.local_rank || parts.time || !parts.process.empty() ||
         std::ranges::any_of(k_marks, [&](const char* mark) { return line.starts_with(mark); });
}

// "### How to build"
bool is_heading(std::string_view line) {
  std::size_t level = line.find_first_not_of('#');
  return level != std::string_view::npos && level >= 1 && level <= 6 && line.size() > level + 1 &&
         line[level] == ' ' && is_letter(line[level + 1]);
}

// "- Words", "* **Words**"
bool is_bullet(std::string_view line) {
  return line.size() > 3 && (line[0] == '-' || line[0] == '*') && line[1] == ' ' &&
         (is_letter(line[2]) || line[2] == '`' || line[2] == '*' || line[2] == '[');
}

bool is_source(std::string_view line) {
  return std::ranges::any_of(
      std::array{"#include ", "#pragma ", "import ", "from ", "def ", "class ", "namespace "},
      [&](const char* begin) { return line.starts_with(begin); });
}

} // namespace

void DocumentSigns::feed(std::string_view piece) {
  std::uint64_t before = std::min(bytes_, k_looked_at_bytes);
  bytes_ += piece.size();
  piece = piece.substr(0, k_looked_at_bytes - before);
  while (!piece.empty()) {
    std::size_t end = piece.find('\n');
    tail_ += piece.substr(0, end);
    if (end == std::string_view::npos)
      return;
    look_at(tail_);
    tail_.clear();
    piece.remove_prefix(end + 1);
  }
}

void DocumentSigns::look_at(std::string_view line) {
  std::string_view words = trimmed(line);
  if (words.empty())
    return;
  if (lines_++ == 0)
    first_line_ = words;
  if (is_log_line(line)) {
    ++log_lines_;
    return;
  }
  includes_ += is_source(line);
  tags_ +=
      words.size() > 1 && words[0] == '<' && !std::isdigit(static_cast<unsigned char>(words[1]));
  json_lines_ += std::string_view("\"{}[]").find(words[0]) != std::string_view::npos;
  look_for_markdown(words);
}

void DocumentSigns::look_for_markdown(std::string_view line) {
  headings_ += is_heading(line);
  fences_ += line.starts_with("```");
  links_ += contains(line, "](");
  table_rows_ += line.size() > 2 && line.front() == '|' && line.back() == '|';
  bullets_ += is_bullet(line);
  inline_code_ += std::ranges::count(line, '`') == 2;
}

bool DocumentSigns::is_markdown() const {
  // Logs may contain lines of '#', tables, lists and names in backticks, but no fenced code and no
  // links, and only few of the former together.
  bool only_markdown_has =
      fences_ >= 2 || links_ >= 1 || (headings_ >= 3 && inline_code_ >= 5 && bullets_ >= 5);
  int kinds = 0;
  for (bool seen : {fences_ >= 2, links_ >= 1, table_rows_ >= 2, bullets_ >= 2, inline_code_ >= 2})
    kinds += seen;
  return headings_ >= 1 && only_markdown_has && kinds >= 2;
}

std::string DocumentSigns::finish() {
  look_at(tail_);
  if (bytes_ > k_longest_document || log_lines_ * 4 >= std::max(lines_, 1))
    return "";
  for (const char* begin : {"<?xml", "<!DOCTYPE", "<!doctype", "<html"})
    if (first_line_.starts_with(begin))
      return "an XML or HTML document";
  if (first_line_.starts_with('<') && tags_ * 2 >= lines_)
    return "an XML or HTML document";
  if ((first_line_ == "{" || first_line_ == "[") && json_lines_ * 10 >= lines_ * 9)
    return "a JSON document";
  if (first_line_.starts_with("#!") || includes_ >= 3)
    return "source code";
  return is_markdown() ? "a Markdown document" : "";
}

} // namespace ncclprobe::analysis
