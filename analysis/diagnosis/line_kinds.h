// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/diagnosis/log_findings.h"
#include "analysis/diagnosis/log_patterns.h"

#include <map>
#include <optional>
#include <vector>

namespace ncclprobe::analysis {

// Groups lines by the signs that they show. Their meaning is decided at the end of the log, because
// a line may show a cause only in combination with a later one.
class LineKinds {
public:
  explicit LineKinds(const LogPatterns& patterns);

  void note(const LogPatterns::LineVerdict& verdict, const LogLine& line, std::uint64_t number,
            bool exact);
  // Adds to the findings what the lines show. Lines about an error without a known cause are added
  // as unknown.
  void finish(LogFindings& findings) const;

private:
  struct Kind {
    LogPatterns::LineVerdict verdict;
    LogProblem lines; // without a cause yet
  };
  bool holds(int sign, const LogFindings& findings) const;
  // The lines that a sign depends on, as further evidence.
  void add_circumstances(int sign, const LogFindings& findings, LogProblem& problem) const;
  std::vector<LogProblem> causes_of(const Kind& kind, const LogFindings& findings) const;

  const LogPatterns& patterns_;
  std::vector<std::optional<LogEvidence>> contexts_; // the first line that showed each
  std::map<std::vector<int>, Kind> kinds_;
};

} // namespace ncclprobe::analysis
