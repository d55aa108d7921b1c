// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "tuning/hit_counts.h"

#include "tuning/table_words.h"

#include <limits>

namespace ncclprobe::tuning {
namespace {

constexpr std::string_view k_hits_first_line = "# ncclprobe tuner hits: 1";
constexpr std::string_view k_hits_columns = "row,applied,impossible";
constexpr std::uint64_t k_most_calls = std::numeric_limits<std::uint64_t>::max();

// The rest of a line that begins so.
Result<std::string_view> take_value(std::string_view& text, Place& place, std::string_view start) {
  const std::string_view line = take_line(text);
  ++place.line;
  if (!line.starts_with(start))
    return fail_at(place, "the line does not begin with '{}'", start);
  return line.substr(start.size());
}

} // namespace

std::string to_text(const HitCounts& counts) {
  std::string text =
      fmt::format("{}\n# sha256: {}\n# without_row: {}\n# set_aside: {}\n{}\n", k_hits_first_line,
                  counts.sha256, counts.without_row, counts.set_aside, k_hits_columns);
  for (std::size_t i = 0; i < counts.rows.size(); ++i)
    text += fmt::format("{},{},{}\n", i + 1, counts.rows[i].applied, counts.rows[i].impossible);
  return text;
}

Result<HitCounts> parse_hit_counts(std::string_view text, std::string_view name) {
  HitCounts counts;
  Place place{name, 0};
  NCCLPROBE_TRY(take_value(text, place, k_hits_first_line));
  NCCLPROBE_TRY_ASSIGN(const std::string_view sha256, take_value(text, place, "# sha256: "));
  counts.sha256 = sha256;
  NCCLPROBE_TRY_ASSIGN(const std::string_view none, take_value(text, place, "# without_row: "));
  NCCLPROBE_TRY_ASSIGN(counts.without_row,
                       number_at<std::uint64_t>(place, "without_row", none, 0, k_most_calls));
  NCCLPROBE_TRY_ASSIGN(const std::string_view aside, take_value(text, place, "# set_aside: "));
  NCCLPROBE_TRY_ASSIGN(counts.set_aside,
                       number_at<std::uint64_t>(place, "set_aside", aside, 0, k_most_calls));
  NCCLPROBE_TRY(take_value(text, place, k_hits_columns));
  while (!text.empty()) {
    const std::vector<std::string_view> fields = fields_of(take_line(text));
    ++place.line;
    if (fields.size() != 3)
      return fail_at(place, "{} fields instead of 3", fields.size());
    const std::size_t next = counts.rows.size() + 1;
    NCCLPROBE_TRY(number_at(place, "row", fields[0], next, next));
    RowHits row;
    NCCLPROBE_TRY_ASSIGN(row.applied,
                         number_at<std::uint64_t>(place, "applied", fields[1], 0, k_most_calls));
    NCCLPROBE_TRY_ASSIGN(row.impossible,
                         number_at<std::uint64_t>(place, "impossible", fields[2], 0, k_most_calls));
    counts.rows.push_back(row);
  }
  return counts;
}

} // namespace ncclprobe::tuning
