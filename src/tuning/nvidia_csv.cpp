// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "tuning/nvidia_csv.h"

#include "tuning/table_words.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

namespace ncclprobe::tuning {
namespace {

using model::Collective;

constexpr std::size_t k_least_fields = 8;
constexpr std::size_t k_most_fields = 10;
constexpr std::size_t k_longest_line = 254; // its buffer has 256 bytes
constexpr int k_largest = std::numeric_limits<int>::max();
constexpr std::size_t k_most_pieces = k_most_rows;

constexpr auto k_nvidia_collectives = std::to_array<std::pair<Collective, std::string_view>>(
    {{Collective::broadcast, "broadcast"},
     {Collective::reduce, "reduce"},
     {Collective::all_gather, "allgather"},
     {Collective::reduce_scatter, "reducescatter"},
     {Collective::all_reduce, "allreduce"}});
constexpr auto k_nvidia_algorithms = std::to_array<std::pair<Algorithm, std::string_view>>(
    {{Algorithm::tree, "tree"},
     {Algorithm::ring, "ring"},
     {Algorithm::collnet_direct, "collnet_direct"},
     {Algorithm::collnet_chain, "collnet_chain"},
     {Algorithm::nvls, "nvls"},
     {Algorithm::nvls_tree, "nvls_tree"},
     {Algorithm::pat, "pat"}});
constexpr auto k_nvidia_protocols = std::to_array<std::pair<Protocol, std::string_view>>(
    {{Protocol::ll, "ll"}, {Protocol::ll128, "ll128"}, {Protocol::simple, "simple"}});

template <typename Names, typename T>
std::string_view word_of(const Names& names, T value) {
  return std::ranges::find(names, value, [](const auto& one) { return one.first; })->second;
}

std::string_view trimmed_field(std::string_view text) {
  const std::size_t first = std::min(text.find_first_not_of(" \t"), text.size());
  const std::size_t last = text.find_last_not_of(" \t");
  return text.substr(first, last == std::string_view::npos ? 0 : last + 1 - first);
}

struct NvidiaRow {
  Row row;
  int ranks = -1, nodes = -1; // -1: any
  int operations = -1, registered = -1;
};

Result<NvidiaRow> read_nvidia_row(std::string_view line, const Place& place) {
  std::vector<std::string_view> fields = fields_of(line);
  std::ranges::transform(fields, fields.begin(), trimmed_field);
  if (fields.size() < k_least_fields || fields.size() > k_most_fields)
    return fail_at(place, "{} fields; a row has {} to {}", fields.size(), k_least_fields,
                   k_most_fields);
  NvidiaRow read;
  Row& row = read.row;
  NCCLPROBE_TRY_ASSIGN(row.collective,
                       word_at(place, "collective_type", fields[0], k_nvidia_collectives));
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  NCCLPROBE_TRY_ASSIGN(row.min_bytes,
                       number_at<std::uint64_t>(place, "min_bytes", fields[1], 0, most));
  NCCLPROBE_TRY_ASSIGN(
      row.max_bytes, number_at<std::uint64_t>(place, "max_bytes", fields[2], row.min_bytes, most));
  Choice choice;
  NCCLPROBE_TRY_ASSIGN(choice.algorithm,
                       word_at(place, "algorithm", fields[3], k_nvidia_algorithms));
  NCCLPROBE_TRY_ASSIGN(choice.protocol, word_at(place, "protocol", fields[4], k_nvidia_protocols));
  row.choice = choice;
  if (fields[5] != "-1") {
    NCCLPROBE_TRY_ASSIGN(row.channels, number_at(place, "channels", fields[5], 1, k_most_channels));
  }
  NCCLPROBE_TRY_ASSIGN(read.nodes, number_at(place, "nNodes", fields[6], -1, k_largest));
  NCCLPROBE_TRY_ASSIGN(read.ranks, number_at(place, "nRanks", fields[7], -1, k_largest));
  if (fields.size() > 8) {
    NCCLPROBE_TRY_ASSIGN(read.operations, number_at(place, "numPipeOps", fields[8], -1, k_largest));
  }
  if (fields.size() > 9) {
    NCCLPROBE_TRY_ASSIGN(read.registered, number_at(place, "regBuff", fields[9], -1, 1));
  }
  return read;
}

// Why a table cannot hold the row; empty if it can.
std::string_view why_left_out(const NvidiaRow& read) {
  if (read.ranks < 0 || read.nodes < 0)
    return "it is for any number of ranks or nodes, and a table only has rows for communicators "
           "that were measured";
  if (read.ranks < 2 || read.nodes < 1 || read.nodes > read.ranks)
    return "no communicator has this number of ranks and nodes";
  if (read.operations >= 0)
    return "it is only for calls with this numPipeOps";
  if (read.registered >= 0)
    return "it is only for buffers with this regBuff";
  return "";
}

using Sizes = std::vector<std::pair<std::uint64_t, std::uint64_t>>; // first and last, by size

// The parts of min..max that `taken` lacks.
Sizes free_parts(const Sizes& taken, std::uint64_t min, std::uint64_t max) {
  Sizes parts;
  for (const auto& [first, last] : taken) {
    if (last < min)
      continue;
    if (first > max)
      break;
    if (first > min)
      parts.emplace_back(min, first - 1);
    if (last >= max)
      return parts;
    min = last + 1;
  }
  parts.emplace_back(min, max);
  return parts;
}

auto key_of(const Row& row) {
  return std::tuple(row.collective, row.ranks, row.nodes);
}

std::string in_words(const Row& row) {
  return fmt::format("{} on {} ranks and {} node{}", to_string(row.collective), row.ranks,
                     row.nodes, row.nodes == 1 ? "" : "s");
}

// Where the example tuner forces one channel because no row covers the size.
void remark_gaps(const Table& table, std::vector<std::string>& remarks) {
  std::map<std::tuple<Collective, int, int>, std::vector<const Row*>> groups;
  for (const Row& row : table.rows)
    groups[key_of(row)].push_back(&row);
  for (auto& [key, rows] : groups) {
    std::ranges::sort(rows, {}, &Row::min_bytes);
    std::vector<std::string> gaps;
    std::uint64_t next = 0;
    bool to_the_end = false;
    for (const Row* row : rows) {
      if (row->min_bytes > next && !to_the_end)
        gaps.push_back(fmt::format("{} to {}", next, row->min_bytes - 1));
      to_the_end = to_the_end || row->max_bytes == std::numeric_limits<std::uint64_t>::max();
      next = to_the_end ? next : std::max(next, row->max_bytes + 1);
    }
    if (!to_the_end)
      gaps.push_back(fmt::format("{} and more", next));
    if (!gaps.empty())
      remarks.push_back(fmt::format("NVIDIA's example tuner forces one channel for {} of these "
                                    "sizes in bytes, which no row covers: {}.",
                                    in_words(*rows.front()), fmt::join(gaps, ", ")));
  }
  remarks.emplace_back("It also forces one channel for every collective and communicator that no "
                       "row names.");
}

} // namespace

bool is_table(std::string_view text) {
  return take_line(text).starts_with("# ncclprobe tuner table:");
}

Result<FromNvidia> from_nvidia_csv(std::string_view text, std::string_view name) {
  if (text.size() > k_most_table_bytes)
    return fail(Errc::protocol, "{}: more than {} bytes", name, k_most_table_bytes);
  FromNvidia from;
  Place place{name, 0};
  std::map<std::tuple<Collective, int, int>, Sizes> taken;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    ++place.line;
    if (line.empty() || line.starts_with('#'))
      continue;
    if (line.size() > k_longest_line)
      return fail_at(place, "more than {} characters, which the example tuner reads as two lines",
                     k_longest_line);
    NCCLPROBE_TRY_ASSIGN(NvidiaRow read, read_nvidia_row(line, place));
    if (const std::string_view why = why_left_out(read); !why.empty()) {
      from.remarks.push_back(fmt::format("Line {} is left out: {}.", place.line, why));
      continue;
    }
    Row& row = read.row;
    row.ranks = read.ranks;
    row.nodes = read.nodes;
    Sizes& sizes = taken[key_of(row)];
    const Sizes parts = free_parts(sizes, row.min_bytes, row.max_bytes);
    if (parts.size() != 1 || parts.front() != std::pair(row.min_bytes, row.max_bytes))
      from.remarks.push_back(fmt::format(
          "Line {} loses the sizes that earlier lines have: the first match decides.", place.line));
    if (from.table.rows.size() + parts.size() > k_most_pieces)
      return fail_at(place, "more than {} rows", k_most_pieces);
    for (const auto& [min, max] : parts) {
      row.min_bytes = min;
      row.max_bytes = max;
      from.table.rows.push_back(row);
      sizes.insert(std::ranges::upper_bound(sizes, std::pair(min, max)), {min, max});
    }
  }
  return from;
}

