// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/common/common_options.h"
#include "launch/cli/p2p/p2p_command.h"

#include <algorithm>

namespace ncclprobe::cli {
namespace {

constexpr const char* k_p2p_about =
    "Methods (rows are sources, columns targets; 1 GB/s is 1e9 bytes/s; latency is per hop):\n"
    "  ce, ce_read        the source's copy engine writes; the target's copy engine reads\n"
    "  sm_write, sm_read  the same with kernels instead of copy engines\n"
    "  latency            the row's GPU chases pointers through the memory of the column's GPU, "
    "its own and the host's\n"
    "  host, pageable     between each GPU and pinned or pageable memory of its host\n"
    "  staged             GPU to GPU through host memory, with the direct path disabled\n"
    "  sendrecv, pingpong messages of the communication library, also between processes and hosts\n"
    "Without --methods: on GPUs of one host, all but pageable; on several hosts and on CPUs, "
    "sendrecv and pingpong. The data of every cell is checked.";

Words<std::vector<model::P2pDirection>> direction_words() {
  using enum model::P2pDirection;
  auto words = such_that<std::vector<model::P2pDirection>>(
      list_of(name_words<model::P2pDirection>("direction")),
      [](const auto& said) { return std::ranges::find(said, together) == said.end(); },
      "'together' comes with all");
  std::erase(words.choices, model::to_string(together));
  words.example = "bi";
  return words;
}

} // namespace

Usage p2p_usage(P2pOptions& into) {
  return {
      .name = "p2p",
      .summary = "Measure the links: bandwidth and latency between all pairs, and to the host",
      .about = k_p2p_about,
      .examples = {{"ncclprobe p2p", "all GPUs of this node, driven by one process"},
                   {"ncclprobe p2p --devices 0,1 --methods ce,latency --sizes 1M,512M"},
                   {"ncclprobe p2p --mode ipc",
                    "the path between processes that NCCL uses: CUDA IPC"},
                   {"mpirun -np 4 --map-by ppr:1:node ncclprobe p2p", "four nodes"},
                   {"ncclprobe p2p --backend host --ranks 4", "between processes on the CPU"},
                   {"ncclprobe report p2p.h5", "the same report again"}},
      .exits = measurement_exits("the launch does not fit the machine"),
      .options = joined(
          {{backend_option(into.backend), ranks_option(into.ranks, k_most),
            option("devices", "N,...", into.devices, numbers(0, 1023),
                   "Use only these GPUs of each host (CUDA device numbers)"),
            option("mode", "NAME", into.mode, name_words<model::P2pMode>("mode"),
                   "direct: one process drives all GPUs of a host; ipc: one process per GPU, with "
                   "memory mapped through CUDA IPC",
                   {.initial = "direct; ipc if mpirun starts several processes on a host"}),
            option("methods", "NAME,...", into.methods,
                   list_of(name_words<model::P2pMethod>("method")), "Matrices to measure: {}",
                   {.also = "-m"}),
            option("directions", "NAME,...", into.directions, direction_words(),
                   "uni: one pair, one way; bi: one pair, both ways at once; all: all GPUs at once",
                   {.initial = "all three"}),
            option("sizes", "SIZES", into.sizes,
                   nonzero_size_words("a copy of 0 bytes measures nothing"),
                   "Size of a copy: 1M,512M or 1M:512M:x8",
                   {.also = "-s",
                    .initial = "512M, as in nvbandwidth; less through the host; 4M on the CPU",
                    .example = "1M,512M"}),
            option("repeat", "N", into.repeats, number_words(1, k_most),
                   "Number of trials, each in fresh processes", {.initial = "1"}),
            library_option(into.libraries), seed_option(into.seed), note_option(into.note)},
           timeout_options(into),
           {format_option(into.format), run_file_option(into.output),
            flag("force", into.force, "Replace the run file if it exists")},
           log_options(into.verbosity)})};
}

} // namespace ncclprobe::cli
