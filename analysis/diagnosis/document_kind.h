// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ncclprobe::analysis {

// Distinguishes a document that quotes error messages from a log in which they happened, by the
// file's beginning. A log is free text, so a file counts as a log unless it has several signs of a
// document and few log lines.
class DocumentSigns {
public:
  // Takes pieces of the file in order; only the first 64 KiB are examined.
  void feed(std::string_view piece);

  // "a Markdown document", "source code"; empty: may be a log. Feed nothing afterwards.
  std::string finish();

private:
  void look_at(std::string_view line);
  void look_for_markdown(std::string_view line);
  bool is_markdown() const;

  std::string first_line_; // that is not blank
  std::string tail_;       // an incomplete line
  std::uint64_t bytes_ = 0;
  int lines_ = 0; // that are not blank
  int log_lines_ = 0;
  int headings_ = 0;
  int fences_ = 0;
  int links_ = 0;
  int table_rows_ = 0;
  int bullets_ = 0;
  int inline_code_ = 0;
  int includes_ = 0; // of C, and imports and definitions of Python
  int tags_ = 0;     // lines that begin with one
  int json_lines_ = 0;
};

} // namespace ncclprobe::analysis
