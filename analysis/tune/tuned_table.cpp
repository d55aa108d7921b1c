// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/tune/tuned_table.h"

#include "analysis/proof/nccl_log.h"
#include "base/parse_enum.h"
#include "workload/nccl_selection.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>
#include <tuple>

namespace ncclprobe::analysis::tune {
namespace {

// The value of a parameter; empty: not set, or no such parameter.
std::string value_of(const search::Space& space, const search::Candidate& candidate,
                     std::string_view name) {
  for (std::size_t i = 0; i < candidate.size(); ++i)
    if (space.parameters[i].name == name)
      return space.parameters[i].values[static_cast<std::size_t>(candidate[i])];
  return "";
}

// A table's row names both or none: NCCL would need both to be forced.
std::optional<tuning::Choice> choice_of(const search::Space& space,
                                        const search::Candidate& candidate) {
  const auto algorithm =
      base::parse_enum<tuning::Algorithm>(value_of(space, candidate, "algorithm"), "algorithm");
  const auto protocol =
      base::parse_enum<tuning::Protocol>(value_of(space, candidate, "protocol"), "protocol");
  if (!algorithm || !protocol)
    return std::nullopt;
  return tuning::Choice{*algorithm, *protocol};
}

std::optional<tuning::Row> row_of(const search::Space& space, const search::Decision& decision,
                                  const model::CellLabel& label, const TunedShape& shape) {
  const model::CollectiveLabel* collective = label.collective();
  if (!decision.proven || !collective || !tuning::tuned_number(collective->collective))
    return std::nullopt;
  const int split = std::max(1, collective->split);
  if (split > 1 && shape.nodes > 1) // nobody knows how many nodes a part of the ranks spans
    return std::nullopt;
  tuning::Row row;
  row.collective = collective->collective;
  row.min_bytes = row.max_bytes = label.bytes;
  row.ranks = shape.ranks / split;
  row.nodes = shape.nodes;
  row.choice = choice_of(space, decision.candidate);
  const std::string channels = value_of(space, decision.candidate, "channels");
  std::from_chars(channels.data(), channels.data() + channels.size(), row.channels);
  if (!row.choice && row.channels == tuning::k_keep_channels)
    return std::nullopt;
  return row;
}

// To picoseconds: sums of NCCL's figures then print without the digits of rounding errors.
double rounded_us(double us) {
  constexpr double k_per_us = 1e6;
  return std::round(us * k_per_us) / k_per_us;
}

std::optional<tuning::Estimate> estimate_of(const tuning::Row& row, const TuningTable& table) {
  for (const TunedAlgorithm& one : table.algorithms) {
    if (one.function != workload::nccl_function(row.collective) || one.algorithm != "RING" ||
        one.protocol != "SIMPLE")
      continue;
    const TunedTime at_min = tuned_time(one, row.min_bytes, table.nodes);
    const TunedTime at_max = tuned_time(one, row.max_bytes, table.nodes);
    if (at_min.is_whole && at_max.is_whole)
      return tuning::Estimate{rounded_us(at_min.time_us), rounded_us(at_max.time_us)};
  }
  return std::nullopt;
}

// Communicators of the row's size may differ in this; the row is then for any.
std::optional<tuning::NvlinkDomains> domains_of(const tuning::Row& row,
                                                const std::vector<DomainsLine>& lines) {
  std::optional<tuning::NvlinkDomains> domains;
  for (const DomainsLine& line : lines) {
    if (line.ranks != row.ranks || line.nodes != row.nodes)
      continue;
    const tuning::NvlinkDomains one{line.domains, line.least_ranks, line.most_ranks};
    if (domains && *domains != one)
      return std::nullopt;
    domains = one;
  }
  return domains;
}

struct Measured {
  model::Collective collective;
  int split;
  std::uint64_t bytes;
  std::optional<tuning::Row> row;
};

} // namespace

std::vector<tuning::Row> tuned_rows(const search::Space& space, const search::Outcome& outcome,
                                    const std::vector<model::CellLabel>& labels,
                                    const TunedShape& shape) {
  std::vector<Measured> measured;
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (const auto* collective = labels[i].collective())
      measured.push_back({collective->collective, collective->split, labels[i].bytes,
                          row_of(space, outcome.table[i], labels[i], shape)});
  std::ranges::stable_sort(measured, {}, [](const Measured& one) {
    return std::tuple(one.collective, one.split, one.bytes);
  });
  std::vector<tuning::Row> rows;
  const Measured* last = nullptr;
  for (const Measured& one : measured) {
    const bool goes_on = last && last->row && one.row && last->collective == one.collective &&
                         last->split == one.split && last->row->choice == one.row->choice &&
                         last->row->channels == one.row->channels;
    if (goes_on)
      rows.back().max_bytes = one.bytes;
    else if (one.row)
      rows.push_back(*one.row);
    last = &one;
  }
  return rows;
}

void complete_rows(std::vector<tuning::Row>& rows, const model::TrialRecord& companion) {
  std::vector<TuningTable> tables;
  std::vector<DomainsLine> domains;
  for (const model::Evidence& evidence : companion.evidence) {
    NcclLog log = read_nccl_log(evidence.log);
    std::ranges::move(log.tables, std::back_inserter(tables));
    std::ranges::move(log.domains, std::back_inserter(domains));
  }
  for (tuning::Row& row : rows) {
    row.domains = domains_of(row, domains);
    for (const TuningTable& table : tables)
      if (table.ranks == row.ranks && table.nodes == row.nodes) {
        if (table.channels > 0)
          row.channels = std::min(row.channels, table.channels);
        if (!row.estimate)
          row.estimate = estimate_of(row, table);
      }
  }
}

} // namespace ncclprobe::analysis::tune
