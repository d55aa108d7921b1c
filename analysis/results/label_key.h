// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/cell_label.h"

#include <compare>

namespace ncclprobe::analysis {

// Orders labels for an index. Points to the label, which must outlive it.
struct LabelKey {
  const model::CellLabel* label;
  auto operator<=>(const LabelKey& other) const { return *label <=> *other.label; }
  bool operator==(const LabelKey& other) const { return *label == *other.label; }
};

} // namespace ncclprobe::analysis
