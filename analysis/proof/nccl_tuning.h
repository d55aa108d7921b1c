// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// NCCL's own estimates: the table of latencies and bandwidths by which it chooses. With
// NCCL_DEBUG_SUBSYS=TUNING, rank 0 of every communicator logs it (NCCL 2.28, graph/tuning.cc,
// ncclTopoTuneModel).
namespace ncclprobe::analysis {

struct TunedAlgorithm {
  std::string function;  // "AllReduce"
  std::string algorithm; // in upper case, as in choices: "RING"
  std::string protocol;
  double latency_us = 0;
  double gb_per_s = 0; // above 0: NCCL does not consider the others
  bool operator==(const TunedAlgorithm&) const = default;
};

struct TuningTable {
  int ranks = 0; // of the communicator; 0: unknown
  int nodes = 0;
  std::vector<TunedAlgorithm> algorithms;
  int channels = 0; // that the communicator has for collectives; 0: unknown
};

// Reads the text of a log, line by line.
class TuningReader {
public:
  void read(std::string_view words);
  const std::vector<TuningTable>& tables() const { return tables_; }

private:
  int ranks_ = 0, nodes_ = 0;
  bool is_new_ = true;
  std::vector<std::string> algorithms_, protocols_; // of the current block of columns
  std::vector<TuningTable> tables_;
};

// NCCL's estimate for that many bytes with that algorithm (ncclTopoGetAlgoTime): latency + bytes /
// bandwidth. `is_whole` is false if NCCL corrects it by figures that it does not log: the bandwidth
// of trees below 512 MiB, the latency of rings with Simple over several nodes.
struct TunedTime {
  double time_us = 0;
  bool is_whole = true;
};
TunedTime tuned_time(const TunedAlgorithm& tuned, std::uint64_t bytes, int nodes);

} // namespace ncclprobe::analysis
