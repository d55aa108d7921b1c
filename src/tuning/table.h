// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "model/collective.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// A tuner table: which algorithm, protocol and channels NCCL shall use for which calls. It is a
// text file: lines "# key: value", a line with the names of the columns, and a row for each range
// of sizes. libncclprobe-tuner.so decides by it.
namespace ncclprobe::tuning {

// Numbered as in NCCL's tuner interface.
enum class Algorithm { tree, ring, collnet_direct, collnet_chain, nvls, nvls_tree, pat };
constexpr auto enum_names(Algorithm) {
  using enum Algorithm;
  return std::to_array<std::pair<Algorithm, std::string_view>>({{tree, "Tree"},
                                                                {ring, "Ring"},
                                                                {collnet_direct, "CollNetDirect"},
                                                                {collnet_chain, "CollNetChain"},
                                                                {nvls, "NVLS"},
                                                                {nvls_tree, "NVLSTree"},
                                                                {pat, "PAT"}});
}
enum class Protocol { ll, ll128, simple };
constexpr auto enum_names(Protocol) {
  using enum Protocol;
  return std::to_array<std::pair<Protocol, std::string_view>>(
      {{ll, "LL"}, {ll128, "LL128"}, {simple, "Simple"}});
}
using base::to_string;

struct Choice {
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  bool operator==(const Choice&) const = default;
};

// How NCCL's ranks share NVLink domains (nodes, where NVLink ends with the node). Its tuner
// interface gives it since NCCL 2.28.
struct NvlinkDomains {
  int count = 1;
  int least_ranks = 1; // in one domain
  int most_ranks = 1;
  auto operator<=>(const NvlinkDomains&) const = default;
};
// "1x8": one domain of 8 ranks; "2x4-8": two, of 4 to 8 ranks.
std::string to_text(const NvlinkDomains& domains);

// NCCL's own estimate (its cost table) for Ring with Simple and one operation, in us. It stands for
// the machine: all ranks see the same estimate, and another GPU or network has another one.
struct Estimate {
  double at_min_us = 0; // for min_bytes
  double at_max_us = 0;
  bool operator==(const Estimate&) const = default;
};

inline constexpr int k_keep_channels = -1;
inline constexpr int k_most_channels = 64;

struct Row {
  model::Collective collective = model::Collective::all_reduce; // NCCL asks a tuner about it
  // As NCCL counts: the larger of the send and the receive buffer.
  std::uint64_t min_bytes = 0;
  std::uint64_t max_bytes = 0; // included
  int ranks = 0;
  int nodes = 0;
  std::optional<NvlinkDomains> domains; // absent: any
  std::optional<Choice> choice;         // absent: NCCL's
  int channels = k_keep_channels;       // or 1 to k_most_channels
  std::optional<Estimate> estimate;     // absent: unknown
  bool operator==(const Row&) const = default;
};

// All texts; empty: unknown.
struct Header {
  std::string machine;
  std::string gpu;
  std::string nccl; // "2.30.7", nothing else
  std::string driver;
  std::string date;
  std::string gain;      // of the measured time or bandwidth, as its maker writes it
  std::string interval;  // of the gain
  std::string ncclprobe; // version that wrote the table
  bool operator==(const Header&) const = default;
};

// The keys of its lines, in their order.
inline constexpr std::array<std::pair<std::string_view, std::string Header::*>, 8> k_header_keys{
    {{"machine", &Header::machine},
     {"gpu", &Header::gpu},
     {"nccl", &Header::nccl},
     {"driver", &Header::driver},
     {"date", &Header::date},
     {"gain", &Header::gain},
     {"interval", &Header::interval},
     {"ncclprobe", &Header::ncclprobe}}};

struct Table {
  Header header;
  std::vector<Row> rows;
  bool operator==(const Table&) const = default;
};

inline constexpr std::size_t k_most_table_bytes = std::size_t{4} << 20;
inline constexpr std::size_t k_most_rows = 10'000;

// The five collectives about which NCCL asks a tuner, by their number in its interface.
inline constexpr std::array k_tuned_collectives{
    model::Collective::broadcast, model::Collective::reduce, model::Collective::all_gather,
    model::Collective::reduce_scatter, model::Collective::all_reduce};
// Its number; nothing if NCCL never asks about it.
std::optional<int> tuned_number(model::Collective collective);

// Reads a table strictly. `name` begins messages, with the number of the line: "a.csv:7: ...".
// Errors: protocol for an unknown key, column or word, a number out of range, a row that chooses
// nothing, rows that overlap, and a text beyond the limits.
Result<Table> parse_table(std::string_view text, std::string_view name);

// The text of a table; parse_table() reads it back.
std::string to_text(const Table& table);

} // namespace ncclprobe::tuning
