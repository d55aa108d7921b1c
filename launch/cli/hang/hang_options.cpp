// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/exit_code.h"
#include "launch/cli/common/common_options.h"
#include "launch/cli/hang/hang_command.h"

namespace ncclprobe::cli {
namespace {

constexpr const char* k_hang_about =
    "Reads a job recorded by `ncclprobe record` (docs/traces.md), while it runs or after it was "
    "killed. It also reads dumps of PyTorch's flight recorder. It shows which operation the ranks "
    "wait in, which ranks have not called it, and where ranks called different operations. Dumps "
    "are pickles. They are read as plain data; nothing in them is executed.\n\n"
    "If other ranks wait for a rank on this host, it also shows where the threads of that rank "
    "are. This stops each thread for a few milliseconds.\n\n"
    "NCCL reports an operation when it launches it. So a rank that is still connecting to its "
    "peers is shown as not having called the operation.";

} // namespace

Usage hang_usage(HangOptions& into) {
  return {.name = "hang",
          .summary = "Show in which operation a job hangs, and which ranks hold it up",
          .about = k_hang_about,
          .examples = {{"ncclprobe hang job/", "also while the job runs"},
                       {"ncclprobe hang --flight-recorder '/tmp/nccl_trace_rank_*'",
                        "dumps of PyTorch's flight recorder"},
                       {"ncclprobe hang job/ --ras node1:28028", "also ask NCCL itself"}},
          .exits = {{base::k_exit_hang, "something hangs"}},
          .options = joined(
              {{option("job", "JOB", into.job, path_words("job/"),
                       "Folder of a job that was or is being recorded", {.positional = true}),
                repeated("flight-recorder", "FILES", into.dumps, text_words("nccl_trace_rank_*"),
                         "Dumps of PyTorch's flight recorder, one per rank: a file, a folder or a "
                         "pattern"),
                option("ras", "HOST:PORT", into.ras, text_words("localhost:28028"),
                       "Address of NCCL's RAS service",
                       {.initial = "localhost:28028, if the job runs on this host"}),
                option("longer-than", "TIME", into.least_ns, duration_words(),
                       "An operation counts as hung if it has not ended after this time",
                       {.initial = "5s", .example = "30s"})},
               result_options(into, {"table", "json", "csv", "markdown"})})};
}

} // namespace ncclprobe::cli
