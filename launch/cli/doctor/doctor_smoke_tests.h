// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/survey/case.h"
#include "launch/cli/doctor/doctor_survey.h"

namespace ncclprobe::cli {

// Where a real trial can run; the same on all supervisors.
struct TestSetup {
  launch::BackendChoice backend;
  launch::Layout layout;
};
// Errors: why none can run.
base::Result<TestSetup> make_test_setup(const World& world, const DoctorOptions& options,
                                        const SurveyedJob& job);

// On every supervisor: a kernel and a small all-reduce, checked, on two ranks and on all; on GPUs
// also a large one, timed, with NCCL's log, and copies between all pairs; with --deep the sustained
// load, and a look at the GPUs meanwhile. What came out goes into the leader's `into`. Errors:
// protocol.
base::Result<void> run_smoke_tests(const World& world, const DoctorOptions& options,
                                   SurveyedJob& job, const TestSetup& setup,
                                   analysis::doctor::Case& into);

} // namespace ncclprobe::cli
