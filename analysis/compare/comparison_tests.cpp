// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/compare/comparison_tests.h"

#include "analysis/compare/comparison_answer.h"
#include "analysis/compare/comparison_words.h"

namespace ncclprobe::analysis::compare {
namespace {

JUnitCase test_of(const GateResult& gate, const RunComparison& comparison) {
  std::string why = why_in_words(gate, comparison);
  if (gate.verdict == GateVerdict::regression && gate.mean)
    why = change_in_words(*gate.mean) + (why.empty() ? "" : "; " + why);
  return {gate.gate.text,
          gate.verdict == GateVerdict::passed ? JUnitCase::State::passed : JUnitCase::State::failed,
          std::string(base::to_string(gate.verdict)), std::move(why)};
}

JUnitCase test_of_all(const RunComparison& comparison) {
  const Conclusion conclusion = comparison.conclusion;
  const bool is_open =
      conclusion == Conclusion::undecided || conclusion == Conclusion::not_comparable;
  return {"all cells",
          conclusion == Conclusion::regression ? JUnitCase::State::failed
          : is_open                            ? JUnitCase::State::skipped
                                               : JUnitCase::State::passed,
          std::string(base::to_string(conclusion)), analysis::in_words(answers_of(comparison))};
}

JUnitCase test_of(const CellComparison& cell, Basis basis, bool has_gates) {
  const bool is_open =
      cell.verdict == CellVerdict::not_decided || cell.verdict == CellVerdict::not_comparable;
  const bool is_bad = (cell.verdict == CellVerdict::slower && basis != Basis::two_runs) ||
                      cell.reason == Reason::wrong_data;
  return {in_words(cell.key),
          is_bad && !has_gates ? JUnitCase::State::failed
          : is_open            ? JUnitCase::State::skipped
                               : JUnitCase::State::passed,
          std::string(base::to_string(cell.verdict)),
          is_open ? why_in_words(cell, basis) : change_in_words(cell)};
}

} // namespace

std::vector<JUnitSuite> comparison_tests(const std::vector<JudgedComparison>& comparisons) {
  std::vector<JUnitSuite> suites;
  for (const JudgedComparison& one : comparisons) {
    const RunComparison& comparison = one.comparison;
    JUnitSuite suite{"ncclprobe compare: " + comparison.a + " with " + comparison.b};
    if (comparison.is_synthetic()) {
      suite.name += " [SYNTHETIC]";
      suite.properties.emplace_back("synthetic", "true");
    }
    for (const GateResult& gate : one.gates)
      suite.cases.push_back(test_of(gate, comparison));
    if (one.gates.empty())
      suite.cases.push_back(test_of_all(comparison));
    for (const CellComparison& cell : comparison.cells)
      suite.cases.push_back(test_of(cell, comparison.basis, !one.gates.empty()));
    suites.push_back(std::move(suite));
  }
  return suites;
}

} // namespace ncclprobe::analysis::compare
