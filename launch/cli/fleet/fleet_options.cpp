// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/exit_code.h"
#include "base/units.h"
#include "launch/cli/fleet/fleet_command.h"

namespace ncclprobe::cli {
namespace {

constexpr const char* k_fleet_about =
    "In each round, random pairs of nodes run a collective, all pairs at the same time. A pair is "
    "as slow as its slower node, so both nodes of a fast pair are good. Each of the other nodes is "
    "measured again, together with a node that is proven good. Then the good nodes are measured in "
    "larger groups (--large-group), because some faults only show with more than two nodes. The "
    "check ends when every node is known to be good or bad, or after --rounds. "
    "With several ranks on a node, the network path of each rank "
    "(its rail) is measured too.\n\n"
    "A node is bad if its bandwidth loss is more than half of --slower, with the confidence that "
    "--alpha sets. It is good if its loss is less than --slower, with the confidence that --power "
    "sets. If a pair is slow but both nodes are fast with others, the link is bad. A node that "
    "crashes or hangs is bad, and the check continues without it. With --baseline, a node is also "
    "bad if it lost more than half of --slower since the earlier check. The change of the whole "
    "fleet is subtracted.\n\n"
    "The report contains commands for Slurm and Kubernetes that take the bad nodes out of service. "
    "ncclprobe does not run them. All measurements are in the run file.";

Words<std::uint64_t> bytes_words() {
  return {[](const std::string& text) -> base::Result<std::uint64_t> {
            NCCLPROBE_TRY_ASSIGN(const std::uint64_t bytes, base::parse_bytes(text));
            if (bytes == 0)
              return base::fail(base::Errc::invalid_argument,
                                "'{}': a message of 0 bytes measures no link", text);
            return bytes;
          },
          [](const std::uint64_t& bytes) { return base::format_bytes(bytes); }, "64M"};
}

// A share of which neither none nor all makes sense.
Words<double> part_words(const char* example) {
  Words<double> words = such_that<double>(
      share_words(), [](const double& share) { return share > 0 && share < 1; },
      "it must be above 0 and below 100%");
  words.example = example;
  return words;
}

} // namespace

Usage fleet_usage(FleetOptions& into) {
  return {
      .name = "fleet",
      .summary = "Find bad nodes, links and rails among many nodes",
      .about = k_fleet_about,
      .examples =
          {{"mpirun -np 64 --map-by ppr:8:node ncclprobe fleet check", "8 nodes with 8 GPUs"},
           {"srun --ntasks-per-node=1 ncclprobe fleet check", "one supervisor per node"},
           {"srun --ntasks-per-node=1 ncclprobe fleet check --at-once 64 --slower 15%"},
           {"srun --ntasks-per-node=1 ncclprobe fleet check --baseline last-week.h5 -o today.json",
            "has a node, or the whole fleet, become slower?"},
           {"ncclprobe fleet check --backend synthetic --ranks 16 --ranks-per-node 1 --rank-set "
            "3:NCCLPROBE_SYNTHETIC_GB_PER_S=80",
            "try it on simulated nodes, one of them slow"}},
      .exits = {{base::k_exit_ok, "all nodes are good"},
                {base::k_exit_some_failed, "the check is incomplete"},
                {base::k_exit_nothing, "nothing could be measured"},
                {base::k_exit_environment, "the launch does not fit the machine, or is too small"},
                {base::k_exit_undecided, "no node is bad, but some are undecided"},
                {base::k_exit_bad_node, "a node, link or rail is bad"},
                {base::k_exit_interrupted, "interrupted"}},
      .options = joined(
          {{option("action", "ACTION", into.action, choice_words({"check"}),
                   "check: search for bad nodes",
                   {.example = "check", .positional = true, .required = true})},
           in_group(
               "What is measured",
               {option("collective", "NAME", into.collective,
                       name_words<model::Collective>("collective"),
                       "Collective that each group of nodes runs"),
                option("size", "SIZE", into.bytes, bytes_words(), "Message size",
                       {.initial = "64M, on the CPU 4M"}),
                option("group", "N", into.group, number_words(2, 64),
                       "Number of nodes that are measured together"),
                option("large-group", "N", into.large_group, number_words(0, 64),
                       "Then measure the good nodes in groups of N; 0: do not",
                       {.initial = "a sixth of the nodes, from 3 to 8 and at most --at-once; 0 if "
                                   "that is not above --group, and below 9 nodes"}),
                option("time", "TIME", into.budget_ns, duration_words(),
                       "Time limit of one measurement", {.initial = "1s"}),
                option("iterations", "N", into.iterations, number_words(1, k_most),
                       "Launches in a batch", {.initial = "20, fewer if --time ends"}),
                option("batches", "N", into.batches, number_words(1, k_most),
                       "Batches of a measurement, whose median is used", {.initial = "5"}),
                option("at-once", "N", into.at_once, number_words(2, k_most),
                       "Measure at most N nodes at the same time", {.initial = "all"})}),
           in_group("What counts as bad",
                    {option("slower", "SHARE", into.slower, part_words("15%"),
                            "Bandwidth loss that makes a node bad"),
                     option("alpha", "SHARE", into.alpha, part_words("1%"),
                            "Maximum probability of calling a good node, link or rail bad"),
                     option("power", "SHARE", into.power, part_words("99%"),
                            "Minimum probability that a bad node is not called good"),
                     option("rounds", "N", into.rounds, number_words(1, 1000),
                            "Stop after N rounds even if some nodes are undecided"),
                     option("baseline", "FILE", into.baseline, path_words("last-week.h5"),
                            "Run file of an earlier check: also compare the fleet and each node "
                            "with it")}),
           in_group("Where",
                    {backend_option(into.backend), ranks_option(into.ranks, k_most),
                     option("ranks-per-node", "N", into.ranks_per_node, number_words(1, k_most),
                            "Treat every N ranks of a host as a node",
                            {.initial = "all ranks of a host"}),
                     rank_set_option(into.per_rank), library_option(into.libraries)}),
           in_group("Measuring", joined({{seed_option(into.seed), note_option(into.note)},
                                         timeout_options(into)})),
           in_group("Results", {run_file_option(into.output),
                                flag("force", into.force, "Replace the run file if it exists"),
                                format_option(into.format)}),
           log_options(into.verbosity)})};
}

} // namespace ncclprobe::cli
