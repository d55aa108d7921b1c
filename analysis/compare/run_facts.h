// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/results/run_summary.h"

#include <string>
#include <vector>

// What a run was made on and with, as far as it can explain a difference between two runs.
namespace ncclprobe::analysis::compare {

enum class FactKind {
  backend,
  gpu,    // model
  fabric, // class of the connections between the GPUs
  ranks,
  hosts, // how many
  nccl,
  driver,
  firmware, // of the GPUs
  cuda,
  kernel,
  mpi,
  cpu,
  variable,   // of the environment; has a name
  plugin,     // a file that trials load or start; has a name
  host_names, // which machines
  boot,       // since when they have been up: changes with each reboot
  topology,   // links and PCIe devices of a host
  placement,  // which rank has which GPU
  sm_clock,   // during the measurement
  throttling,
  choice, // algorithm, protocol and channels of a cell with default settings; has a name
  ncclprobe,
};

struct RunFact {
  FactKind kind = FactKind::backend;
  std::string name; // of kinds with several facts; otherwise empty
  std::string value;
  bool operator==(const RunFact&) const = default;
};
NCCLPROBE_FIELDS(RunFact, kind, name, value)

// By kind and name. Unknown facts are left out.
std::vector<RunFact> facts_of(const RunSummary& run);

// Its value; empty if unknown.
std::string value_of(const std::vector<RunFact>& facts, FactKind kind);

// A fact that differs. An empty value: unknown, or not set.
struct Suspect {
  FactKind kind = FactKind::backend;
  std::string name;
  std::string a, b;
};
// In the order of FactKind. A fact that only one side knows is a suspect only if it is a variable.
std::vector<Suspect> suspects(const std::vector<RunFact>& a, const std::vector<RunFact>& b);

// The same for sides of several runs: a fact in which a run of one side has a value that no run of
// the other side has. A baseline may have values that new runs lack: only those that it lacks
// count. Several values of a side are one text: "2.28.3 (4 of 5 runs), 2.27.3 (1 of 5 runs)".
using FactsOfRuns = std::vector<const std::vector<RunFact>*>;
std::vector<Suspect> suspects(const FactsOfRuns& a, const FactsOfRuns& b, bool a_is_baseline);

} // namespace ncclprobe::analysis::compare
