// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/bisect/step_search.h"
#include "analysis/proof/proof.h"
#include "analysis/report_value/report_value.h"
#include "analysis/results/run_summary.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ncclprobe::analysis {

// Why a version failed.
enum class VersionFailure { cannot_start, failed, crashed, hung, wrong_data };

struct FailedVersion {
  VersionFailure failure = VersionFailure::failed;
  std::string reason; // of the worst trial
};

// The worst failure of what is compared with the default. Nothing: all of its trials ended well.
std::optional<FailedVersion> failure_in(const model::Run& run);
// How the library ran the cells of one side; empty if it is not known.
enum class BisectSide { first, other };
std::vector<Use> choices_in(const model::Run& run, BisectSide side);

// A search, and what its runs showed of each version.
struct Bisection {
  std::string library; // "nccl"
  std::string cell;    // "all_reduce:64M"
  std::vector<std::string> versions;
  double least = 0.02;
  StepSearch search;
  std::map<std::size_t, FailedVersion> failures;
  std::map<std::size_t, std::vector<Use>> choices;
  bool synthetic = false;
};
Report bisect_report(const Bisection& bisection);

} // namespace ncclprobe::analysis
