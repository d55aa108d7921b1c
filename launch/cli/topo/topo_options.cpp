// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/exit_code.h"
#include "launch/cli/common/common_options.h"
#include "launch/cli/topo/topo_command.h"

namespace ncclprobe::cli {

Usage topo_usage(TopoOptions& into) {
  return {
      .name = "topo",
      .summary = "Show the machine: GPUs, links, network, placement and ceilings",
      .about =
          "Every value has a source (--format facts): nvml, cuda, sysfs, hwloc or nccl. A value "
          "that no source has is unknown. GPUs are numbered as in nvidia-smi.",
      .examples = {{"ncclprobe topo", "this host, and what is unknown or degraded"},
                   {"mpirun -np 16 ncclprobe topo",
                    "all hosts of the job, and whether ranks are near their GPUs"},
                   {"ncclprobe topo --placement --ceilings",
                    "where ranks belong, and what limits each collective"},
                   {"ncclprobe topo -o node.svg",
                    "a picture; node.html is a page, node.dot is for Graphviz"},
                   {"ncclprobe topo --format nccl-xml -o t.xml", "a file for NCCL_TOPO_FILE"},
                   {"ncclprobe topo --from a.xml --from b.json",
                    "other machines: files of NCCL, nvidia-smi, hwloc or ncclprobe"},
                   {"ncclprobe topo --from run.h5", "the machine that a run was measured on"},
                   {"ncclprobe topo --from graphs.xml",
                    "rings and trees that NCCL found (NCCL_GRAPH_DUMP_FILE)"},
                   {"ncclprobe topo --record machine/",
                    "all facts about this host, for a bug report"}},
      .exits = {{base::k_exit_environment,
                 "the ranks do not agree, or the machine ran out of memory or processes"}},
      .options = joined(
          {{repeated("from", "FILE", into.from, text_words("node.json"),
                     "Show the machine that this file describes (- is standard input); several "
                     "files describe several hosts"),
            option("host", "N", into.host, number_words(0, k_most),
                   "Show only this host, counted from 0"),
            flag("placement", into.placement,
                 "Propose which rank drives which GPU on which CPUs, as mpirun and srun options"),
            flag("ceilings", into.ceilings,
                 "Show the bottleneck of each collective, and the bus bandwidth that it allows"),
            option("record", "DIR", into.record, text_words("machine/"),
                   "Write everything about this host into a folder", {.excludes = {"from"}}),
            flag("names", into.names,
                 "Keep host names, hardware addresses, UUIDs and serial numbers",
                 {.needs = {"record"}}),
            option("nccl", "WHEN", into.nccl, choice_words({"on", "off", "auto"}),
                   "Also ask NCCL what it sees, which takes seconds; auto: when recording",
                   {.excludes = {"from"}}),
            option("cuda", "WHEN", into.cuda, choice_words({"on", "auto"}),
                   "Also ask CUDA, which takes a quarter of a second for each GPU; auto: when "
                   "recording, or if NVML does not know enough",
                   {.excludes = {"from"}}),
            excluding(library_option(into.libraries), {"from"})},
           result_options(
               into,
               {"summary", "matrix", "tree", "json", "dot", "svg", "html", "nccl-xml", "facts"},
               "{}; matrix is like nvidia-smi topo -m, facts lists each value and its source, "
               "html is a page")})};
}

} // namespace ncclprobe::cli
