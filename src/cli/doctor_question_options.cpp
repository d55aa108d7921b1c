// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/doctor_question_options.h"

#include "cli/common_options.h"
#include "cli/option_values.h"

#include <CLI/CLI.hpp>

namespace ncclprobe::cli {
void declare_doctor_questions(CLI::App& app, DoctorQuestions& questions) {
  const char* group = "Questions (answered instead of an examination; no mpirun needed)";
  CLI::Option* log = app.add_option("--log", questions.log,
                                    "Diagnose a training, NCCL or kernel log; - is standard input")
                         ->type_name("FILE")
                         ->group(group);
  CLI::Option* binary = app.add_option("--binary", questions.binary,
                                       "List the GPU code of a program, library, archive or object "
                                       "file, and what each GPU would run of it")
                            ->type_name("FILE")
                            ->group(group)
                            ->excludes(log);
  CLI::Option* wheel =
      app.add_option("--wheel", questions.wheel,
                     "Will this PyTorch wheel run (torch==2.8.0+cu128; without a tag the one that "
                     "PyPI has), why not, and which will")
          ->type_name("WHEEL")
          ->group(group)
          ->excludes(log)
          ->excludes(binary);
  app.add_flag(
         "--explain-gpu", questions.explain_gpu,
         "What the GPUs are good for: capability, memory, interconnect, power, price, and the "
         "software that supports them")
      ->group(group)
      ->excludes(log)
      ->excludes(binary)
      ->excludes(wheel);
  app.add_option(
         "--gpu", questions.gpus,
         "For --binary, --explain-gpu and --wheel: this model (T4, NVIDIA A100-SXM4-80GB) or "
         "capability (8.9, sm_89) instead of the GPUs of this host; may be repeated")
      ->type_name("GPU")
      ->allow_extra_args(false)
      ->group(group)
      ->excludes(log);
  app.add_option(
         "--node", questions.nodes,
         "For --binary, --explain-gpu and --wheel: the nodes of a stored examination (--format "
         "json) "
         "or of a run file instead of this host; may be repeated. Of several nodes or GPUs, "
         "also the newest software that all run")
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->group(group)
      ->excludes(log);
  app.add_option("--policy", questions.policy,
                 "For --explain-gpu: what a node must have (TOML), and whether it does")
      ->type_name("FILE")
      ->group(group)
      ->excludes(log)
      ->excludes(binary)
      ->excludes(wheel);
  add_texts(app, "--price", "[GPU=]VALUE", "For --explain-gpu: what a unit costs; may be repeated",
            [&](const std::string& text) { return add_price(text, questions.prices); })
      ->group(group)
      ->excludes(log)
      ->excludes(binary)
      ->excludes(wheel);
}

} // namespace ncclprobe::cli
