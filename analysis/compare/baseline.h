// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/compare/compared_run.h"
#include "base/error.h"

#include <filesystem>
#include <string>
#include <vector>

// A baseline is a folder of JSON files, one per run, without samples: it can live in git, and runs
// are removed by removing files. It may hold runs of several machines and versions; a comparison
// takes those that match.
namespace ncclprobe::analysis::compare {

// What runs must have in common to be compared: GPU, fabric class, ranks, NCCL and backend.
const std::vector<FactKind>& baseline_key();

// Writes FOLDER/NAME/<start>-<run id>.json and returns its path. Errors: invalid_argument (a name
// that is no plain file name; the run is in the baseline already), io.
Result<std::filesystem::path> add_to_baseline(const std::filesystem::path& folder,
                                              const std::string& name, const ComparedRun& run);

// All runs, by file name. Errors: not_found (there is no such baseline, or it is empty), protocol
// (a file is not of a baseline), invalid_argument (the name), io.
Result<std::vector<ComparedRun>> read_baseline(const std::filesystem::path& folder,
                                               const std::string& name);

// One file of a baseline. Errors: protocol, io, not_found.
Result<ComparedRun> read_baseline_file(const std::filesystem::path& path);

// Those whose key is that of `run`; the kinds of `vary` may differ. The run itself is left out.
// Errors: mismatch (there is none; says what differs).
Result<std::vector<ComparedRun>> matching(std::vector<ComparedRun> baseline, const ComparedRun& run,
                                          const std::vector<FactKind>& vary);

} // namespace ncclprobe::analysis::compare
