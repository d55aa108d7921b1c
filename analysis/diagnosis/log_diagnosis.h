// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/diagnosis/log_findings.h"

#include <optional>
#include <string>
#include <vector>

namespace ncclprobe::analysis {

// The rank that failed first, and the evidence.
struct FirstFailure {
  std::optional<int> rank; // absent: only the host or neither is known
  std::string host;
  LogEvidence evidence;
  std::string reason; // "its line 12 is the earliest", "torchrun names it", "it is behind"
};

// The meaning of a log's findings: causes are separated from their consequences.
struct LogDiagnosis {
  std::vector<const LogProblem*> causes;   // certain ones first
  std::vector<const LogProblem*> wrappers; // only pass an error on
  std::vector<const LogProblem*>
      consequences; // consequences of one of the causes, or of something outside the log
  std::vector<const LogProblem*> notes;     // not faults, or warnings beside a failure
  std::vector<const UnknownError*> unknown; // errors without a known cause, likeliest first
  std::optional<FirstFailure> first_failure;
  std::vector<std::string> remarks; // further conclusions, one sentence each
  bool unexplained = false;         // something failed, but the first failure is not in this log
  knowledge::CauseSeverity severity = knowledge::CauseSeverity::info; // the worst
};

// The diagnosis points into the findings.
LogDiagnosis diagnose(const LogFindings& findings);

} // namespace ncclprobe::analysis