Result<ToNvidia> to_nvidia_csv(const Table& table) {
  ToNvidia to;
  bool lost_domains = false, lost_estimates = false;
  to.text = "# Made by ncclprobe\n"
            "# collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks\n";
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const Row& row = table.rows[i];
    if (row.channels == k_keep_channels)
      return fail(Errc::unsupported,
                  "row {} leaves the channels to NCCL: NVIDIA's example tuner would force one "
                  "channel",
                  i + 1);
    if (!row.choice)
      return fail(Errc::unsupported,
                  "row {} leaves the algorithm to NCCL: NVIDIA's example tuner would force Ring "
                  "with Simple",
                  i + 1);
    to.text += fmt::format(
        "{},{},{},{},{},{},{},{}\n", word_of(k_nvidia_collectives, row.collective), row.min_bytes,
        row.max_bytes, word_of(k_nvidia_algorithms, row.choice->algorithm),
        word_of(k_nvidia_protocols, row.choice->protocol), row.channels, row.nodes, row.ranks);
    lost_domains |= row.domains.has_value();
    lost_estimates |= row.estimate.has_value();
  }
  if (table.header != Header{})
    to.remarks.emplace_back("The machine, the versions and the gain are not in the file: the "
                            "example tuner decides on any machine.");
  if (lost_domains)
    to.remarks.emplace_back("The NVLink domains are not in the file: its rows apply to any.");
  if (lost_estimates)
    to.remarks.emplace_back("NCCL's estimates, which identify the machine, are not in the file.");
  remark_gaps(table, to.remarks);
  return to;
}

} // namespace ncclprobe::tuning
