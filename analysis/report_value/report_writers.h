// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_value.h"
#include "base/enum_names.h"
#include "base/error.h"
#include "base/text_layout.h"

#include <string>
#include <vector>

// The formats of a report. Text from other files and machines is made safe for each format here
// (base/printable.h).
namespace ncclprobe::analysis {

// For a terminal of this many columns, 80 or more. A table that is too wide first drops its most
// dispensable columns. Then its titles and its widest texts continue in lines below.
std::string write_text(const Report& report, int columns = base::k_report_columns);

// Takes text in pieces that never split a character.
using Sink = std::function<void(std::string_view piece)>;
inline constexpr std::size_t k_piece_bytes = std::size_t{1} << 16; // or one row more

// One object, indented by two: the data, then the findings if there are any. Text that is not UTF-8
// has its bad bytes replaced. Ends with a newline.
void write_json(const Report& report, const Sink& sink);

// RFC 4180 with a header line: the columns of `report.rows` that have a key. Null is an empty
// field; numbers have up to nine digits. An interval "time_ms" becomes the fields time_ms_low,
// time_ms_high.
void write_csv(const Report& report, const Sink& sink);

// Tables with pipes, for issues and pull requests. All columns, regardless of width.
std::string write_markdown(const Report& report);

// One HTML file without references to others: verdict first, tables that sort, charts. It needs a
// browser with JavaScript. What comes from files and machines of others is data in it and never
// markup or script; its Content Security Policy forbids every script but its own, and all network.
// Only if has_page() (analysis/page/page_bundle.h).
void write_html(const Report& report, const Sink& sink);

enum class Format { table, json, csv, markdown, html };
// Errors: unsupported, with what to install, if this build cannot write the format.
base::Result<void> check_format(Format format);
// `columns`: as in write_text().
void write(const Report& report, Format format, const Sink& sink,
           int columns = base::k_report_columns);
std::string written(const Report& report, Format format, int columns = base::k_report_columns);

// A view's columns and rows as texts, in the order in which people see them.
struct ShownTable {
  std::vector<const Column*> columns;
  std::vector<std::vector<std::string>> cells; // by row, as many as columns
  std::size_t more_rows = 0;                   // that the view omits
};
ShownTable shown_table(const View& view);

} // namespace ncclprobe::analysis
