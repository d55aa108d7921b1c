// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/doctor_options.h"

#include "base/units.h"
#include "cli/common_options.h"

#include <CLI/CLI.hpp>

namespace ncclprobe::cli {
namespace {

constexpr const char* k_footer = R"(Examples:
  ncclprobe doctor                           this host; ends with a real kernel and all-reduce on its GPUs
  mpirun -np 16 ncclprobe doctor             all ranks of all hosts, as they would start: names who differs
  ncclprobe doctor --deep --load-time 2m     also clocks under load, PCIe under load, connections
  ncclprobe doctor --python .venv/bin/python  also whether its PyTorch suits driver and GPUs
  ncclprobe doctor --format json --output node7.json
  ncclprobe doctor --offline node7.json      the verdicts once more, on any machine
  ncclprobe doctor --log train.log           root causes in a training, NCCL or kernel log; - is standard input
  ncclprobe doctor --binary libtorch_cuda.so --gpu "RTX 5090"    will its code run there?
  ncclprobe doctor --explain-gpu --gpu T4 --gpu L4 --price T4=800 --price L4=2400
  ncclprobe doctor --gpu "GTX 1080" --wheel torch==2.8+cu128    will this PyTorch run there, and which will?
  ncclprobe doctor --gpu T4 --gpu "RTX 5090"  the newest CUDA, driver and PyTorch that both run
  ncclprobe doctor --policy training.toml --node node7.json --node run.h5    which of these nodes suit?

It changes nothing on the machine. Fixes are commands for you or your administrator; none is run.

Exit codes: 0 nothing worse than information, 8 warnings, 9 failures (of a log: what it shows; of code and of a wheel: a GPU cannot run it;
  of a policy: 8 not all is known, 9 a node does not suit; of a wheel and of GPUs: 8 not all is known); 1 defect of ncclprobe, 2 bad arguments or input,
  6 the ranks were started with different arguments, 7 the output could not be written, 130 interrupted)";

constexpr std::int64_t k_second_ns = 1'000'000'000;

base::Result<void> parse_load_time(const std::string& text, std::int64_t& into) {
  NCCLPROBE_TRY_ASSIGN(into, base::parse_duration_ns(text));
  if (into < 2 * k_second_ns || into > 3600 * k_second_ns)
    return base::fail(base::Errc::invalid_argument, "'{}' is not between 2s and 1h", text);
  return {};
}

} // namespace

void declare_doctor_options(CLI::App& app, DoctorOptions& options) {
  app.footer(k_footer);
  app.add_option("--format,-f", options.format,
                 "text (default) or json: the verdicts and what they rest on")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"text", "json"}));
  add_text_file(app, options.output);
  CLI::Option* offline = app.add_option("--offline", options.offline,
                                        "Judge what --format json stored; looks at no hardware")
                             ->type_name("FILE");
  add_real_backend(app, options.backend)->excludes(offline);
  add_ranks(app, options.ranks, 1024)->excludes(offline);
  CLI::Option* deep =
      app.add_flag("--deep", options.deep,
                   "Also a minute of load: clocks, PCIe links; and connections between ranks")
          ->excludes(offline);
  add_text(app, "--load-time", "TIME", "How long --deep loads the GPUs (default 60s)",
           [&](const std::string& text) { return parse_load_time(text, options.load_ns); })
      ->needs(deep);
  app.add_flag("--no-run", options.no_run, "Look only: run no kernel and no collective")
      ->excludes(offline)
      ->excludes(deep);
  add_library(app, options.libraries)->excludes(offline);
  app.add_option(
         "--python", options.python,
         "Also judge the PyTorch that this interpreter imports (on rank 0's host), and list "
         "the libraries of its environment")
      ->type_name("PATH")
      ->excludes(offline);
  declare_doctor_questions(app, options.questions);
  // A question is answered instead of an examination, whose options would do nothing.
  for (const char* question :
       {"--log", "--binary", "--explain-gpu", "--wheel", "--gpu", "--node", "--policy", "--price"})
    for (const char* examination :
         {"--offline", "--backend", "--ranks", "--deep", "--no-run", "--python"})
      app.get_option(question)->excludes(app.get_option(examination));
  add_verbose(app, options.verbosity);
}

} // namespace ncclprobe::cli
