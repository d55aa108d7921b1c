// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/enum_names.h"

namespace ncclprobe::model {

// avg divides the sum by the number of ranks; integers truncate, as in NCCL.
enum class ReduceOp { sum, max, min, avg };

constexpr auto enum_names(ReduceOp) {
  using enum ReduceOp;
  return std::to_array<std::pair<ReduceOp, std::string_view>>(
      {{sum, "sum"}, {max, "max"}, {min, "min"}, {avg, "avg"}});
}

} // namespace ncclprobe::model
