// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/topo_options.h"

#include "cli/common_options.h"

#include <CLI/CLI.hpp>

namespace ncclprobe::cli {
namespace {

constexpr const char* k_footer = R"(Examples:
  ncclprobe topo                             this host: GPUs, links, network, what is unknown or degraded
  mpirun -np 16 ncclprobe topo               all hosts of the job, and whether ranks sit near their GPUs
  ncclprobe topo --placement --ceilings      where ranks belong, and what limits each collective
  ncclprobe topo --format svg -o node.svg    a picture; dot: for Graphviz
  ncclprobe topo --format nccl-xml -o t.xml  what NCCL_TOPO_FILE takes
  ncclprobe topo --from a.xml --from b.json  other machines: files of NCCL, nvidia-smi, hwloc or our own
  ncclprobe topo --from graphs.xml           rings and trees that NCCL found (NCCL_GRAPH_DUMP_FILE)
  ncclprobe topo --record machine/           all there is to know of this host, for a bug report

Every value has a source (--format facts): nvml, cuda, sysfs, hwloc, nccl. What none of them tells is unknown.
GPUs are numbered as nvidia-smi does it.

Exit codes: 0 done, 1 defect of ncclprobe, 2 bad arguments or input file, 6 the ranks do not fit together,
  7 the output could not be written)";

} // namespace

void declare_topo_options(CLI::App& app, TopoOptions& options) {
  app.footer(k_footer);
  app.add_option("--format,-f", options.format,
                 "summary (default), matrix (as nvidia-smi topo -m), tree, json, dot, svg, "
                 "nccl-xml, facts (each value and its source)")
      ->type_name("FORMAT")
      ->check(
          CLI::IsMember({"summary", "matrix", "tree", "json", "dot", "svg", "nccl-xml", "facts"}));
  add_text_file(app, options.output);
  CLI::Option* from =
      app.add_option(
             "--from", options.from,
             "Show the machine of this file instead, - for standard input; several files are "
             "several hosts")
          ->type_name("FILE")
          ->allow_extra_args(false);
  app.add_option("--host", options.host, "Only this host, counted from 0")
      ->type_name("N")
      ->check(CLI::Range(0, 1'000'000));
  app.add_flag("--placement", options.placement,
               "Propose which rank drives which GPU from which CPUs, as mpirun and srun options");
  app.add_flag("--ceilings", options.ceilings,
               "What limits each collective, and the most bus bandwidth it leaves");
  CLI::Option* record =
      app.add_option("--record", options.record, "Gather everything about this host in a folder")
          ->type_name("DIR")
          ->excludes(from);
  app.add_flag("--names", options.names,
               "With --record: keep host names, hardware addresses, UUIDs and serial numbers")
      ->needs(record);
  app.add_option("--nccl", options.nccl,
                 "Ask NCCL too what it sees, which takes seconds: on, off, auto (when recording)")
      ->type_name("on|off|auto")
      ->check(CLI::IsMember({"on", "off", "auto"}))
      ->excludes(from);
  app.add_option("--cuda", options.cuda,
                 "Ask CUDA too, which takes a quarter of a second for each GPU: on, auto (when "
                 "recording, or where NVML alone is not enough)")
      ->type_name("on|auto")
      ->check(CLI::IsMember({"on", "auto"}))
      ->excludes(from);
  add_library(app, options.libraries)->excludes(from);
  add_quiet(app, options.verbosity, "No remarks on stderr");
  add_verbose(app, options.verbosity);
}

} // namespace ncclprobe::cli
