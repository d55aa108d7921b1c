// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/supervisor/supervisor.h"

#include <cstdint>
#include <string>

namespace ncclprobe::cli {

// Progress of a run on stderr: on a terminal one line that is redrawn, otherwise one line per
// trial.
class Progress {
public:
  enum class Style { silent, lines, bar };
  static Style style_for(bool quiet);

  // `trials`: of the whole run. `expected_ns`: estimate for the remaining work, corrected by what
  // is observed.
  Progress(Style style, int trials, double expected_ns);
  ~Progress();

  // An earlier process has done this many trials.
  void skip(int trials, double expected_ns_left);
  // A trial that nobody knew of at first.
  void expect(const model::TrialSpec& trial);
  void begin_trial(const model::TrialSpec& spec);
  void update(const launch::TrialProgress& progress);
  void end_trial(const model::TrialRecord& record);

private:
  double share() const; // completed share of all trials
  std::string time_left() const;
  std::string where() const; // in the current trial
  void draw();
  void clear();

  Style style_;
  int trials_;
  double expected_ns_;
  std::int64_t started_ns_;
  std::int64_t drawn_ns_ = 0;
  int done_ = 0;
  double done_expected_ns_ = 0; // expected time of the trials done by this process
  int failed_ = 0;
  std::string name_;
  std::vector<std::string> cell_names_;
  std::vector<double> expected_at_cell_ns_; // of the trial, when so many of its cells are done
  launch::TrialProgress now_;
};

} // namespace ncclprobe::cli
