// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/search/gaussian_process.h"
#include "analysis/search/search.h"
#include "analysis/search/space.h"

#include <functional>
#include <memory>
#include <vector>

namespace ncclprobe::analysis::search {

// Chooses the combinations of process parameters that are tried next. The small interface of all
// strategies.
class Chooser {
public:
  using Allowed = std::function<bool(const Candidate&)>;

  virtual ~Chooser() = default;
  // At most so many combinations that are not in `tried`. Empty: no other is worth a trial.
  virtual std::vector<Candidate> next(const std::vector<Observation>& tried, const Allowed& allowed,
                                      std::size_t most) = 0;
  // What is believed of each tried one.
  virtual std::vector<double> values(const std::vector<Observation>& tried) const = 0;
};

// `allowed` of next(): possible here, and nothing in it has failed.
std::unique_ptr<Chooser> make_chooser(Strategy strategy, const Space& space);

} // namespace ncclprobe::analysis::search
