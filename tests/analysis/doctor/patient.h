// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/doctor/check_results.h"

#include <string>
#include <vector>

namespace ncclprobe::test_doctor {

// Two ranks on one host with two H200 on which nothing is wrong, looked at from two processes.
// Every number is made up.
analysis::doctor::Case healthy_case();

// The same on a host without GPUs, one process.
analysis::doctor::Case healthy_cpu_case();

// The healthy one with NVLinks between its GPUs, which NCCL joined by this transport
// ("SHM/direct/direct").
analysis::doctor::Case joined_case(const std::string& transport);

// The findings of examine() with this id.
std::vector<analysis::doctor::CheckResult> found(const analysis::doctor::Case& one,
                                                 const std::string& id);
// The gravest of these.
analysis::doctor::CheckStatus worst(const analysis::doctor::Case& one, const std::string& id);
// The `what` of the gravest.
analysis::doctor::What what(const analysis::doctor::Case& one, const std::string& id);
// A value of its sentence, as it stands there; "-" without one.
std::string value(const analysis::doctor::What& what, std::string_view name);

} // namespace ncclprobe::test_doctor
