// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/search/trial.h"
#include "analysis/statistics/inference.h"

#include <map>
#include <optional>
#include <vector>

// What a search found. Speeds are ratios: the default's time / the candidate's. Above 1 is faster.
namespace ncclprobe::analysis::search {

// How a candidate ended.
enum class Fate {
  won,              // proven to be above `needed`
  not_proven,       // a finalist that was not
  not_chosen,       // measured to the end of choosing; others were faster
  estimated_slower, // likewise, but others are faster only by the estimate from all trials
  stopped,    // shown to be slower than the best by the sequential test, and measured no further
  needless,   // as fast without one of its changes, which was left out
  halved,     // among the slower ones of its round, and measured no further
  failed,     // see `outcome`; never tried again
  unfinished, // the budget ended first
};

// Why a tried candidate won or lost.
struct Reason {
  Candidate candidate;
  std::optional<std::size_t> target; // nothing: all targets together, by weight
  Fate fate = Fate::not_chosen;
  Stage stage = Stage::floor; // in which this was decided
  double speed = 1;           // as measured in that stage
  std::optional<Interval> interval;
  double needed = 1; // the speed that it had to exceed, or that of the candidate which beat it
  int processes = 0; // that this rests on
  model::OutcomeKind outcome = model::OutcomeKind::ok; // of its cell or trial
};

// How much faster a candidate is than another one.
struct Gain {
  double speed = 1;
  Interval interval = {1, 1}; // k_confidence
  int processes = 0;          // on each side
};

// A change of the fastest combination that was left out.
struct LeftOut {
  std::size_t parameter = 0;
  int value = 0;
  Gain gain; // with it over without it
};

struct Decision {
  Candidate candidate; // the default where nothing is proven
  bool proven = false;
  Gain over_default;
  double floor = 1; // the A/A ratio: the default over itself
  // The speed that it had to exceed: the floor and 1 + min_gain, or the floor alone (judge()).
  double needed = 1;
};

// A trial in which the default's time was off.
struct Disturbance {
  int trial = 0;          // id of the trial with the default's cells
  double ratio = 1;       // the default's time there / before
  double limit = 1;       // the largest ratio, either way, that counts as scatter
  bool new_level = false; // it stayed: what comes later is compared with this level
};

// A trial whose times do not count, because the default was off near it, or failed in it.
struct Rejection {
  int trial = 0;         // its id
  bool repeated = false; // otherwise the budget had no room for it
};

struct Outcome {
  bool complete = false;       // the search ended by itself, and not at the budget
  bool default_failed = false; // again and again, which ended the search
  Decision settings;           // process parameters for all targets, by weight: the settings file
  // Of each target: the process parameters of `settings`, and in-process values of its own if they
  // are proven to gain over the settings alone. These are the rows of the tuner table.
  std::vector<Decision> table;
  // By parameter: the fastest combination over the same without that change, as chosen. Empty for a
  // single change, whose gain is the combination's.
  std::map<std::size_t, Gain> of_changes;
  std::vector<LeftOut> left_out;
  // Otherwise the budget had no room for it: some changes of `settings` may have no effect.
  bool each_change_counts = true;
  std::vector<Reason> reasons; // of all candidates tried but the default
  // How the first trial of the delivery that failed did so. ok: none did.
  model::OutcomeKind delivery = model::OutcomeKind::ok;
  std::vector<Disturbance> disturbances;
  std::vector<Rejection> rejections; // in the order of the trials
  int trials = 0;
  double seconds = 0; // that they took, with Search::spend()
};

} // namespace ncclprobe::analysis::search
