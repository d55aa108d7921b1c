// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

// Results as JUnit's XML, which GitHub, GitLab and Jenkins show as tests. Elements and attributes
// are those that Jenkins' junit-10.xsd allows.
namespace ncclprobe::analysis {

struct JUnitCase {
  enum class State { passed, failed, skipped };
  std::string name;
  State state = State::passed;
  std::string kind;    // of a failure: "regression"
  std::string message; // why it failed or was skipped
};
struct JUnitSuite {
  std::string name;
  std::vector<JUnitCase> cases = {};
  std::vector<std::pair<std::string, std::string>> properties = {}; // names and values
};

std::string write_junit(const std::vector<JUnitSuite>& suites);

} // namespace ncclprobe::analysis
