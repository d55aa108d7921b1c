// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/search/space.h"

#include <optional>
#include <vector>

namespace ncclprobe::analysis::search {

// Candidates that are measured in rounds until few are left. A value is the logarithm of a
// candidate's time over the default's, from one process.
class Race {
public:
  struct Entrant {
    Candidate candidate;
    std::vector<double> values;
    double mean() const; // of at least one value
  };
  // One that left the race, and by which value: see the functions that remove them.
  struct Left {
    Entrant entrant;
    double by = 0;
  };

  // The probability that the best one is ever stopped by stop_losers(), for normal values.
  static constexpr double k_alpha = 0.05;

  explicit Race(const std::vector<Candidate>& candidates);

  const std::vector<Entrant>& running() const { return running_; }
  void add(const Candidate& candidate, double value); // one that left is ignored
  void remove(const Candidate& candidate);
  // Removes those that are slower than the best one, or than the default, by their confidence
  // sequences. Left::by: the upper limit that lies below their lower one.
  std::vector<Left> stop_losers();
  // Keeps so many with the lowest means. Left::by: the highest mean that was kept.
  std::vector<Left> keep(std::size_t count);
  // Sorted by mean; those without a value come last.
  std::vector<Entrant> ranked() const;

private:
  // Of a value, from all entrants with two or more.
  std::optional<double> pooled_variance() const;

  std::size_t entrants_;
  std::vector<Entrant> running_;
  std::vector<std::vector<double>> values_of_left_; // they still show how values scatter
};

} // namespace ncclprobe::analysis::search
