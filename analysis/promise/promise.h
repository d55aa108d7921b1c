// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_value.h"
#include "analysis/statistics/inference.h"
#include "base/error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Whether settings of `ncclprobe tune` make a job as much faster as they promise. Speeds are ratios
// of step times: without the settings over with them.
namespace ncclprobe::analysis {

struct Promise {
  double speed = 1;
  Interval interval;
};
// From the comments at the head of settings.sh. Errors: invalid_argument if it promises nothing.
base::Result<Promise> promise_of(std::string_view settings_sh);

// kept: it is faster, and not by less than promised. smaller: faster, but by less than promised.
// no_gain: not shown to be faster, and the promise is excluded. slower: shown to be slower.
// undecided: neither the promise nor its absence is excluded. too_few: too few pairs of runs have
// step times. fails: the job does not end well with the settings.
enum class PromiseVerdict : std::uint8_t {
  kept,
  smaller,
  no_gain,
  slower,
  undecided,
  too_few,
  fails
};
using base::enum_names;

// One run of the job.
struct PromiseRun {
  int pair = 0; // from 1
  bool with_settings = false;
  std::string folder; // its capture
  std::uint64_t steps = 0;
  double step_ns = 0;  // median; 0: unknown
  std::string problem; // why it is unknown; empty: it is known
  bool failed = false; // the job did not end with 0
};

// Fewer pairs have next to no interval.
inline constexpr int k_least_pairs = 3;

struct Verification {
  std::string settings; // their file
  Promise promise;
  std::vector<PromiseRun> runs; // in the order in which they ran
};

// Of pairs of which both step times are known; nothing for fewer than k_least_pairs.
std::optional<RatioTest> speed_of(const Verification& all);
PromiseVerdict verdict_of(const Verification& all);
Report promise_report(const Verification& all);

} // namespace ncclprobe::analysis
