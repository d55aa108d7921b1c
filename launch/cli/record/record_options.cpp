// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/promise/promise.h"
#include "base/exit_code.h"
#include "base/units.h"
#include "launch/cli/common/common_options.h"
#include "launch/cli/record/record_command.h"

namespace ncclprobe::cli {
namespace {

constexpr const char* k_about =
    "Records the NCCL operations of any program that uses NCCL 2.27 or later. The program needs no "
    "change. Each process writes its own file to the folder. NVTX ranges of the program are "
    "recorded "
    "too: they name the phases of its steps.\n\n"
    "ncclprobe replaces itself with the program (exec). The process id, signals and exit code are "
    "therefore the program's.\n\n"
    "With mpirun and srun, put 'ncclprobe record ... --' before the program, as in the examples. "
    "All "
    "ranks use the same folder.\n\n"
    "In a container, mount the library, which needs nothing but glibc, and set variables:\n"
    "  docker run -v /opt/ncclprobe/lib/libncclprobe-profiler.so:/usr/lib/libncclprobe-profiler.so "
    "\\\n"
    "    -v /opt/ncclprobe/lib/libncclprobe-profiler.so:/usr/lib64/libncclprobe-profiler.so \\\n"
    "    -e NCCL_PROFILER_PLUGIN=libncclprobe-profiler.so \\\n"
    "    -v $PWD/job:/job -e NCCLPROBE_CAPTURE_DIR=/job IMAGE python train.py\n\n"
    "NCCL 2.27 takes the library's name, not its path. Debian and Ubuntu find it in /usr/lib, RHEL "
    "and UBI in /usr/lib64.\n\n"
    "For kernels, as with --cuda, add these variables:\n"
    "  -e NCCLPROBE_CAPTURE_CUDA=1 -e NCCLPROBE_CAPTURE_STEPS=5 -e NCCLPROBE_CAPTURE_EVERY=100 \\\n"
    "    -e CUDA_INJECTION64_PATH=/usr/lib64/libncclprobe-profiler.so\n\n"
    "For phases by NVTX ranges, add "
    "-e NVTX_INJECTION64_PATH=/usr/lib64/libncclprobe-profiler.so.\n\n"
    "--print-env prints paths of this host. A container does not have them.\n\n"
    "--cuda: CUPTI serves one tool per process. A torch.profiler that starts while kernels are "
    "recorded may get no data. If another tool uses CUPTI, the program continues, but its kernels "
    "are not recorded. The report names that tool if it is known.";

// The plugin takes no less (plugin/capture/limits.cpp).
constexpr std::uint64_t k_least_bytes = 16 << 20;
constexpr std::uint64_t k_most_steps = 1'000'000'000;

Words<std::int64_t> whole_milliseconds() {
  return such_that<std::int64_t>(
      duration_words(), [](const std::int64_t& ns) { return ns >= 1'000'000; },
      "it must be 1 ms or more");
}

Words<std::uint64_t> file_size() {
  return such_that<std::uint64_t>(
      {[](const std::string& text) { return base::parse_bytes(text); },
       [](const std::uint64_t& bytes) { return base::format_bytes(bytes); }, "2G"},
      [](const std::uint64_t& bytes) { return bytes >= k_least_bytes; }, "it must be 16M or more");
}

} // namespace

Usage record_usage(RecordOptions& into) {
  return {
      .name = "record",
      .summary = "Record the NCCL operations of any program",
      .about = k_about,
      .examples =
          {{"ncclprobe record -- torchrun --nproc-per-node 8 train.py",
            "then: ncclprobe report job/"},
           {"mpirun -np 8 ncclprobe record -o job -- ./train", "each rank runs it"},
           {"srun -N 2 --ntasks-per-node 8 ncclprobe record -o /shared/job -- python train.py",
            "all hosts write to one folder"},
           {"ncclprobe record --cuda -- torchrun --nproc-per-node 8 train.py",
            "also compute kernels and overlap, in 5 of every 100 steps"},
           {"ncclprobe record --verify tuned/ -- torchrun --nproc-per-node 8 train.py",
            "does the job gain what ncclprobe tune promised?"},
           {"ncclprobe record --last 30s -- ./train", "what happened before a crash or a hang"},
           {"eval \"$(ncclprobe record --print-env -o job)\"",
            "sets the variables in this shell, for a launcher that cannot be wrapped"}},
      .exits = {{base::k_exit_ok,
                 "the command succeeded. Its exit code is passed on; the codes below can also come "
                 "from ncclprobe"},
                {base::k_exit_usage,
                 "bad arguments, the folder already holds a capture, or another "
                 "profiler plugin is set"},
                {base::k_exit_environment, "ncclprobe's plugin was not found"},
                {base::k_exit_nothing, "--verify: the command fails without the settings"},
                {base::k_exit_regression, "--verify: the promise is not kept"},
                {base::k_exit_undecided, "--verify: not decided"},
                {126, "the command cannot be started"},
                {127, "the command was not found"}},
      .options = joined(
          {{option("output", "FOLDER", into.folder, path_words("job"),
                   "Folder for the capture, shared by all ranks", {.also = "-o"}),
            option("level", "LEVEL", into.level, choice_words({"operations", "kernels", "full"}),
                   "operations: which NCCL operations were called, and when; kernels: also when "
                   "they ran on the GPU; full: also NCCL's proxy steps and the network",
                   {.initial = "kernels; operations with --verify"}),
            option("for", "TIME", into.for_ns, whole_milliseconds(),
                   "Stop recording after this time", {.example = "60s", .excludes = {"last"}}),
            option("last", "TIME", into.last_ns, whole_milliseconds(),
                   "Keep only the last TIME before the job ends, for jobs that fail or hang. The "
                   "recording is on disk even if the job is killed",
                   {.example = "30s"}),
            option("max-size", "SIZE", into.most_bytes, file_size(),
                   "Size limit for the files of one process. Recording stops there; with --last, "
                   "it keeps less time instead"),
            flag("cuda", into.cuda,
                 "Also record kernels and copies, with the CUPTI that the program has loaded. "
                 "Without --steps, this records --steps 5 --every 100"),
            option("steps", "N", into.steps, number_words<std::uint64_t>(1, k_most_steps),
                   "Stop recording after N steps. A step is a repeat of the same NCCL operations",
                   {.example = "100"}),
            option("every", "M", into.every, number_words<std::uint64_t>(1, k_most_steps),
                   "Do not stop after --steps: record the kernels of --steps out of every M steps, "
                   "and the NCCL operations of all steps",
                   {.example = "100", .needs = {"steps", "cuda"}}),
            option("verify", "TUNED", into.verify, path_words("tuned/"),
                   "Run the command in turns without and with the settings in this folder, and "
                   "report whether the job gains what they promise",
                   {.excludes = {"for", "last", "cuda", "print-env"}}),
            option("repeats", "N", into.repeats, number_words(analysis::k_least_pairs, 1000),
                   "Number of pairs of runs; a verdict needs at least 3", {.needs = {"verify"}}),
            flag("print-env", into.print_environment,
                 "Print the variables as shell commands instead of starting a command"),
            force_option(into.overwrite, "Replace the capture in the folder"),
            repeated("command", "COMMAND [ARGUMENT]...", into.command, text_words("./train"),
                     "The program to record, with its arguments",
                     {.positional = true, .after_dashes = true})},
           log_options(into.verbosity)}),
      .check = [&into](const Options&) -> Result<void> {
        if (into.command.empty() != into.print_environment)
          return fail({Errc::invalid_argument,
                       into.print_environment ? "--print-env takes no command"
                                              : "the command to record is missing",
                       "ncclprobe record -- ./train"});
        if (into.steps && !into.every && into.last_ns)
          return fail({Errc::invalid_argument, "--steps stops recording, but --last never stops",
                       "leave one of them out"});
        if (into.cuda && into.level == "operations")
          return fail({Errc::invalid_argument,
                       "--cuda needs the times of NCCL's kernels, which --level operations does "
                       "not record",
                       "leave out --level"});
        return {};
      }};
}

} // namespace ncclprobe::cli
