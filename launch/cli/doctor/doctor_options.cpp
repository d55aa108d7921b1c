// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/exit_code.h"
#include "launch/cli/common/common_options.h"
#include "launch/cli/doctor/doctor_command.h"

namespace ncclprobe::cli {
namespace {

Options examination_options(DoctorOptions& into) {
  return {
      option("offline", "FILE", into.offline, text_words("node7.json"),
             "Judge an examination stored with --format json, without looking at hardware"),
      excluding(real_backend_option(into.backend), {"offline"}),
      excluding(ranks_option(into.ranks, 1024), {"offline"}),
      flag("deep", into.deep,
           "Also test clocks and PCIe links under load, and connections between ranks",
           {.excludes = {"offline"}}),
      option("load-time", "TIME", into.load_ns,
             such_that<std::int64_t>(
                 duration_words(),
                 [](const auto& ns) { return ns >= 2 * k_second_ns && ns <= 3600 * k_second_ns; },
                 "it is not between 2s and 1h"),
             "How long to keep the GPUs under load", {.example = "2m", .needs = {"deep"}}),
      flag("no-run", into.no_run, "Only look: run no kernel and no collective",
           {.excludes = {"offline", "deep"}}),
      excluding(library_option(into.libraries), {"offline"}),
      option("python", "PATH", into.python, text_words(".venv/bin/python"),
             "Also judge the PyTorch that this interpreter imports on rank 0's host, and list "
             "the libraries of its environment",
             {.excludes = {"offline"}})};
}

// A question is answered instead of an examination, whose options would do nothing.
Options question_options(DoctorQuestions& into) {
  Options questions = in_group(
      "Questions (answered instead of an examination; no mpirun needed)",
      {option(
           "log", "FILE", into.log, text_words("train.log"),
           "Diagnose a training, NCCL or kernel log, or the workers' last output in a run file; - "
           "is standard input"),
       option(
           "binary", "FILE", into.binary, text_words("libtorch_cuda.so"),
           "List the GPU code of a program, library, archive or object file, and which code each "
           "GPU would run",
           {.excludes = {"log"}}),
       option("wheel", "WHEEL", into.wheel, text_words("torch==2.8.0+cu128"),
              "Say whether this PyTorch wheel runs; if not, say why and which wheel does (without "
              "a tag: the wheel on PyPI)",
              {.excludes = {"log", "binary"}}),
       flag("explain-gpu", into.explain_gpu,
            "Say what the GPUs are good for: capability, memory, interconnect, power, price, and "
            "the "
            "software that supports them",
            {.excludes = {"log", "binary", "wheel"}}),
       repeated("gpu", "GPU", into.gpus, text_words("T4"),
                "Answer for this model (T4, NVIDIA A100-SXM4-80GB) or capability (8.9, sm_89) "
                "instead of the GPUs of this host; without --binary or --wheel, --explain-gpu is "
                "implied",
                {.excludes = {"log"}}),
       repeated(
           "node", "FILE", into.nodes, text_words("node7.json"),
           "Answer for the nodes of a stored examination, topology or run file instead of this "
           "host; without --binary or --wheel, --explain-gpu is implied. For several nodes or "
           "GPUs, also name the newest software that runs on all of them",
           {.excludes = {"log"}}),
       option("policy", "FILE", into.policy, text_words("training.toml"),
              "Judge the nodes by these requirements (TOML); implies --explain-gpu",
              {.excludes = {"log", "binary", "wheel"}}),
       price_option(into.prices, "Price of one GPU; implies --explain-gpu",
                    {.excludes = {"log", "binary", "wheel"}})});
  for (Option& question : questions)
    question =
        excluding(std::move(question), {"offline", "backend", "ranks", "deep", "no-run", "python"});
  return questions;
}

} // namespace

Usage doctor_usage(DoctorOptions& into) {
  return {
      .name = "doctor",
      .summary = "Say what is wrong with this machine and its software, and how to repair it",
      .about = "doctor changes nothing on the machine. It prints fixes as commands for you or your "
               "administrator, and runs none of them.",
      .examples =
          {{"ncclprobe doctor", "this host; ends with a real kernel and all-reduce on its GPUs"},
           {"mpirun -np 16 ncclprobe doctor",
            "all ranks of all hosts, started as for a run; names ranks that differ"},
           {"ncclprobe doctor --deep --load-time 2m",
            "also clocks under load, PCIe under load, connections"},
           {"ncclprobe doctor --python .venv/bin/python",
            "also whether its PyTorch suits the driver and the GPUs"},
           {"ncclprobe doctor -o node7.json", "keep the examination"},
           {"ncclprobe doctor --offline node7.json", "judge it again, on any machine"},
           {"ncclprobe doctor --log train.log",
            "root causes in a training, NCCL or kernel log; - is standard input"},
           {"ncclprobe doctor --binary libtorch_cuda.so --gpu \"RTX 5090\"",
            "will its code run there?"},
           {"ncclprobe doctor --explain-gpu --gpu T4 --gpu L4 --price T4=800 --price L4=2400"},
           {"ncclprobe doctor --gpu \"GTX 1080\" --wheel torch==2.8+cu128",
            "does this PyTorch run there? If not, which one does?"},
           {"ncclprobe doctor --gpu T4 --gpu \"RTX 5090\"",
            "the newest CUDA, driver and PyTorch that work on both"},
           {"ncclprobe doctor --policy training.toml --node node7.json --node run.h5",
            "which of these nodes suit?"}},
      .exits = {{base::k_exit_ok, "no warnings and no failures"},
                {base::k_exit_environment, "the ranks were started with different arguments"},
                {base::k_exit_warnings,
                 "warnings; --policy, --wheel or --gpu: some facts are unknown"},
                {base::k_exit_failures,
                 "failures; --log: the log proves a failure; --binary or --wheel: a GPU cannot run "
                 "it; --policy: a node does not meet the policy"},
                {base::k_exit_interrupted, "interrupted"}},
      .options = joined({examination_options(into), question_options(into.questions),
                         result_options(into, {"text", "json", "csv", "markdown", "html"},
                                        "{}; json holds the verdicts and their evidence")})};
}

} // namespace ncclprobe::cli
