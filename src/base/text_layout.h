// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

// Pieces of text for a terminal.
namespace ncclprobe::base {

inline constexpr int k_report_columns = 100;
inline constexpr std::size_t k_rows_shown = 40; // of long tables; JSON has all

// Words of `text`, made printable, in lines of at most `columns`; a word that is longer is cut in
// its middle ("a...z"). At least one line.
std::vector<std::string> wrap(std::string_view text, int columns);

// "title  text", wrapped into `columns`. Further lines start under the text, which begins `hang`
// columns in. Ends with a newline.
std::string paragraph(std::string_view title, std::string_view text, int hang,
                      int columns = k_report_columns);

// Last `count` non-empty lines, printable.
std::vector<std::string> last_lines(std::string_view text, std::size_t count);

// "64K", "64K-16M (9 sizes)".
std::string format_size_range(const std::set<std::uint64_t>& sizes);

// Two decimals; four below 0.01, so small messages are not all 0.00. "-" if absent.
std::string format_number(std::optional<double> value);
std::string grouped(std::uint64_t number); // "12,000"

// "64K"; four digits of its unit if it is not a round number of it: "97.66M".
std::string size_text(std::uint64_t bytes);

// "1.05x"; with more decimals where two would make it 1.
std::string ratio_text(double ratio);

// Milliseconds in five digits or fewer.
std::string ms_text(double ns);

// How far a ratio is above 1: "0.024%", "3.1%", "120%".
std::string percent_above(double ratio);

// "1 process", "3 processes".
std::string count_of(std::size_t count, std::string_view one, std::string_view many);

std::string join(const std::vector<std::string>& parts, std::string_view separator);

} // namespace ncclprobe::base
