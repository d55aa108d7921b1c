// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/job/step_model.h"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

// What a rank's GPU did before an operation, from the kernels and copies of `record --cuda`: the
// host's launches alone cannot tell slow computing from a late host (docs/method.md, "Who holds a
// job up").
namespace ncclprobe::analysis::job {

enum class GapCause : std::uint8_t { computing, copies, input, host };
inline constexpr std::size_t k_gap_parts = 4;

class GapCauses {
public:
  GapCauses(const StepGraph& graph, const StepModel& model);

  using Parts = std::array<double, k_gap_parts>; // ns, by GapCause

  bool knows_any() const { return knows_any_; }
  struct Division {
    Parts parts{};
    double late_ns = 0; // not in `parts`: by the launches, the host was late
  };
  // Divides `length_ns` before an operation by its kernels. Without kernels of this step, those of
  // other steps give the usual length and its parts. Of what is longer, at most `late_ns` is the
  // host's, and the rest is computing.
  Division divided(std::uint32_t rank, const GraphOperation& operation,
                   const MeasuredOperation& measured, double length_ns, double late_ns) const;
  // What fills the part of the gap that exceeds the usual; nothing: its kernels were not recorded.
  std::optional<GapCause> cause(std::uint32_t rank, const GraphOperation& operation,
                                const MeasuredOperation& measured) const;

private:
  std::optional<Parts> parts(std::uint32_t rank, const MeasuredOperation& measured) const;

  const StepGraph& graph_;
  bool knows_any_ = false;
  std::map<std::uint32_t, Parts> usual_; // by slot: lower median over ranks
};

} // namespace ncclprobe::analysis::job
