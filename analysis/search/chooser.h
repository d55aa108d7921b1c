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

// Chooses which combinations of process parameters are tried next. Each strategy implements it.
class Chooser {
public:
  using Allowed = std::function<bool(const Candidate&)>;

  virtual ~Chooser() = default;
  // At most `most` combinations that are not in `tried`. Empty: no other is worth a trial.
  // `allowed` refuses what is impossible here, and what contains a failed combination.
  virtual std::vector<Candidate> next(const std::vector<Observation>& tried, const Allowed& allowed,
                                      std::size_t most) = 0;
  // The estimated value of each combination in `tried`.
  virtual std::vector<double> values(const std::vector<Observation>& tried) const = 0;
};

std::unique_ptr<Chooser> make_chooser(Strategy strategy, const Space& space);

} // namespace ncclprobe::analysis::search
