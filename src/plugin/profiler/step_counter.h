// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ncclprobe::plugin {

// Counts the steps of a job while it runs. Training repeats its operations in the same order, so a
// period of the sequence is a step. Where in a step a period begins is not known; the analysis of
// the trace finds it (analysis/job).
//
// A period is accepted once it was seen three times, and either explains half of what is remembered
// or repeated for k_enough operations. So layers that repeat within a step are rarely taken for
// steps for long. When the sequence breaks, the search begins again, and the count stays, unless a
// longer period contains the break: then what was counted there were parts of its steps.
class StepCounter {
public:
  static constexpr std::size_t k_remembered = 16384;
  static constexpr std::size_t k_enough = 512;

  // Equal numbers for operations that do the same.
  void add(std::uint64_t signature);
  // Whether the sequence repeats now.
  bool is_known() const { return period_ > 0; }
  std::size_t period() const { return period_; } // operations of a step; 0: unknown
  std::uint64_t steps() const { return steps_; } // that are complete
  // Whether the period is a step, and no run of equal layers within a first step: it has repeated
  // for k_enough operations, or shorter periods broke within it.
  bool is_certain() const {
    return is_known() && (contains_breaks_ || added_ - repeats_since_ >= k_enough);
  }

private:
  std::uint64_t back(std::size_t before) const { // 0: the latest
    return latest_[(added_ - 1 - before) % k_remembered];
  }
  std::size_t remembered() const;
  void search();
  void accept(std::size_t period, std::uint64_t explained);

  // What was counted by one period.
  struct Stretch {
    std::uint64_t counted_from = 0, steps_before = 0;
    std::uint64_t broken_at = 0; // number of the operation
  };

  std::vector<std::uint64_t> latest_ = std::vector<std::uint64_t>(k_remembered);
  std::uint64_t added_ = 0;
  std::uint64_t counted_until_ = 0; // operations that belong to counted steps, or to none
  std::uint64_t next_search_ = 0;
  std::uint64_t steps_ = 0;
  std::size_t period_ = 0;
  std::uint64_t repeats_since_ = 0; // number of the period's first operation
  bool contains_breaks_ = false;
  Stretch current_;
  std::vector<Stretch> broken_; // the latest
};

} // namespace ncclprobe::plugin
