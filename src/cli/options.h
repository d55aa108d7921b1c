// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/doctor_options.h"
#include "cli/models_options.h"
#include "cli/p2p_options.h"
#include "cli/run_options.h"
#include "cli/topo_options.h"

#include <string>
#include <variant>
#include <vector>

namespace ncclprobe::cli {

struct RunCommand {
  RunOptions options;
};
enum class DryRun { no, yes };
struct PlanCommand {
  RunOptions options;
  DryRun dry_run = DryRun::no;
};
struct DoctorCommand {
  DoctorOptions options;
};
struct P2pCommand {
  P2pOptions options;
};
struct TopoCommand {
  TopoOptions options;
};
struct ModelsCommand {
  ModelsOptions options;
};
struct ReportCommand {
  std::vector<std::string> arguments; // passed on to ncclprobe-report
};
struct VersionCommand {};
// Help was printed, or the arguments are wrong and that was printed: leave with this code.
struct Leave {
  int exit_code;
};
using Command = std::variant<RunCommand, PlanCommand, P2pCommand, TopoCommand, DoctorCommand,
                             ModelsCommand, ReportCommand, VersionCommand, Leave>;

// Reads the arguments (argv[0] first). Touches no hardware. Prints help and usage errors itself.
Command parse_command_line(const std::vector<std::string>& arguments);

} // namespace ncclprobe::cli
