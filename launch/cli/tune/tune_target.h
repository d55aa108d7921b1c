// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/cli/job/run_options.h"

#include <filesystem>
#include <string>
#include <variant>
#include <vector>

namespace ncclprobe::cli {

// What --for names: a collective of several sizes, a training step, or a recorded job.
struct SizesToTune {
  model::Collective collective = model::Collective::all_reduce;
  std::vector<std::uint64_t> bytes; // none: those of default_tune_sizes()
};
struct StepToTune {
  model::StepPattern pattern = model::StepPattern::ddp;
  std::string model; // name or file; empty: the default step's
};
// The replayed step of a recorded job.
struct JobToTune {
  std::filesystem::path path;
};
using TuneTarget = std::variant<SizesToTune, StepToTune, JobToTune>;

// "all_reduce:1M-256M" (every fourfold size, and the last), "all_reduce:8K,1M", "all_reduce",
// "ddp:gpt2-124m", "job/" (anything else with a slash). Errors: invalid_argument.
Words<TuneTarget> tune_target_words();

// Of a collective for which none are named, bytes.
std::vector<std::uint64_t> default_tune_sizes(const std::string& backend);

// The options of a run that measures this target alone, with nothing swept; a job's cells are not
// among them. `options` has
// everything that no target says.
RunOptions run_of(const TuneTarget& target, RunOptions options, const std::string& backend);

} // namespace ncclprobe::cli
