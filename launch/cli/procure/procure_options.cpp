// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/exit_code.h"
#include "launch/cli/common/common_options.h"
#include "launch/cli/procure/procure_command.h"

namespace ncclprobe::cli {
namespace {

constexpr const char* k_procure_about =
    "The file names types of nodes, their prices, and the training steps that matter. A node has "
    "run files, or published = true and rates with their sources: its steps are then limits from "
    "the model of predictions. The output has time and cost of each step, what its scaling loses, "
    "energy, which differences are beyond the noise, the price at which the order turns, the five "
    "dimensions of each GPU, and what is unknown. examples/nodes.toml explains the keys.";

} // namespace

Option procure_option(std::filesystem::path& into, OptionDetails details) {
  return option("procure", "FILE", into, path_words("nodes.toml"),
                "Compare the types of nodes in this TOML file for a purchase", std::move(details));
}

Usage procure_usage(ProcureOptions& into) {
  return {.name = "compare",
          .summary = "Compare types of nodes for a purchase: time, cost, energy, price",
          .about = k_procure_about,
          .examples = {{"ncclprobe compare --procure nodes.toml"},
                       {"ncclprobe compare --procure nodes.toml --format markdown -o nodes.md"}},
          .exits = {{base::k_exit_usage,
                     "bad arguments, or a file of nodes or a run that cannot be read"}},
          .options = joined({{procure_option(into.nodes_file, {.required = true})},
                             {format_option(into.format)},
                             text_file_options(into.output),
                             log_options(into.verbosity)})};
}

} // namespace ncclprobe::cli
