// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "tuning/table.h"

#include "tuning/table_words.h"

#include "base/printable.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

namespace ncclprobe::tuning {
namespace {

constexpr std::string_view k_first_line = "# ncclprobe tuner table: 1";
constexpr std::array<std::string_view, 11> k_columns{
    "collective", "min_bytes", "max_bytes", "ranks",  "nodes", "nvlink_domains",
    "algorithm",  "protocol",  "channels",  "min_us", "max_us"};
constexpr std::string_view k_any = "any";
constexpr int k_most_ranks = 10'000'000;
constexpr double k_longest_us = 1e12;

// "2.30.7", as the plugin compares it.
bool is_release(std::string_view text) {
  return std::ranges::count(text, '.') == 2 && text.find("..") == std::string_view::npos &&
         !text.starts_with('.') && !text.ends_with('.') &&
         text.find_first_not_of("0123456789.") == std::string_view::npos;
}

Result<void> read_header_line(Header& header, std::string_view line, const Place& place) {
  const std::size_t colon = line.find(": ");
  if (!line.starts_with("# ") || colon == std::string_view::npos)
    return fail_at(place, "a line of the header is '# key: value'");
  const std::string_view key = line.substr(2, colon - 2);
  const auto* known =
      std::ranges::find(k_header_keys, key, [](const auto& one) { return one.first; });
  if (known == k_header_keys.end()) {
    std::vector<std::string_view> names;
    for (const auto& one : k_header_keys)
      names.push_back(one.first);
    return fail_at(place, "'{}' is not one of {}", base::printable(key), fmt::join(names, ", "));
  }
  std::string& value = header.*known->second;
  if (!value.empty())
    return fail_at(place, "{} is there twice", key);
  value = line.substr(colon + 2);
  if (value != base::printable(value) || value.empty())
    return fail_at(place, "{}: the value is empty or has characters that do not print", key);
  if (key == "nccl" && !is_release(value))
    return fail_at(place, "nccl: '{}' is not a release such as 2.30.7", value);
  return {};
}

Result<std::optional<NvlinkDomains>> read_domains(std::string_view text, const Place& place) {
  if (text == k_any)
    return std::nullopt;
  constexpr std::string_view column = "nvlink_domains";
  const std::size_t x = std::min(text.find('x'), text.size());
  std::string_view ranks = text.substr(std::min(x + 1, text.size()));
  const std::size_t dash = std::min(ranks.find('-'), ranks.size());
  NvlinkDomains domains;
  NCCLPROBE_TRY_ASSIGN(domains.count, number_at(place, column, text.substr(0, x), 1, k_most_ranks));
  NCCLPROBE_TRY_ASSIGN(domains.least_ranks,
                       number_at(place, column, ranks.substr(0, dash), 1, k_most_ranks));
  domains.most_ranks = domains.least_ranks;
  if (dash < ranks.size()) {
    NCCLPROBE_TRY_ASSIGN(domains.most_ranks, number_at(place, column, ranks.substr(dash + 1),
                                                       domains.least_ranks + 1, k_most_ranks));
  }
  return domains;
}

Result<std::optional<Choice>> read_choice(std::string_view algorithm, std::string_view protocol,
                                          const Place& place) {
  if (algorithm.empty() && protocol.empty())
    return std::nullopt;
  if (algorithm.empty() || protocol.empty())
    return fail_at(place, "a row has both an algorithm and a protocol, or neither");
  Choice choice;
  NCCLPROBE_TRY_ASSIGN(choice.algorithm,
                       word_at(place, "algorithm", algorithm, enum_names(Algorithm{})));
  NCCLPROBE_TRY_ASSIGN(choice.protocol,
                       word_at(place, "protocol", protocol, enum_names(Protocol{})));
  return choice;
}

Result<std::optional<Estimate>> read_estimate(std::string_view at_min, std::string_view at_max,
                                              const Place& place) {
  if (at_min.empty() && at_max.empty())
    return std::nullopt;
  Estimate estimate;
  NCCLPROBE_TRY_ASSIGN(estimate.at_min_us, number_at(place, "min_us", at_min, 0.0, k_longest_us));
  NCCLPROBE_TRY_ASSIGN(estimate.at_max_us, number_at(place, "max_us", at_max, 0.0, k_longest_us));
  return estimate;
}

Result<Row> read_row(std::string_view line, const Place& place) {
  const std::vector<std::string_view> fields = fields_of(line);
  if (fields.size() != k_columns.size())
    return fail_at(place, "{} fields; a row has {}", fields.size(), k_columns.size());
  Row row;
  NCCLPROBE_TRY_ASSIGN(row.collective, word_at(place, k_columns[0], fields[0],
                                               model::enum_names(model::Collective{})));
  if (!tuned_number(row.collective))
    return fail_at(place, "NCCL never asks a tuner about {}", fields[0]);
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  NCCLPROBE_TRY_ASSIGN(row.min_bytes,
                       number_at<std::uint64_t>(place, k_columns[1], fields[1], 0, most));
  NCCLPROBE_TRY_ASSIGN(
      row.max_bytes, number_at<std::uint64_t>(place, k_columns[2], fields[2], row.min_bytes, most));
  NCCLPROBE_TRY_ASSIGN(row.ranks, number_at(place, k_columns[3], fields[3], 2, k_most_ranks));
  NCCLPROBE_TRY_ASSIGN(row.nodes, number_at(place, k_columns[4], fields[4], 1, row.ranks));
  NCCLPROBE_TRY_ASSIGN(row.domains, read_domains(fields[5], place));
  NCCLPROBE_TRY_ASSIGN(row.choice, read_choice(fields[6], fields[7], place));
  if (fields[8] != "-1") {
    NCCLPROBE_TRY_ASSIGN(row.channels,
                         number_at(place, k_columns[8], fields[8], 1, k_most_channels));
  }
  NCCLPROBE_TRY_ASSIGN(row.estimate, read_estimate(fields[9], fields[10], place));
  if (!row.choice && row.channels == k_keep_channels)
    return fail_at(place, "the row chooses nothing: leave it out to keep NCCL's own choice");
  return row;
}

bool same_communicators(const Row& a, const Row& b) {
  return a.collective == b.collective && a.ranks == b.ranks && a.nodes == b.nodes;
}

} // namespace

std::string to_text(const NvlinkDomains& domains) {
  std::string text = fmt::format("{}x{}", domains.count, domains.least_ranks);
  return domains.most_ranks == domains.least_ranks ? text
                                                   : fmt::format("{}-{}", text, domains.most_ranks);
}

std::optional<int> tuned_number(model::Collective collective) {
  const auto* found = std::ranges::find(k_tuned_collectives, collective);
  if (found == k_tuned_collectives.end())
    return std::nullopt;
  return static_cast<int>(found - k_tuned_collectives.begin());
}

Result<void> check_overlaps(const std::vector<Row>& rows, const std::vector<int>& lines,
                            std::string_view file) {
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, [&](std::size_t at) {
    const Row& row = rows[at];
    return std::tuple(row.collective, row.ranks, row.nodes, row.min_bytes, at);
  });
  for (std::size_t i = 0; i < order.size(); ++i)
    for (std::size_t j = i + 1; j < order.size(); ++j) {
      const Row &one = rows[order[i]], &other = rows[order[j]];
      if (!same_communicators(one, other) || other.min_bytes > one.max_bytes)
        break;
      if (!one.domains || !other.domains || one.domains == other.domains)
        return fail_at({file, std::max(lines[order[i]], lines[order[j]])},
                       "the row overlaps that of line {}: both cover {} bytes",
                       std::min(lines[order[i]], lines[order[j]]), other.min_bytes);
    }
  return {};
}

