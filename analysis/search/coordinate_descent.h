// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/search/chooser.h"

namespace ncclprobe::analysis::search {

// Tries all values of one parameter, takes the best, and goes to the next parameter, in the order
// of the space. It ends after a round in which nothing changed.
class CoordinateDescent : public Chooser {
public:
  explicit CoordinateDescent(const Space& space);
  std::vector<Candidate> next(const std::vector<Observation>& tried, const Allowed& allowed,
                              std::size_t most) override;
  std::vector<double> values(const std::vector<Observation>& tried) const override;

private:
  struct Line {
    std::size_t parameter = 0;
    int values = 0; // with the default
  };
  std::vector<Candidate> on_line() const;

  std::vector<Line> lines_;
  Candidate at_;
  std::size_t line_ = 0;
  std::size_t unchanged_ = 0; // lines in a row
};

} // namespace ncclprobe::analysis::search
