// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "cli/trace_window.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

// The timeline's part of `ncclprobe report`.
namespace ncclprobe::cli {

struct TimelineRequest {
  std::filesystem::path path; // a run file, a trace file, or a folder of spools
  std::optional<int> trial;   // of a run; else its first traced one
  bool json = false;
  bool steps = false; // each step by itself, in JSON
  std::optional<WindowRequest> window;
  std::vector<int> ranks; // figures of these alone; empty: of all
};

// The analysed timeline as text. What is missing, but no error, is logged.
base::Result<std::string> timeline_text(const TimelineRequest& request);

} // namespace ncclprobe::cli
