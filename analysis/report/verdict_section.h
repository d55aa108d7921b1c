// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report/run_figures.h"
#include "analysis/report_value/report_value.h"

#include <vector>

namespace ncclprobe::analysis {

// Conclusions from a run's comparisons. The answer to "what should I set?" consists of these.
inline constexpr FindingKind k_better{
    "better", Severity::note,
    "{setting} is better in {better} of {cells} cells (up to {best}) and worse in none."},
    k_better_and_worse{
        "better_and_worse", Severity::note,
        "{setting} is better in {better} of {cells} cells (up to {best}) and worse in {worse}."},
    k_keep_defaults{"keep_defaults", Severity::note,
                    "Keep the defaults: no setting is better in any cell, beyond chance and the "
                    "noise of this run."},
    k_keep_unless{"keep_defaults_unless", Severity::note,
                  "Keep the defaults, unless the better cells are the ones that you need:"},
    k_not_decided{
        "too_few_processes", Severity::warning,
        "Not decided: a verdict needs at least {least_processes} processes of the setting "
        "and of the default (--repeat {least_processes})."},
    k_too_noisy{"too_noisy", Severity::warning, "Too noisy to tell whether any setting is better."},
    k_would_have_missed{"would_have_missed", Severity::warning,
                        "In {too_noisy} of {comparisons}, noise would hide a difference of "
                        "{percent:.0f}%."},
    k_open{"not_decided", Severity::note, "{open} not decided."},
    k_withheld{"verdict_withheld", Severity::warning, "No verdict on {setting}: {why}."},
    k_delivers_wrong_data{"delivers_wrong_data", Severity::error,
                          "{setting} delivers wrong data: do not use it."},
    k_of_synthetic_numbers{"answer_is_synthetic", Severity::warning, "[SYNTHETIC]"};

// What to do about a run that is too noisy, and what disturbed it, if known.
inline constexpr FindingKind k_measure_again{
    "measure_again", Severity::note,
    "Measure again on a machine that does nothing else (top and nvidia-smi show "
    "what runs there), or run more processes of each setting (--repeat "
    "{processes})."},
    k_disturbed_run{"disturbed_run", Severity::warning, "In this run, {disturbances}."},
    k_disturbed_trial{"disturbed_trial", Severity::warning,
                      "Trial {trial} ({setting}) was disturbed most: it took {times:.1f} times as "
                      "long as the setting's other processes."};

// Reasons to doubt verdicts.
inline constexpr FindingKind k_not_steady{
    "default_differs_from_itself", Severity::warning,
    "the default differs from itself (A/A, adjusted p {p:.2g}): something changed "
    "during this run and may have caused verdicts."},
    k_throttled_comparisons{"throttled_comparisons", Severity::warning,
                            "GPUs were throttled in some processes: verdicts marked * compare "
                            "such cells."};

// "44% up to 64K (12 cells), 0.83% above 4M (9 cells)"; empty if none is known.
std::string floor_text(const NoiseFloors& floors);

// "Keep the defaults" is a normal answer. But if most comparisons would have missed a large
// difference, the answer is "Too noisy to tell". Empty if no setting was compared.
std::vector<Finding> answer(const std::vector<SettingVerdict>& settings, const Verdicts& verdicts);

// About comparisons that are too noisy for a verdict. Empty if there are none.
std::vector<Finding> noise_advice(const RunSummary& run, const std::vector<SettingResult>& results,
                                  const Verdicts& verdicts);

// The answer and what to set, ready to paste, for which operations and sizes: the first section
// after the heading, and the last one. Empty if no setting was compared.
Section answer_section(const RunFigures& figures);
// Then the counts of each setting, and all verdicts for machines.
Report verdict_report(const RunFigures& figures);

// The method, with the numbers of this run. Empty if no setting was compared.
Section method_section(const RunFigures& figures);

} // namespace ncclprobe::analysis
