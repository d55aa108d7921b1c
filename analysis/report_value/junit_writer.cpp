// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report_value/junit_writer.h"

#include "base/printable.h"

#include <fmt/format.h>

#include <algorithm>

namespace ncclprobe::analysis {
namespace {

// XML 1.0 has no escapes for control characters, so these are replaced first.
std::string attribute(const std::string& text) {
  std::string out;
  for (char c : base::printable(text))
    switch (c) {
    case '&':
      out += "&amp;";
      break;
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    case '"':
      out += "&quot;";
      break;
    default:
      out += c;
    }
  return out;
}

auto count(const JUnitSuite& suite, JUnitCase::State state) {
  return std::ranges::count(suite.cases, state, &JUnitCase::state);
}

std::string properties_of(const JUnitSuite& suite) {
  if (suite.properties.empty())
    return "";
  std::string text = "    <properties>\n";
  for (const auto& [name, value] : suite.properties)
    text += fmt::format("      <property name=\"{}\" value=\"{}\"/>\n", attribute(name),
                        attribute(value));
  return text + "    </properties>\n";
}

std::string text_of(const JUnitCase& one, const std::string& suite) {
  std::string text = fmt::format("    <testcase classname=\"{}\" name=\"{}\"", attribute(suite),
                                 attribute(one.name));
  switch (one.state) {
  case JUnitCase::State::passed:
    return text + "/>\n";
  case JUnitCase::State::failed:
    return text + fmt::format(">\n      <failure type=\"{}\" message=\"{}\"/>\n    </testcase>\n",
                              attribute(one.kind), attribute(one.message));
  case JUnitCase::State::skipped:
    return text + fmt::format(">\n      <skipped message=\"{}\"/>\n    </testcase>\n",
                              attribute(one.message));
  }
  return text;
}

} // namespace

std::string write_junit(const std::vector<JUnitSuite>& suites) {
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
  for (const JUnitSuite& suite : suites) {
    out += fmt::format("  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" "
                       "skipped=\"{}\">\n",
                       attribute(suite.name), suite.cases.size(),
                       count(suite, JUnitCase::State::failed),
                       count(suite, JUnitCase::State::skipped));
    out += properties_of(suite);
    for (const JUnitCase& one : suite.cases)
      out += text_of(one, suite.name);
    out += "  </testsuite>\n";
  }
  return out + "</testsuites>\n";
}

} // namespace ncclprobe::analysis
