// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "diagnosed.h"

#include "analysis/diagnosis/log_report.h"
#include "analysis/diagnosis/log_scanner.h"
#include "analysis/report_value/report_writers.h"

#include <algorithm>

using namespace ncclprobe::analysis;

namespace test_diagnosis {

const LogPatterns& patterns() {
  static const LogPatterns made;
  return made;
}

Diagnosed::Diagnosed(std::string_view log) {
  LogScanner scanner(patterns());
  scanner.feed(log);
  findings = scanner.finish();
  diagnosis = diagnose(findings);
}

std::string Diagnosed::text() const {
  return write_text(log_report("train.log", findings, diagnosis));
}

std::string Diagnosed::json() const {
  return written(log_report("train.log", findings, diagnosis), Format::json);
}

std::string Diagnosed::verdict() const {
  const Report report = log_report("train.log", findings, diagnosis);
  return std::string(ncclprobe::analysis::findings(report).front()->kind->id);
}

std::vector<std::string> Diagnosed::named() const {
  std::vector<std::string> all;
  for (const LogProblem* one : diagnosis.causes)
    all.push_back((one->certain ? "" : "?") + one->cause->id);
  std::sort(all.begin(), all.end());
  return all;
}

bool Diagnosed::shows(std::string_view id) const {
  return std::any_of(findings.problems.begin(), findings.problems.end(),
                     [&](const LogProblem& one) { return one.cause->id == id; });
}

bool Diagnosed::says_nothing() const {
  return findings.problems.empty() && diagnosis.unknown.empty() && diagnosis.remarks.empty() &&
         diagnosis.severity == ncclprobe::knowledge::CauseSeverity::info;
}

} // namespace test_diagnosis
