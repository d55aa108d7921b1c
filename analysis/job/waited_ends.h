// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/job/step_model.h"

#include <optional>
#include <vector>

namespace ncclprobe::analysis::job {

// The ends of a rank's earlier operations that its computing has to wait for before the next one.
class WaitedEnds {
public:
  WaitedEnds(const StepGraph& graph, const std::vector<GraphOperation>& operations,
             const std::vector<WaitedFor>& waited)
      : graph_(&graph), operations_(&operations), waited_(&waited),
        held_(graph.classes.size(), k_nothing) {}

  // Takes all ends up to operation i. False: one of them is not known yet; ask again.
  // `end_of(j)`: optional<int64_t>.
  template <typename EndOf>
  bool advance(std::uint32_t i, const EndOf& end_of) {
    if (i > 0 && (*operations_)[i].step != (*operations_)[i - 1].step && opened_ < i) {
      for (; opened_ < i; ++opened_)
        due_.push_back(opened_);
      std::ranges::fill(held_, k_nothing);
    }
    while (!due_.empty()) {
      const auto end_ns = end_of(due_.back());
      if (!end_ns)
        return false;
      if (!latest_ns_ || *end_ns > *latest_ns_) {
        latest_ns_ = *end_ns;
        latest_ = due_.back();
      }
      due_.pop_back();
    }
    return true;
  }
  // Operation i was called; call it once for each, in order.
  void called(std::uint32_t i) {
    const std::uint32_t group = graph_->slots[(*operations_)[i].slot].group;
    switch ((*waited_)[group]) {
    case WaitedFor::at_once:
      due_.push_back(i);
      break;
    case WaitedFor::after_next:
      if (held_[group] != k_nothing)
        due_.push_back(held_[group]);
      held_[group] = i;
      break;
    case WaitedFor::at_end_of_step:
      break;
    }
  }
  std::optional<std::int64_t> latest_ns() const { return latest_ns_; }
  std::uint32_t latest() const { return latest_; }

private:
  const StepGraph* graph_;
  const std::vector<GraphOperation>* operations_;
  const std::vector<WaitedFor>* waited_;
  std::vector<std::uint32_t> held_; // by class
  std::vector<std::uint32_t> due_;
  std::uint32_t opened_ = 0; // first operation of the current step
  std::optional<std::int64_t> latest_ns_;
  std::uint32_t latest_ = k_nothing;
};

} // namespace ncclprobe::analysis::job
