// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/exit_code.h"
#include "launch/cli/bisect/bisect_command.h"
#include "launch/cli/common/common_options.h"

namespace ncclprobe::cli {
namespace {

constexpr const char* k_bisect_about =
    "Compares the last version with the first one, in fresh processes and random order. If the "
    "last version is worse, a binary search finds the first version that is worse. Each "
    "comparison measures more processes until the answer is clear. A version that cannot start, "
    "crashes, hangs or delivers wrong data counts as worse. Files that match a pattern are sorted "
    "by the numbers in their paths, so 2.9 comes before 2.10. A list keeps its order.\n\n"
    "Variables of the environment apply to all versions. Progress and the output of the runs go "
    "to standard error.";

Result<void> check_bisect_options(const BisectOptions& options) {
  const std::size_t colon = options.cell.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == options.cell.size())
    return fail({Errc::invalid_argument,
                 fmt::format("--cell: '{}' is not COLLECTIVE:SIZE", options.cell),
                 "for example all_reduce:64M"});
  return {};
}

} // namespace

Usage bisect_usage(BisectOptions& into) {
  return {.name = "bisect",
          .summary = "Find the first version of a library that is slower, or fails",
          .about = k_bisect_about,
          .examples = {{"ncclprobe bisect 'nccl=/opt/nccl-*/libnccl.so.2' --cell all_reduce:64M",
                        "which NCCL made this size slower"},
                       {"ncclprobe bisect worker=/a/ncclprobe-worker,/b/ncclprobe-worker --cell "
                        "all_gather:1M --launcher 'mpirun -np 8'",
                        "which build of the worker made it slower"}},
          .exits = {{base::k_exit_regression, "a version is slower, or fails"},
                    {base::k_exit_undecided, "the measurements do not decide"},
                    {base::k_exit_nothing, "the first version could not be measured"},
                    {base::k_exit_interrupted, "interrupted"}},
          .options =
              joined({{option("versions", "NAME=FILES", into.versions,
                              text_words("nccl=/opt/nccl-*/libnccl.so.2"),
                              "Library (nccl, worker, ...) and the files of its versions, the "
                              "oldest first: a pattern, or a list "
                              "with commas",
                              {.positional = true, .required = true}),
                       option("cell", "COLLECTIVE:SIZE", into.cell, text_words("all_reduce:64M"),
                              "Collective and size to measure", {.required = true}),
                       option("least", "SHARE", into.least, share_words(),
                              "Smallest slowdown that matters", {.initial = "2%", .example = "5%"}),
                       option("launcher", "COMMAND", into.launcher, text_words("mpirun -np 8"),
                              "Command that starts ncclprobe in each run"),
                       option("cell-timeout", "TIME", into.cell_deadline_ns, duration_words(),
                              "A version that takes longer to measure the cell counts as hung",
                              {.initial = "30s"}),
                       backend_option(into.backend), ranks_option(into.ranks, k_most)},
                      result_options(into, {"table", "json", "csv", "markdown"})}),
          .check = [&into](const Options&) { return check_bisect_options(into); }};
}

} // namespace ncclprobe::cli