Result<Table> parse_table(std::string_view text, std::string_view name) {
  if (text.size() > k_most_table_bytes)
    return fail(Errc::protocol, "{}: more than {} bytes", name, k_most_table_bytes);
  Place place{name, 1};
  if (take_line(text) != k_first_line)
    return fail_at(place, "not a tuner table: its first line is not '{}'", k_first_line);
  Table table;
  std::vector<int> lines;
  bool in_rows = false;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    ++place.line;
    if (in_rows) {
      if (table.rows.size() == k_most_rows)
        return fail_at(place, "more than {} rows", k_most_rows);
      NCCLPROBE_TRY_ASSIGN(Row row, read_row(line, place));
      table.rows.push_back(row);
      lines.push_back(place.line);
    } else if (line.starts_with('#')) {
      NCCLPROBE_TRY(read_header_line(table.header, line, place));
    } else if (line == fmt::format("{}", fmt::join(k_columns, ","))) {
      in_rows = true;
    } else {
      return fail_at(place, "expected the names of the columns: {}", fmt::join(k_columns, ","));
    }
  }
  if (!in_rows)
    return fail_at(place, "the names of the columns are missing");
  NCCLPROBE_TRY(check_overlaps(table.rows, lines, name));
  return table;
}

std::string to_text(const Table& table) {
  std::string text(k_first_line);
  for (const auto& [key, member] : k_header_keys)
    if (const std::string value = base::printable(table.header.*member); !value.empty())
      text += fmt::format("\n# {}: {}", key, value);
  text += fmt::format("\n{}\n", fmt::join(k_columns, ","));
  for (const Row& row : table.rows)
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{}\n", to_string(row.collective),
                        row.min_bytes, row.max_bytes, row.ranks, row.nodes,
                        row.domains ? to_text(*row.domains) : std::string(k_any),
                        row.choice ? to_string(row.choice->algorithm) : "",
                        row.choice ? to_string(row.choice->protocol) : "", row.channels,
                        row.estimate ? fmt::format("{}", row.estimate->at_min_us) : "",
                        row.estimate ? fmt::format("{}", row.estimate->at_max_us) : "");
  return text;
}

} // namespace ncclprobe::tuning
