// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/compare/comparison_tests.h"

#include "analysis/compare/comparison_answer.h"
#include "analysis/compare/comparison_words.h"

namespace ncclprobe::analysis::compare {
std::vector<JUnitSuite> comparison_tests(const std::vector<JudgedComparison>& comparisons) {
  using State = JUnitCase::State;
  std::vector<JUnitSuite> suites;
  for (const JudgedComparison& one : comparisons) {
    const RunComparison& comparison = one.comparison;
    JUnitSuite suite{"ncclprobe compare: " + comparison.a + " with " + comparison.b, {}};
    for (const GateResult& gate : one.gates)
      suite.cases.push_back(
          {gate.gate.text, gate.verdict == GateVerdict::passed ? State::passed : State::failed,
           std::string(base::to_string(gate.verdict)),
           gate.verdict == GateVerdict::regression && gate.mean ? change_in_words(*gate.mean)
                                                                : why_in_words(gate, comparison)});
    if (one.gates.empty()) {
      const Conclusion conclusion = comparison.conclusion;
      const bool is_open =
          conclusion == Conclusion::undecided || conclusion == Conclusion::not_comparable;
      suite.cases.push_back({"all cells",
                             conclusion == Conclusion::regression ? State::failed
                             : is_open                            ? State::skipped
                                                                  : State::passed,
                             std::string(base::to_string(conclusion)),
                             analysis::in_words(answer_of(comparison))});
    }
    for (const CellComparison& cell : comparison.cells) {
      const bool is_open =
          cell.verdict == CellVerdict::not_decided || cell.verdict == CellVerdict::not_comparable;
      const bool is_regression =
          cell.verdict == CellVerdict::slower && comparison.basis != Basis::two_runs;
      suite.cases.push_back({in_words(cell.key),
                             is_regression ? State::failed
                             : is_open     ? State::skipped
                                           : State::passed,
                             std::string(base::to_string(cell.verdict)),
                             is_open ? in_words(cell.reason) : change_in_words(cell)});
    }
    suites.push_back(std::move(suite));
  }
  return suites;
}

} // namespace ncclprobe::analysis::compare
