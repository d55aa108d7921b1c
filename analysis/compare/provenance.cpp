// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/compare/provenance.h"

#include "analysis/compare/cell_tests.h"
#include "analysis/verdict/verdict.h"
#include "base/version.h"

namespace ncclprobe::analysis::compare {
namespace {

constexpr int k_method_indent = 2;
constexpr std::size_t k_sources_shown = 20;

std::string values_text(const RunComparison& comparison) {
  switch (comparison.basis) {
  case Basis::two_runs:
    return "A value is a process: the median of its times in a cell. Both sides are compared by "
           "Welch's t-test on the logarithms of these times. Two runs are one sample each of boot, "
           "node and hour, so a difference is not called a regression.";
  case Basis::baseline:
    return "A value is a run: the geometric mean over its processes. Student's t-test on "
           "logarithms compares the new runs with the runs of the baseline, whose scatter shows by "
           "how much equal runs differ. The medians over processes must differ as well.";
  case Basis::interleaved:
    return "A value is a pair of runs that took turns in random order: the ratio of their times. "
           "Student's t-test tells whether the mean logarithm of these ratios differs from 0. The "
           "medians over processes must differ as well.";
  }
  return "";
}

std::string limits_text(const RunComparison& comparison) {
  std::string text =
      fmt::format("More tests use the typical scatter of cells of the same size class; the largest "
                  "p and the widest interval count. Faster or slower: p below {:g} after Holm's "
                  "correction over the cells",
                  alpha_of(comparison.basis));
  if (comparison.basis == Basis::two_runs)
    text += ", and a ratio beyond the larger A/A noise floor of both runs";
  return text + fmt::format(". No difference: the {:.0f}% interval excludes a difference of {:g}% "
                            "(--difference). Everything else is not decided.",
                            100 * k_confidence, 100 * comparison.request.difference);
}

} // namespace

TablePtr source_table(const std::vector<RunSource>& sources) {
  TableOf<RunSource> table(sources);
  table.add("side", &RunSource::side).titled("side").left().once();
  table.add("file", &RunSource::file).titled("file").left(40);
  table.add("run_id", &RunSource::run_id).titled("run").left();
  table.add("started_utc", &RunSource::started_utc).titled("started").left();
  table.add("ranks", &RunSource::ranks).titled("ranks");
  table.add("backend", &RunSource::backend).titled("backend").left();
  table.add("ncclprobe_version", &RunSource::ncclprobe).titled("measured by ncclprobe").left();
  table.add("synthetic", &RunSource::synthetic);
  return table.table();
}

Section source_section(const std::vector<RunSource>& sources) {
  return {.key = "sources",
          .title = "The runs",
          .blocks = {View{.table = source_table(sources), .most_rows = k_sources_shown},
                     Text{"", "Compared by ncclprobe " + base::version_and_build() + "."}},
          .part = Section::Part::provenance,
          .only_on_pages = true};
}

Section comparison_method(const RunComparison& comparison) {
  return {.key = "method",
          .title = "How the verdicts were reached",
          .blocks = {Text{"", values_text(comparison), k_method_indent},
                     Text{"", limits_text(comparison), k_method_indent}},
          .part = Section::Part::method,
          .only_on_pages = true};
}

Section history_method() {
  return {.key = "method",
          .title = "How the changes were found",
          .blocks = {Text{
              "",
              fmt::format("A value is a run: the geometric mean of the times of its processes in a "
                          "cell. A change is an end of the stretch of runs whose mean logarithm "
                          "differs most from that of the others, if few random orders of the same "
                          "runs have a stretch that differs as much (circular binary segmentation "
                          "with a permutation test). Then the parts are searched. Half of {:g}% is "
                          "for the mean of all cells, half is divided by the number of cells; of "
                          "fewer than 14 runs, all of it is for the mean. At least {} runs are "
                          "needed.",
                          100 * k_alpha, k_least_history),
              k_method_indent}},
          .part = Section::Part::method,
          .only_on_pages = true};
}

} // namespace ncclprobe::analysis::compare
