// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/diagnosis/log_findings.h"

#include <optional>
#include <string>
#include <vector>

namespace ncclprobe::analysis {

// Which rank failed first, and how that is known.
struct FirstFailure {
  std::optional<int> rank; // absent: only the host or neither is known
  std::string host;
  LogEvidence evidence;
  std::string reason; // "its line 12 is the earliest", "torchrun names it", "it is behind"
};

// What a log's findings mean: causes told apart from what only follows from them.
struct LogDiagnosis {
  std::vector<const LogProblem*> causes;       // certain ones first
  std::vector<const LogProblem*> wrappers;     // only pass an error on
  std::vector<const LogProblem*> consequences; // of one of the causes, or of what is not in the log
  std::vector<const LogProblem*> notes;     // no fault by themselves, or warnings beside a failure
  std::vector<const UnknownError*> unknown; // that show no cause, likeliest first
  std::optional<FirstFailure> first_failure;
  std::vector<std::string> remarks; // further conclusions, one sentence each
  bool unexplained = false;         // something failed, and what failed first is not in this log
  knowledge::CauseSeverity severity = knowledge::CauseSeverity::info; // the worst
};

// The diagnosis points into the findings.
LogDiagnosis diagnose(const LogFindings& findings);

} // namespace ncclprobe::analysis
