// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/common/common_options.h"
#include "launch/cli/compare/compare_command.h"

namespace ncclprobe::cli {
namespace {

constexpr const char* k_compare_about =
    "Cells are compared with cells of the same workload, size, type, ranks and setting. A single "
    "run is only one sample: one boot, one node, one hour. Two runs can therefore differ, but "
    "neither is called a regression. To find a regression, `compare` needs the variation between "
    "runs: from a baseline of three runs or more (--against), or from two commands that run in "
    "turns (--interleave). In a command, {} stands for the path of its run file; without {}, -o "
    "FILE is added at the end. Without --gate, the exit code is 0 whatever the result is, except "
    "that it is 12 with --against if no run of the baseline matches the new one.\n\n"
    "The file of --procure names node types, their prices, and the training steps that matter. A "
    "node type has either run files, or published = true and rates with their sources. From rates, "
    "the prediction model computes limits for its step times. examples/nodes.toml explains the "
    "keys.";

constexpr const char* k_baseline_about =
    "A baseline is a folder of JSON files, one per run, small enough for git. To remove a run, "
    "delete its file. `ncclprobe compare RUN.h5 --against NAME` uses the runs of the baseline with "
    "the same GPU, fabric, number of ranks and NCCL version.";

Words<analysis::compare::Gate> gate_words() {
  return {analysis::compare::parse_gate,
          [](const analysis::compare::Gate& gate) { return gate.text; },
          "busbw(all_reduce,>=1M) -3%"};
}

Result<void> check_sides(const CompareOptions& options, const Options& all) {
  auto refuse = [](const char* why) { return fail(Errc::invalid_argument, "{}", why); };
  if (!options.nodes_file.empty())
    return options.sides.empty() && options.against.empty() && !options.interleave &&
                   options.history.empty() && options.gates.empty() && options.format != "junit"
               ? Result<void>()
               : refuse("--procure takes no runs, no gate and no --format junit");
  if (!options.history.empty())
    return options.sides.empty() && options.against.empty() && !options.interleave &&
                   options.gates.empty() && options.format != "junit"
               ? Result<void>()
               : refuse("--history takes no runs, no gate and no --format junit");
  if (options.interleave)
    return options.sides.size() == 2 && options.against.empty()
               ? Result<void>()
               : refuse("--interleave takes two commands, in quotes, and no --against");
  if (!options.keep.empty())
    return refuse("--keep goes with --interleave");
  if (find_option(all, "pairs")->said)
    return refuse("--pairs goes with --interleave");
  if (options.sides.size() < (options.against.empty() ? 2 : 1))
    return refuse("name two run files or more, or one and --against NAME");
  return {};
}

Option folder_option(std::filesystem::path& into) {
  return option("folder", "DIR", into, path_words(k_baseline_folder), "Folder of the baselines");
}

} // namespace

Usage compare_usage(CompareOptions& into) {
  return {
      .name = "compare",
      .summary = "Compare runs: what is faster, slower or the same",
      .about = k_compare_about,
      .examples =
          {{"ncclprobe compare before.h5 after.h5"},
           {"ncclprobe compare run.h5 --against nightly --gate 'busbw(all_reduce,>=1M) -3%'",
            "fails if it is slower, or if the runs cannot decide that"},
           {"ncclprobe compare --interleave 'ncclprobe run --repeat 5' 'NCCL_ALGO=Tree ncclprobe "
            "run --repeat 5' --pairs 10"},
           {"ncclprobe compare --history runs/", "since when is it slower?"},
           {"ncclprobe compare run.h5 --against nightly --format junit -o result.xml"},
           {"ncclprobe compare --procure nodes.toml", "which node to buy, and at what price?"}},
      .exits =
          {{base::k_exit_regression, "a gate found a regression"},
           {base::k_exit_undecided, "a gate is not decided: its runs are too few or too noisy"},
           {base::k_exit_not_comparable,
            "a gate cannot compare: another machine, wrong data, or no common cells; or no run "
            "of the baseline matches the new one"}},
      .options = joined(
          {{repeated("sides", "RUN.h5", into.sides, text_words("run.h5"),
                     "Run files; each is compared with the first. With --against: new runs, all of "
                     "the same unchanged system. With --interleave: two quoted commands",
                     {.positional = true}),
            option("against", "NAME", into.against, text_words("nightly"),
                   "Compare with this baseline (ncclprobe baseline add)"),
            folder_option(into.folder),
            flag("interleave", into.interleave,
                 "Run two commands in turns, in random order within each pair, and compare them"),
            option("pairs", "N", into.pairs, number_words(3, k_most),
                   "With --interleave: number of runs of each command"),
            option("keep", "DIR", into.keep, path_words("runs/"),
                   "With --interleave: keep the run files, and what the commands print, in this "
                   "folder"),
            option("history", "DIR", into.history, path_words("runs/"),
                   "Find when the speed changed over the runs in this folder (run files, or the "
                   "JSON files of a baseline)"),
            repeated(
                "gate", "GATE", into.gates, gate_words(),
                "METRIC(WORKLOAD[,SIZES]) CHANGE: how much worse these cells may become. The gate "
                "passes if the 95% confidence interval of their mean excludes the limit, and no "
                "cell's own 95% confidence interval lies entirely beyond it. Metrics are busbw, "
                "algbw (-3%), time and latency (+3%). Workloads are, for example, all_reduce, "
                "p2p_ce and ddp_step; * is any. Sizes: 1M, 1K-64K, >=1M, >1M, <=64K or <64K"),
            option("vary", "FACT,...", into.vary,
                   list_of(choice_words({"gpu", "fabric", "nccl", "driver"})),
                   "Facts that may differ between the two sides of a gate, or between a run and "
                   "its baseline: {}"),
            option(
                "procure", "FILE", into.nodes_file, path_words("nodes.toml"),
                "Compare the node types in this TOML file for a purchase: time, cost, energy and "
                "price of training steps"),
            option("difference", "SHARE", into.difference, share_words(),
                   "The smallest difference that matters")},
           result_options(into, {"table", "json", "csv", "markdown", "html", "junit"},
                          "{}; junit (.xml) is for CI servers")}),
      .check = [&into](const Options& all) { return check_sides(into, all); }};
}

Usage baseline_usage(BaselineOptions& into) {
  return {.name = "baseline",
          .summary = "Learn from runs how a machine normally performs",
          .about = k_baseline_about,
          .examples = {{"ncclprobe baseline add nightly monday.h5 tuesday.h5 wednesday.h5"}},
          .options = joined(
              {{option("action", "ACTION", into.action, choice_words({"add"}),
                       "add: add runs to the baseline", {.positional = true, .required = true}),
                option("name", "NAME", into.name, text_words("nightly"), "Name of the baseline",
                       {.positional = true, .required = true}),
                repeated("runs", "RUN.h5", into.runs, path_words("run.h5"), "Run files to add",
                         {.positional = true, .required = true}),
                folder_option(into.folder)},
               log_options(into.verbosity)})};
}

} // namespace ncclprobe::cli
