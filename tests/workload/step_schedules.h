// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workload/step_request.h"

#include <numeric>
#include <string>
#include <vector>

// What tests of steps check.
namespace ncclprobe::tests {

// Two blocks of attention and MLP between an embedding and a head that shares its weights; odd
// sizes, so that nothing is aligned by chance. 4 heads; all sizes of blocks are divisible by 4.
workload::ModelSpec small_model();
inline constexpr std::uint64_t k_small_width = 12;
inline constexpr std::uint64_t k_small_words = 37;
inline constexpr std::uint64_t k_small_tokens = 8;

inline std::vector<int> first_ranks(int count) {
  std::vector<int> ranks(static_cast<std::size_t>(count));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

// For the first ranks of that many.
model::Schedule ddp_schedule(const workload::StepRequest& request, int ranks,
                             model::StepParts parts = model::StepParts::all);

template <typename Op>
std::vector<Op> timed(const model::Schedule& schedule) {
  std::vector<Op> found;
  for (int i = schedule.timed.first; i < schedule.timed.last; ++i)
    if (const auto* op = std::get_if<Op>(&schedule.operations[static_cast<std::size_t>(i)].what))
      found.push_back(*op);
  return found;
}

// For the timed matrix products.
double flops(const model::Schedule& schedule);

// "forward; backward 1; fill bucket 0 ..." of a stream, as one rank meets them; each label with the
// number of operations between begin and end in brackets, if wanted.
std::vector<std::string> stretches(const model::Schedule& schedule, int stream, int rank = 0);

// Violations of the markers' convention on some rank; empty if there are none. The convention: the
// first operation is "step" and the last "step end", both points on stream 0; begins and ends
// alternate on each stream with the same label and activity; no wait in a stretch; every
// computation in a stretch of the compute stream or of a conversion, every communication in one of
// communication.
std::string marker_fault(const model::Schedule& schedule, int world);

} // namespace ncclprobe::tests
