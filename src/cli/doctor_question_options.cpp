// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/doctor_question_options.h"

#include "cli/common_options.h"

namespace ncclprobe::cli {

Options doctor_question_options(DoctorQuestions& into) {
  return in_group(
      "Questions (answered instead of an examination; no mpirun needed)",
      {option("log", "FILE", into.log, text_words("train.log"),
              "Diagnose a training, NCCL or kernel log; - is standard input"),
       option("binary", "FILE", into.binary, text_words("libtorch_cuda.so"),
              "List the GPU code of a program, library, archive or object file, and what each GPU "
              "would run of it",
              {.excludes = {"log"}}),
       option("wheel", "WHEEL", into.wheel, text_words("torch==2.8.0+cu128"),
              "Will this PyTorch wheel run (without a tag: the one on PyPI), why not, and which "
              "will",
              {.excludes = {"log", "binary"}}),
       flag("explain-gpu", into.explain_gpu,
            "What the GPUs are good for: capability, memory, interconnect, power, price, and the "
            "software that supports them",
            {.excludes = {"log", "binary", "wheel"}}),
       repeated("gpu", "GPU", into.gpus, text_words("T4"),
                "For --binary, --explain-gpu and --wheel: this model (T4, NVIDIA A100-SXM4-80GB) "
                "or capability (8.9, sm_89) instead of the GPUs of this host",
                {.excludes = {"log"}}),
       repeated("node", "FILE", into.nodes, text_words("node7.json"),
                "For --binary, --explain-gpu and --wheel: the nodes of a stored examination or of "
                "a run file instead of this host. For several nodes or GPUs, also the newest "
                "software that all run",
                {.excludes = {"log"}}),
       option("policy", "FILE", into.policy, text_words("training.toml"),
              "For --explain-gpu: what a node must have (TOML), and whether it does",
              {.excludes = {"log", "binary", "wheel"}}),
       price_option(into.prices, "For --explain-gpu: what a unit costs",
                    {.excludes = {"log", "binary", "wheel"}})});
}

} // namespace ncclprobe::cli
