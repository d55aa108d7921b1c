// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plugin/tuner/decision.h"
#include "tuning/hit_counts.h"
#include "tuning/table.h"

#include <atomic>
#include <deque>
#include <string>

namespace ncclprobe::plugin {

// A table that decides for the communicators of a process, and what was done with each of its rows.
// Any thread may call at any time.
class TableTuner {
public:
  TableTuner(tuning::Table table, std::string sha256);

  struct Communicator {
    tuning::Lookup lookup;
    tuner_abi::Logger log = nullptr;
  };
  // Why the table does not apply to a program with this NCCL (empty: unknown); empty: it applies.
  // All ranks of a communicator have the same NCCL: NCCL itself refuses others.
  std::string why_aside(const std::string& nccl) const;

  // True if the row of the call was measured on another machine, and the call keeps NCCL's choice.
  bool decide(const Communicator& communicator, const TunedCall& call) noexcept;
  const tuning::Table& table() const { return table_; }
  tuning::HitCounts hits() const;

private:
  struct Counter {
    std::atomic<std::uint64_t> applied{0};
    std::atomic<std::uint64_t> impossible{0};
  };
  const tuning::Table table_;
  const std::string sha256_;
  std::deque<Counter> counters_; // by row
  std::atomic<std::uint64_t> without_row_{0};
  std::atomic<std::uint64_t> set_aside_{0};
};

} // namespace ncclprobe::plugin
