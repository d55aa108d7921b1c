// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/supervisor/supervisor.h"

#include <cstdint>
#include <string>

namespace ncclprobe::cli {

// Progress of a run on stderr: one line that is redrawn on a terminal, a line per trial elsewhere.
class Progress {
public:
  enum class Style { silent, lines, bar };
  static Style style_for(bool quiet);

  // `trials`: of the whole run. `expected_ns`: guess for what is to be done, corrected by what is
  // seen.
  Progress(Style style, int trials, double expected_ns);
  ~Progress();

  // So many were done by an earlier process.
  void skip(int trials, double expected_ns_left);
  void begin_trial(const model::TrialSpec& spec);
  void update(const launch::TrialProgress& progress);
  void end_trial(const model::TrialRecord& record);

private:
  double share() const; // of all trials, that is done
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
  double done_expected_ns_ = 0; // expected for the trials that were done here
  int failed_ = 0;
  std::string name_;
  std::vector<std::string> cell_names_;
  std::vector<double> expected_at_cell_ns_; // of the trial, when so many of its cells are done
  launch::TrialProgress now_;
};

} // namespace ncclprobe::cli
