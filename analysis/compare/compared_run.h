// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/compare/run_facts.h"
#include "analysis/results/cell_summary.h"
#include "analysis/verdict/size_class.h"

#include <compare>
#include <optional>
#include <string>
#include <vector>

// What a comparison needs of a run. Small enough to be stored as JSON beside source code, which is
// what baselines do.
namespace ncclprobe::analysis::compare {

// What cells of two runs must have in common to be compared.
struct CellKey {
  model::CellLabel label;
  int ranks = 0; // in the communicator
  model::TimingMode timing = model::TimingMode::batch;
  std::string setting; // "default"
  auto operator<=>(const CellKey&) const = default;
};
NCCLPROBE_FIELDS(CellKey, label, ranks, timing, setting)

struct RunCell {
  CellKey key;
  DataState data = DataState::checked;
  std::string not_as_asked;     // other libraries or CPUs than the trial asked for
  std::vector<double> times_ns; // of each process, per operation
};
NCCLPROBE_FIELDS(RunCell, key, data, not_as_asked, times_ns)

struct ComparedRun {
  std::string name; // as the user calls it: the file
  std::string run_id;
  std::string started_utc;
  bool synthetic = false;
  std::vector<RunFact> facts;
  std::vector<RunCell> cells; // by key
  // Noise floors of its A/A comparison, by size class (verdict.h); absent: unknown.
  std::vector<std::optional<double>> floors;

  const RunCell* cell(const CellKey& key) const;
};
NCCLPROBE_FIELDS(ComparedRun, name, run_id, started_utc, synthetic, facts, cells, floors)

// A run, for the provenance of a comparison.
struct RunSource {
  std::string side; // "A"; empty in a history
  std::string file, run_id, started_utc;
  std::string ranks, backend, ncclprobe; // empty if unknown
  bool synthetic = false;
};
RunSource source_of(const ComparedRun& run, std::string side);

ComparedRun compared_run(const RunSummary& run, std::string name);

// Keeps the first of several copies of a run, by run id. Returns a sentence for each copy.
std::vector<std::string> leave_out_copies(std::vector<ComparedRun>& runs);

} // namespace ncclprobe::analysis::compare
