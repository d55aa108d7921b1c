// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// ncclprobe-report: prints the report of a run file. `ncclprobe report` becomes this program.
#include "base/exit_code.h"
#include "cli/report_command.h"

#include <algorithm>
#include <iostream>

int main(int argc, char** argv) {
  using namespace ncclprobe;
  try {
    auto parsed =
        cli::parse_report_arguments({argv + std::min(argc, 1), argv + argc}, std::cout, std::cerr);
    if (auto* exit_code = std::get_if<int>(&parsed))
      return *exit_code;
    return cli::report_run(std::get<cli::ReportOptions>(parsed), std::cout, std::cerr);
  } catch (const std::exception& error) {
    std::cerr << "ncclprobe report: internal error: " << error.what() << "\n";
    return base::k_exit_internal;
  }
}
