// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/compare/comparison.h"

#include <map>
#include <set>
#include <vector>

namespace ncclprobe::analysis::compare {

// The cells of one side, to find what a cell of the other side lacks there.
class CellKeys {
public:
  explicit CellKeys(const std::vector<const ComparedRun*>& runs);

  bool has(const CellKey& key) const { return keys_.contains(key); }
  // In what the nearest cell differs, if it differs in one thing; else not_measured.
  Reason why_not(const CellKey& key) const;

private:
  std::set<CellKey> keys_;
  // Keys without the thing that the reason names; made when first needed.
  mutable std::map<Reason, std::set<CellKey>> without_;
};

} // namespace ncclprobe::analysis::compare
