// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/doctor/check_result.h"
#include "analysis/survey/case.h"

namespace ncclprobe::analysis::doctor {

// Results in the order of the checks. Equal results of several ranks or hosts become one.
class CheckResults {
public:
  // For the whole job.
  void add(CheckResult finding);
  // For the ranks of this survey.
  void add(const model::Survey& survey, CheckResult finding);
  void add_host(const model::Survey& survey, CheckResult finding);

  // Worst first, then by id.
  std::vector<CheckResult> take();

private:
  std::vector<CheckResult> found_;
};

// Runs every check, and separates causes from consequences.
std::vector<CheckResult> examine(const Case& one);

// The checks, by theme. Each adds at least one finding for each of its ids.
void check_launch(const Case& one, CheckResults& into);        // D01, D32
void check_driver(const Case& one, CheckResults& into);        // D02
void check_compatibility(const Case& one, CheckResults& into); // D04, D05, D26 if requested
void check_libraries(const Case& one, CheckResults& into);     // D06
void check_installed(const Case& one, CheckResults& into);     // D06
void check_nccl_faults(const Case& one, CheckResults& into);   // D35
void check_rank_gpus(const Case& one, CheckResults& into);     // D07
void check_devices(const Case& one, CheckResults& into);       // D03, D08, D20, D24
void check_fabric(const Case& one, CheckResults& into);        // D09, D10
void check_health(const Case& one, CheckResults& into);        // D11, D22, D33
void check_links(const Case& one, CheckResults& into);         // D12, D13
void check_variables(const Case& one, CheckResults& into);     // D14
void check_variable_values(const Case& one,
                           CheckResults& into);          // part of D14: names and values alone
void check_host(const Case& one, CheckResults& into);    // D15, D16, D17
void check_network(const Case& one, CheckResults& into); // D18, D19
void check_between_hosts(const Case& one, CheckResults& into); // D18
void check_copies(const Case& one, CheckResults& into);        // D36
void check_smoke_tests(const Case& one, CheckResults& into);   // D21, D23 if measured, D25, D27
void check_transports(const Case& one, CheckResults& into);    // D12
void check_speed(const Case& one, CheckResults& into);         // D34
void check_chains(const Case& one, CheckResults& into);        // D29

} // namespace ncclprobe::analysis::doctor
