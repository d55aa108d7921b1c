// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ncclprobe::analysis {

// Tells a document that quotes error messages from a log in which they happened, by how the file
// begins. A log is free text, so a file is taken for one unless it has several signs of a document
// and few lines of a log.
class DocumentSigns {
public:
  // Pieces of the file in their order; only the first 64 KiB are looked at.
  void feed(std::string_view piece);

  // "a Markdown document", "source code"; empty: may be a log. Nothing may be fed afterwards.
  std::string finish();

private:
  void look_at(std::string_view line);
  void look_for_markdown(std::string_view line);
  bool is_markdown() const;

  std::string first_line_; // that is not blank
  std::string tail_;       // a line whose end is still to come
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
