// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/common/common_options.h"
#include "launch/cli/replay/replay_command.h"

namespace ncclprobe::cli {
namespace {

constexpr int k_most_steps = 64;
constexpr const char* k_replay_about =
    "Turns steps of a job, recorded by `ncclprobe record`, into a schedule. It measures the "
    "schedule as `ncclprobe run` measures training steps. The schedule contains the job's "
    "collectives and messages, with their sizes, types, communicators and order. Between them, the "
    "GPU multiplies matrices for the measured time. Where the job's host launched too late to keep "
    "its GPU busy, the replay reproduces the delay. It needs neither the job's program nor its "
    "model. The report first shows how well the replay reproduces the capture. That error applies "
    "to every verdict on a setting.\n\n"
    "On fewer ranks than were captured, communicators lose the missing ranks. Every remaining rank "
    "communicates as many bytes as in the job. A message to a missing rank cannot be replayed.";

} // namespace

Usage replay_usage(ReplayOptions& into) {
  return {
      .name = "replay",
      .summary = "Replay a step of a recorded job without its program, and compare settings on it",
      .about = k_replay_about,
      .examples = {{"ncclprobe replay job/", "how well does the replay reproduce the job?"},
                   {"ncclprobe replay job/ --set NCCL_MAX_CTAS=8,16",
                    "would these settings make its step faster?"},
                   {"ncclprobe replay job/ --compare-library nccl=/opt/nccl-2.28/libnccl.so.2"},
                   {"mpirun -np 16 ncclprobe replay job/", "on two nodes"},
                   {"ncclprobe replay job/ --captured-ranks 0,4 --ranks 2",
                    "two of eight ranks on two GPUs"},
                   {"ncclprobe replay job/ --backend host --ranks 4", "on the CPU"}},
      .exits = measurement_exits("the launch does not fit the machine"),
      .options = joined(
          {in_group("What is replayed",
                    {option("job", "JOB", into.job.path, path_words("job/"),
                            "Folder of a recorded job, or its trace file",
                            {.positional = true, .required = true}),
                     option("step-kind", "N", into.job.step_kind, number_words(0, k_most),
                            "Replay steps of this kind, as numbered in the job's report",
                            {.initial = "the kind with the most steps"}),
                     option("steps", "N", into.job.steps, number_words(1, k_most_steps),
                            "Replay N consecutive steps, each with its own times; 1: one step with "
                            "median times",
                            {.initial = "1 if steps are alike and the host launches in time, "
                                        "otherwise up to 16"}),
                     option("compute", "HOW", into.job.compute,
                            name_words<model::ReplayCompute>("choice for --compute"),
                            "What keeps the GPU busy while the job computed: gemm: matrix products "
                            "on the whole GPU, which take multiprocessors and caches from "
                            "communication; spin: one small kernel"),
                     option("captured-ranks", "N,...", into.job.captured_ranks, numbers<int>(0),
                            "Replay these ranks of the job, in this order",
                            {.initial = "the first ones, as many as this run has"})}),
           options_of_given_cells(into),
           in_group("Results", {format_option(into.format), run_file_option(into.output),
                                flag("force", into.force, "Replace the run file if it exists")}),
           log_options(into.verbosity)})};
}

} // namespace ncclprobe::cli
