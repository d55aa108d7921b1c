// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/doctor_question_options.h"

#include "cli/common_options.h"

#include <CLI/CLI.hpp>

#include <charconv>

namespace ncclprobe::cli {
namespace {

// "T4=800"
base::Result<void> parse_price(const std::string& text, std::map<std::string, double>& into) {
  std::size_t equals = text.rfind('=');
  double value = 0;
  bool read = false;
  if (equals != std::string::npos && equals > 0) {
    const char* begin = text.data() + equals + 1;
    const char* end = text.data() + text.size();
    auto [at, error] = std::from_chars(begin, end, value);
    read = error == std::errc{} && at == end && value > 0 && value < 1e12;
  }
  if (!read)
    return base::fail(base::Error{base::Errc::invalid_argument,
                                  fmt::format("'{}' is no price", text), "such as T4=800"});
  into[text.substr(0, equals)] = value;
  return {};
}

} // namespace

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
  app.add_flag(
         "--explain-gpu", questions.explain_gpu,
         "What the GPUs are good for: capability, memory, interconnect, power, price, and the "
         "software that supports them")
      ->group(group)
      ->excludes(log)
      ->excludes(binary);
  app.add_option("--gpu", questions.gpus,
                 "For --binary and --explain-gpu: this model (T4, NVIDIA A100-SXM4-80GB) or "
                 "capability (8.9, sm_89) instead of the GPUs of this host; may be repeated")
      ->type_name("GPU")
      ->allow_extra_args(false)
      ->group(group)
      ->excludes(log);
  add_texts(app, "--price", "GPU=VALUE", "For --explain-gpu: what a unit costs; may be repeated",
            [&](const std::string& text) { return parse_price(text, questions.prices); })
      ->group(group)
      ->excludes(log)
      ->excludes(binary);
}

} // namespace ncclprobe::cli
