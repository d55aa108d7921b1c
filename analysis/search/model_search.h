// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/search/chooser.h"

namespace ncclprobe::analysis::search {

// Tries each value alone, which also finds those that hang or crash. Then a Gaussian process says
// from which combination most improvement is expected.
class ModelSearch : public Chooser {
public:
  explicit ModelSearch(const Space& space);
  std::vector<Candidate> next(const std::vector<Observation>& tried, const Allowed& allowed,
                              std::size_t most) override;
  std::vector<double> values(const std::vector<Observation>& tried) const override;

private:
  std::vector<Candidate> pool_;
};

} // namespace ncclprobe::analysis::search
