// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/p2p_options.h"

#include "base/units.h"
#include "cli/common_options.h"
#include "cli/option_values.h"

#include <CLI/CLI.hpp>

namespace ncclprobe::cli {
namespace {

using base::Result;

constexpr const char* k_footer =
    R"(Methods (row: from, column: to; GB/s are 1e9 bytes, latency is ns or us per hop):
  ce, ce_read          copy engine of the source writes; of the target reads
  sm_write, sm_read    the same by kernels
  latency              pointer chase by the row's GPU through memory of the column's, its own and
                       the host's
  host, pageable       between each GPU and pinned or pageable memory of its host
  staged               GPU to GPU with the direct path closed: through host memory
  sendrecv, pingpong   messages of the communication library, also between processes and hosts
Default: on GPUs all but pageable (messages where there are several hosts), on the CPU messages.
Every cell's data is checked.

Examples:
  ncclprobe p2p                              all GPUs of this node, one process drives them all
  ncclprobe p2p --devices 0,1 --methods ce,latency --sizes 1M,512M
  ncclprobe p2p --mode ipc                   the path between processes by CUDA IPC, as NCCL uses it
  mpirun -np 4 --map-by ppr:1:node ncclprobe p2p    four nodes
  ncclprobe p2p --backend host --ranks 4     between processes on the CPU
  ncclprobe report p2p.h5                    the same report again

Exit codes: 0 all measured, 1 defect of ncclprobe, 2 bad arguments or input, 3 some cells failed,
  4 nothing measured, 5 wrong data, 6 the launch does not fit the machine, 7 results not written,
  130 interrupted)";

} // namespace

void declare_p2p_options(CLI::App& app, P2pOptions& options) {
  app.footer(k_footer);
  auto text = [&](const char* names, const char* value, const char* help, auto take) {
    add_text(app, names, value, help, take);
  };
  add_backend(app, options.backend);
  add_ranks(app, options.ranks, 1'000'000);
  text("--devices", "N,...", "Only these GPUs of each host, by CUDA's numbers",
       [&](const std::string& value) { return parse_numbers(value, 0, 1023, options.devices); });
  text("--mode", "NAME",
       "direct: one process drives all GPUs of a host; ipc: one process each, memory mapped by "
       "CUDA IPC (default: direct, or ipc where mpirun starts several processes on a host)",
       [&](const std::string& value) -> Result<void> {
         NCCLPROBE_TRY_ASSIGN(options.mode, model::parse_enum<workload::P2pMode>(value, "mode"));
         return {};
       });
  text("--methods,-m", "NAME,...", "Which matrices (see below)",
       [&](const std::string& value) { return parse_names(value, "method", options.methods); });
  text("--directions", "NAME,...",
       "uni: a pair one way; bi: both ways at once; all: all GPUs at once (default: all three)",
       [&](const std::string& value) -> Result<void> {
         NCCLPROBE_TRY(parse_names(value, "direction", options.directions));
         for (workload::P2pDirection one : *options.directions)
           if (one == workload::P2pDirection::together)
             return base::fail(base::Errc::invalid_argument,
                               "'together' is not a direction of its own: it comes with all");
         return {};
       });
  text(
      "--sizes,-s", "SIZES",
      "Bytes of a copy: 1M,512M or 1M:512M:x8 (default 512M as nvbandwidth, less through the host, "
      "4M on the CPU)",
      [&](const std::string& value) -> Result<void> {
        NCCLPROBE_TRY_ASSIGN(options.sizes, base::parse_sizes(value));
        for (std::uint64_t bytes : *options.sizes)
          if (bytes == 0)
            return base::fail(base::Errc::invalid_argument, "a copy of 0 bytes measures nothing");
        return {};
      });
  app.add_option("--repeat", options.repeats, "Fresh-process trials of the whole (default 1)")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000'000));
  add_library(app, options.libraries);
  add_seed(app, options.seed, "Data patterns (default: random, recorded)");
  add_cell_timeouts(app, options.cell_deadline_ns, options.startup_deadline_ns);
  text("--format,-f", "FORMAT", "table (default), json, csv",
       [&](const std::string& value) -> Result<void> {
         NCCLPROBE_TRY_ASSIGN(options.format, model::parse_enum<analysis::Format>(value, "format"));
         return {};
       });
  add_run_file(app, options.output);
  app.add_flag("--force", options.force, "Replace the run file if it is there");
  add_quiet(app, options.verbosity, "No progress");
  add_verbose(app, options.verbosity);
}

} // namespace ncclprobe::cli
