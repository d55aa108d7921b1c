// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/cli/job/run_options.h"

#include <filesystem>

// Plan files are TOML. Each key is an option of `run` with _ for -, and has the option's value:
//
//   backend = "nvidia"
//   collectives = ["all_reduce", "all_gather"] # or "all_reduce,all_gather"
//   sizes = "1K:256M:x4"
//   repeat = 3
//   cell_timeout = "30s"
//   set = ["NCCL_PROTO=LL,Simple", "NCCL_ALGO=Ring,Tree"]
//   rank_set = ["0-3:NCCL_HOSTID=a"]
//   workload = "ddp"
//   bucket_view = true
namespace ncclprobe::cli {

// Fills options that are unset, and returns the text. Errors: not_found, io, invalid_argument with
// file and line.
Result<std::string> apply_plan_file(const std::filesystem::path& path, RunOptions& options);
// The same for a plan file's text; errors call it `name`.
Result<void> apply_plan_text(const std::string& text, const std::string& name, RunOptions& options);

enum class PlanFormat { toml, json };
// These options as a plan file.
std::string write_plan_file(RunOptions options, PlanFormat format = PlanFormat::toml);

} // namespace ncclprobe::cli
