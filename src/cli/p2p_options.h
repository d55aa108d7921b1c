// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report/report.h"
#include "base/log.h"
#include "cli/usage.h"
#include "model/trial.h"
#include "workload/p2p_label.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ncclprobe::cli {

struct P2pOptions {
  std::optional<std::string> backend;
  std::optional<int> ranks;
  std::optional<workload::P2pMode>
      mode; // unset: direct where one process drives all GPUs of a host
  std::optional<std::vector<workload::P2pMethod>> methods;
  std::optional<std::vector<workload::P2pDirection>> directions;
  std::optional<std::vector<std::uint64_t>> sizes;
  std::optional<std::vector<int>> devices;
  std::vector<model::Setting> libraries;
  int repeats = 1;
  std::optional<std::uint64_t> seed;
  std::optional<std::int64_t> cell_deadline_ns;
  std::optional<std::int64_t> startup_deadline_ns;
  std::optional<std::string> output;
  bool force = false; // replace the run file
  std::optional<analysis::Format> format;
  base::Verbosity verbosity = base::Verbosity::normal;
};
Usage p2p_usage(P2pOptions& into);

} // namespace ncclprobe::cli
