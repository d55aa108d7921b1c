// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// ncclprobe-report: prints the report of a run file, or with `export` writes its trace for other
// programs. `ncclprobe report` and `ncclprobe export` become this program.
#include "base/exit_code.h"
#include "cli/export_command.h"
#include "cli/report_command.h"

#include <algorithm>
#include <iostream>

namespace {

using namespace ncclprobe;

int export_main(const std::vector<std::string>& arguments) {
  auto parsed = cli::parse_export_arguments(arguments, std::cout, std::cerr);
  if (auto* exit_code = std::get_if<int>(&parsed))
    return *exit_code;
  return cli::export_trace(std::get<cli::ExportOptions>(parsed), std::cout, std::cerr);
}

int report_main(const std::vector<std::string>& arguments) {
  auto parsed = cli::parse_report_arguments(arguments, std::cout, std::cerr);
  if (auto* exit_code = std::get_if<int>(&parsed))
    return *exit_code;
  return cli::report_run(std::get<cli::ReportOptions>(parsed), std::cout, std::cerr);
}

} // namespace

int main(int argc, char** argv) {
  try {
    std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
    if (arguments.empty() || arguments.front() != "export")
      return report_main(arguments);
    arguments.erase(arguments.begin());
    return export_main(arguments);
  } catch (const std::exception& error) {
    std::cerr << "ncclprobe report: internal error: " << error.what() << "\n";
    return base::k_exit_internal;
  }
}
