// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/run_options.h"

#include <filesystem>

// Plan files are TOML and say anything the command line can (plan_file_reader.cpp and
// plan_file_writer.cpp: a new key goes into both):
//
//   backend = "nvidia"          # each key as the option of the same name; lists are TOML arrays
//   collectives = ["all_reduce", "all_gather"]
//   sizes = "1K:256M:x4"
//   repeat = 3
//   cell_timeout = "30s"
//   [[axis]]                    # the product of all axes is measured, in this order
//   name = "NCCL_PROTO"
//   values = ["LL", "Simple"]
//   [[setting]]                 # and these combinations as they stand
//   environment = { NCCL_ALGO = "Ring", NCCL_BUFFSIZE = "8388608" }
//   [[rank_set]]
//   ranks = "0-3"
//   environment = { NCCL_HOSTID = "a" }
//   [workload]                  # steps of training in place of collectives
//   workload = "ddp"            # each key as the option of the same name, with _ for -
//   model = "gpt2-124m"
//   batch = [4, 8]
//   ranks = [1, 2, 4, 8]        # sub-sets that are measured
//   [libraries]
//   nccl = "/opt/nccl/lib/libnccl.so.2"
//   [compare_libraries]         # each file is a setting; their product with the axes is measured
//   nccl = ["/opt/nccl-2.28/lib/libnccl.so.2", "/opt/nccl-2.29/lib/libnccl.so.2"]
namespace ncclprobe::cli {

// Fills what `options` leaves unset, and returns the text. Errors: not_found, io, invalid_argument
// with file and line.
base::Result<std::string> apply_plan_file(const std::filesystem::path& path, RunOptions& options);
// The same for a plan file's text; errors call it `name`.
base::Result<void> apply_plan_text(const std::string& text, const std::string& name,
                                   RunOptions& options);

// The plan file that means these options.
std::string write_plan_file(const RunOptions& options);

} // namespace ncclprobe::cli
