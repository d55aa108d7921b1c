// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/search/outcome.h"
#include "analysis/search/space.h"
#include "analysis/search/trial.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

// Decides what to measure next from what was measured. No input, output or clock: the same seed and
// results lead to the same requests. Method: docs/method.md, "How tune decides".
namespace ncclprobe::analysis::search {

// How combinations of process parameters are chosen.
enum class Strategy {
  model,   // a Gaussian process over all combinations, which also learns how pairs interact
  descent, // coordinate descent: one parameter after the other, in the order of the space
};

struct Options {
  double min_gain = 0.02; // a winner must be faster by more than this; see judge()
  double budget_s = 0;    // 0: none. Screening and confirming have their shares kept back.
  // What follows the search and has to fit into the budget too, in seconds, as far as it is known
  // now; `screened`: in-process values may be among the results. Empty: nothing.
  std::function<double(bool screened)> end_s;
  // How long a trial will take, in seconds. Without it a budget counts only what was spent, and
  // then confirming may exceed it.
  std::function<double(const TrialRequest&)> expected_s;
  std::uint64_t seed = 1;
  Strategy strategy = Strategy::model;
};

class Search {
public:
  // Throws Exception (invalid_argument) for a space without targets, a parameter without values, or
  // a default that is not possible.
  Search(Space space, Options options);
  ~Search();
  Search(Search&&) noexcept;
  Search& operator=(Search&&) noexcept;

  // The trials to run now, in this order. Empty: the search is done. Call it again when all of them
  // were learned.
  std::vector<TrialRequest> next();
  // Call it for each trial of next(), in that order.
  void learn(const TrialRequest& request, const TrialResult& result);
  // Time of the budget that went to something else, such as a trial with the library's log.
  void spend(double seconds);
  // Once the search is done: next() then has trials of what is delivered, in turns with the
  // default, and repeats those that are disturbed. `of_targets`: what each target gets. All have
  // the same process parameters.
  void deliver(std::vector<Candidate> of_targets);
  // Call it at any time. Before the end it holds what is proven so far.
  Outcome outcome() const;

private:
  class State;
  std::unique_ptr<State> state_;
};

} // namespace ncclprobe::analysis::search
