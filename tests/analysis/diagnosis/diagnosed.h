// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/diagnosis/log_diagnosis.h"
#include "analysis/diagnosis/log_patterns.h"

#include <string>
#include <string_view>
#include <vector>

namespace test_diagnosis {

// The patterns of all causes, compiled once.
const ncclprobe::analysis::LogPatterns& patterns();

// A log and its real diagnosis. It may be moved but not copied, because the diagnosis points into
// the findings.
struct Diagnosed {
  explicit Diagnosed(std::string_view log);
  Diagnosed(const Diagnosed&) = delete;

  ncclprobe::analysis::LogFindings findings;
  ncclprobe::analysis::LogDiagnosis diagnosis;

  std::string text() const;
  std::string json() const;
  // The id of what the whole log comes to.
  std::string verdict() const;
  // "shm-too-small", "?disk-full" for one that is only possible; in alphabetical order.
  std::vector<std::string> named() const;
  // All causes that lines show, whatever their role.
  bool shows(std::string_view id) const;
  // The diagnosis is empty.
  bool says_nothing() const;
};

} // namespace test_diagnosis
