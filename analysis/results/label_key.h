// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/trial.h"

#include <cstdint>
#include <string_view>
#include <tuple>

namespace ncclprobe::analysis {

// Orders labels for an index. Points into the label, which must outlive it.
using LabelKey = std::tuple<std::string_view, std::uint64_t, model::DataType, model::ReduceOp,
                            model::Placement, int, std::string_view>;

inline LabelKey key_of(const model::CellLabel& label) {
  return {label.workload,  label.bytes, label.type,   label.op,
          label.placement, label.root,  label.variant};
}

} // namespace ncclprobe::analysis
