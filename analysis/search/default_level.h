// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

namespace ncclprobe::analysis::search {

// The default's times in the trials so far. Says whether a new time is off, which means beyond the
// scatter of the earlier ones. Times are logarithms, weighted over all targets.
class DefaultLevel {
public:
  struct Check {
    double off = 0;   // new time - expected time
    double limit = 0; // the largest distance that counts as scatter
    bool is_off() const { return off > limit || off < -limit; }
  };
  // Absent with fewer than three earlier times. A time is off if it is far both from the mean of
  // the last three and from their trend, so steady drift is no disturbance. The limit is Student's
  // prediction interval (99%) for one more time, but at least 3%. The scatter is that of successive
  // times (von Neumann, Kent, Bellinson and Hart, "The mean square successive difference", 1941).
  std::optional<Check> check(int trial, double log_time) const;
  void add(int trial, double log_time);
  // The level changed: only later times count.
  void restart() { times_.clear(); }
  // The default's time when that trial ran: the mean of the times before and after it. A time's
  // weight halves with every four trials in between, so slow drift cancels. At least one time.
  double near(int trial) const;
  // The variance of one time, from the last times. At least that of the clocks' ticks (0.1%).
  double variance() const;

private:
  struct Moments {
    double variance = 0, degrees_of_freedom = 0;
  };
  Moments of_last() const;
  struct Expected {
    double log_time = 0;
    double variance = 0; // of it, in variances of one time
  };
  Expected by_level() const;
  Expected by_trend(int trial) const;
  struct Time {
    int trial = 0;
    double log_time = 0;
  };
  std::vector<Time> times_;
};

} // namespace ncclprobe::analysis::search
