// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// ncclprobe-report: prints the report of a run file; with `export` writes its trace for other
// programs, with `predict` and `claim` says what follows from it for other jobs. `ncclprobe report`
// and the rest become this program.
#include "base/console.h"
#include "base/exit_code.h"
#include "base/log.h"
#include "base/process_start.h"
#include "base/resource_limits.h"
#include "cli/claim_command.h"
#include "cli/export_command.h"
#include "cli/predict_command.h"
#include "cli/report_command.h"

#include <algorithm>
#include <ostream>

namespace {

using namespace ncclprobe;

std::ostream& out() {
  return base::console(base::Stream::out);
}
std::ostream& err() {
  return base::console(base::Stream::err);
}

int export_main(const std::vector<std::string>& arguments) {
  auto parsed = cli::parse_export_arguments(arguments, out(), err());
  if (auto* exit_code = std::get_if<int>(&parsed))
    return *exit_code;
  return cli::export_trace(std::get<cli::ExportOptions>(parsed), out(), err());
}

int predict_main(const std::vector<std::string>& arguments) {
  auto parsed = cli::parse_predict_arguments(arguments, out(), err());
  if (auto* exit_code = std::get_if<int>(&parsed))
    return *exit_code;
  return cli::predict_steps(std::get<cli::PredictOptions>(parsed), out(), err());
}

int claim_main(const std::vector<std::string>& arguments) {
  auto parsed = cli::parse_claim_arguments(arguments, out(), err());
  if (auto* exit_code = std::get_if<int>(&parsed))
    return *exit_code;
  return cli::check_claim(std::get<cli::ClaimOptions>(parsed), out(), err());
}

int report_main(const std::vector<std::string>& arguments) {
  auto parsed = cli::parse_report_arguments(arguments, out(), err());
  if (auto* exit_code = std::get_if<int>(&parsed))
    return *exit_code;
  return cli::report_run(std::get<cli::ReportOptions>(parsed), out(), err());
}

// What was written is there only once it is flushed.
int flushed(int exit_code) {
  if (out().flush() || exit_code == base::k_exit_output)
    return exit_code;
  err() << "ncclprobe: cannot write to standard output\n";
  return base::k_exit_output;
}

} // namespace

int main(int argc, char** argv) {
  base::prepare_process();
  if (auto enough = base::check_memory_limit(); !enough) {
    err() << "ncclprobe report: " << enough.error().text() << "\n";
    return base::k_exit_environment;
  }
  try {
    base::start_log("ncclprobe-report", base::Verbosity::normal);
    std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
    const std::string command = arguments.empty() ? "" : arguments.front();
    const auto main_of = command == "export"    ? export_main
                         : command == "predict" ? predict_main
                         : command == "claim"   ? claim_main
                                                : nullptr;
    if (!main_of)
      return flushed(report_main(arguments));
    arguments.erase(arguments.begin());
    return flushed(main_of(arguments));
  } catch (const std::exception& error) {
    if (auto shortage = base::shortage_behind(error)) {
      err() << "ncclprobe report: " << shortage->text() << "\n";
      return base::k_exit_environment;
    }
    err() << "ncclprobe report: internal error: " << error.what() << "\n";
    return base::k_exit_internal;
  }
}
